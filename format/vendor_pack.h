/*
 * A pack of CPU vendors' events and metrics, sorted by CPU, so that a program reads only those of one CPU.
 *
 *   "PMVENDR3", length of the index (u32 LE), its CRC-32C (u32 LE), the index, and a zstd frame for each set:
 *   its events (lines of vendor_events_convert()), an empty line, and its metrics (an array of objects in perf's
 *   schema). The index is lines of words separated by TABs:
 *   set NAME EVENTS METRICS OFFSET LENGTH RAW CRC   OFFSET counts from the index's end, RAW are the frame's bytes
 *                                                   unpacked, CRC is the CRC-32C of its bytes
 *   cpu PATTERN NAME                                the set for the CPUs whose id the regular expression matches
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

struct vendor_set {
	char *name; /* owned */
	uint32_t events, metrics;
	struct buf rows, list; /* to be written: events, and metrics with a comma between; empty in an opened pack */
	uint64_t offset, length, raw;
	uint32_t crc;
};

struct vendor_cpu {
	char *pattern; /* owned */
	uint32_t set;
};

struct vendor_pack {
	int fd;                 /* -1: none */
	char *path;             /* owned */
	uint64_t begin;         /* offset of the frames */
	struct vendor_set *set; /* owned */
	uint32_t n_sets;
	struct vendor_cpu *cpu; /* owned */
	uint32_t n_cpus;
};

/* Opens the user's pack ($XDG_DATA_HOME/pmrec/vendor.pmv, ~/.local/share/...), or else the machine's
 * (PREFIX/share/...). 0, -ENOENT without a text if there is none, or -errno. */
int vendor_pack_find(struct vendor_pack *p, struct error *e);
void vendor_pack_close(struct vendor_pack *p);
/* The path of the user's pack, to be freed; NULL if the user has no directory for it. */
char *vendor_pack_path(void);

/* What the pack has for a CPU, by set. The result may be empty. 0 or -errno. */
#define VENDOR_TEXTS 4
struct vendor_texts {
	struct {
		char *rows, *metrics; /* owned; may be empty */
	} set[VENDOR_TEXTS];
	uint32_t n;
};
int vendor_pack_texts(const struct vendor_pack *p, const char *cpuid, struct vendor_texts *out, struct error *e);
void vendor_texts_release(struct vendor_texts *t);

/* The index of the set of that name, which is added if it is new. */
uint32_t vendor_pack_add_set(struct vendor_pack *p, const char *name);
void vendor_pack_add_cpu(struct vendor_pack *p, const char *pattern, uint32_t set);
/* Writes what was added to a new file that replaces `path`. 0 or -errno. */
int vendor_pack_write(struct vendor_pack *p, const char *path, struct error *e);
