/*
 * CPUID of x86: from the instruction, executed on each CPU, or under --root from dev/cpu/N/cpuid. What leaves mean is
 * in Intel's SDM, volume 2A, "CPUID", and AMD's APM, volume 3, appendix E; the leaves of hypervisors from 0x40000000
 * on are their convention.
 */
#pragma once

#include "format/model.h"
#include "record/host/root.h"

struct cpuid_regs {
	uint32_t eax, ebx, ecx, edx;
};

struct cpuid_leaf {
	uint32_t leaf, subleaf;
	struct cpuid_regs regs;
};

/* The answers of one CPU. */
struct cpuid_cpu {
	uint32_t cpu;
	int err;                 /* 0, or -errno if it could not be read */
	struct cpuid_leaf *leaf; /* owned */
	uint32_t n;
};

/*
 * Asks each CPU for the leaves that reports need: an owned array with an entry for each of `cpus`. `brief`: none that
 * have more than one subleaf, because each answer costs a guest a visit to its host. NULL on machines other than x86.
 */
struct cpuid_cpu *cpuid_collect(const struct root *r, const struct cpulist *cpus, bool brief);
void cpuid_free(struct cpuid_cpu *c, size_t n);

/* "GenuineIntel", 12 characters and NUL. False without leaf 0. */
bool cpuid_vendor(const struct cpuid_cpu *c, char vendor[static 13]);
/* Brand string without blanks around it, 48 characters and NUL. */
bool cpuid_brand(const struct cpuid_cpu *c, char brand[static 49]);
/* As in perf's files of vendor events: "GenuineIntel-6-55-7", "AuthenticAMD-25-17-1". */
bool cpuid_name(const struct cpuid_cpu *c, char *name, size_t size);
/* The CPU whose vendor's events and metrics are wanted: that of PERF_CPUID in the environment, as with perf, or
 * `own`. Nothing else takes it: what a recording says of the machine is the machine's. */
const char *cpuid_for_vendor(const char *own);
/* "kvm", "vmware", ... or the signature itself; false on bare metal. */
bool cpuid_hypervisor(const struct cpuid_cpu *c, char name[static 13]);

/* Kinds of CPUs in one machine: P and E cores, big and little. MIDR_EL1 tells those of Arm (Arm ARM: implementer in
 * bits 31-24, part number in bits 15-4). */

/* Fills t->type and each CPU's type, if there are several kinds; offline CPUs keep their type in `before`. */
void cputype_read(const struct root *r, const struct pm_topology *before, struct pm_topology *t);
/* "cortex-a78" of a MIDR, "midr-41-d99" for a part that is not in the table. */
void cputype_name(uint64_t midr, char *name, size_t size);
/* MIDR of a CPU, 0 if there is none. */
uint64_t cputype_midr(const struct root *r, uint32_t cpu);
/* Implementer and part of the first CPU that tells its MIDR, other bits 0; the chip, "jep106:036b:0241", or "". */
uint64_t cputype_chip(const struct root *r, char soc[static 32]);
