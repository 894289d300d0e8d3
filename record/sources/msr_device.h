/* Reading model-specific registers, wherever they come from. */
#pragma once

#include "record/host/root.h"

struct msr_reader {
	/* The register of one CPU; 0 or -errno: -ENODEV if the CPU is offline, -EIO if it has no such register.
	 * Called from the threads that sample; allocates nothing. */
	int (*read)(void *ctx, uint32_t cpu, uint32_t address, uint64_t *value);
	/* Permits or ends reading the CPU. 0 or -errno. On the control thread while nothing is read. */
	int (*open)(void *ctx, uint32_t cpu);
	void (*close)(void *ctx, uint32_t cpu);
	void *ctx;
};

/* The files of the msr driver, one per CPU. */
struct msr_devices {
	const struct root *root;
	int *fd; /* owned; by CPU number, -1: not open */
	uint32_t n;
};

/* Opens nothing; the root is borrowed. */
void msr_devices_init(struct msr_devices *d, const struct root *root);
void msr_devices_release(struct msr_devices *d);
/* Reads by these files; valid as long as they are. */
struct msr_reader msr_devices_reader(struct msr_devices *d);

/* A hint for people how to open the files; NULL: none. */
const char *msr_hint(const struct root *root, int err, char *text, size_t size);
/* Why a value is missing. */
uint16_t msr_reason(int err);
