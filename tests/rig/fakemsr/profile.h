/*
 * A machine that does not exist, as lines of text. '#' begins a comment; later lines win.
 *
 *   cpus N                           logical CPUs
 *   tsc HZ                           the rate of the time stamp counter
 *   epoch SECONDS                    the machine has been up for that long
 *   msr ADDRESS CPUS BASE RATE [WIDTH]
 *                                    a register: BASE + RATE x time, modulo 2^WIDTH (64). RATE "5e6" is per second,
 *                                    "0.25t" per cycle of the time stamp counter
 *   hold ADDRESS CPUS                stands still from now on
 *   fail ADDRESS|* CPUS ERRNO        cannot be read; ERRNO 0: can again
 *   unknown zero|error               how registers without a line answer; a real driver says EIO
 *   devices ERRNO                    the files of the msr driver cannot be opened; ERRNO 2: there are none, and 0:
 * all is well again cpuid LEAF SUBLEAF|* CPUS EAX EBX ECX EDX file PATH TEXT                   TEXT may hold
 * {BASE,RATE}, \n and \t
 *
 * CPUS is "*", "3" or "0-3". All of it may also be written to the file `control` while the machine runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rate {
	uint64_t base;
	double per; /* second, or TSC cycle */
	bool of_tsc;
	unsigned width;
};

struct cpus {
	unsigned first, last;
};

struct msr {
	uint32_t address;
	struct cpus cpus;
	struct rate rate;
};

struct failure {
	uint32_t address;
	bool any;
	struct cpus cpus;
	int error;
};

struct cpuid {
	uint32_t leaf, subleaf;
	bool any;
	struct cpus cpus;
	uint32_t reg[4];
};

struct file {
	char *path, *text;
	unsigned long reads; /* from the start */
};

struct profile {
	unsigned cpus;
	double epoch, tsc_hz;
	bool unknown_zero;
	int device_error; /* errno; 0: they can be opened */
	struct msr *msr;
	struct failure *failure;
	struct cpuid *cpuid;
	struct file *file;
	size_t n_msrs, n_failures, n_cpuids, n_files;
};

/* Takes one line. False if it is none of the above. */
bool profile_line(struct profile *p, const char *line);
/* The time stamp counter. All who know the profile see the same. */
uint64_t profile_tsc(const struct profile *p);
/* 0 and *value, or a positive errno. */
int profile_msr(const struct profile *p, unsigned cpu, uint32_t address, uint64_t *value);
/* Zeros for a leaf that has no line. */
void profile_cpuid(const struct profile *p, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t reg[4]);
/* NULL if there is none. */
struct file *profile_file(struct profile *p, const char *path);
/* The text with its numbers as they are now; to be freed. */
char *profile_render(const struct profile *p, const struct file *f);
