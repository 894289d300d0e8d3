/* Kinds of CPUs in one machine: P and E cores, big and little. MIDR_EL1 tells those of Arm (Arm ARM: implementer in
 * bits 31-24, part number in bits 15-4). */
#pragma once

#include "format/model.h"
#include "record/host/root.h"

/* Fills t->type and each CPU's type, if there are several kinds; offline CPUs keep their type in `before`. 0 or
 * -errno. */
int cputype_read(const struct root *r, const struct pm_topology *before, struct pm_topology *t, struct error *e);
/* "cortex-a78" of a MIDR, "midr-41-d99" for a part that is not in the table. */
void cputype_name(uint64_t midr, char *name, size_t size);
/* MIDR of a CPU, 0 if there is none. */
uint64_t cputype_midr(const struct root *r, uint32_t cpu);
/* Implementer and part of the first CPU that tells its MIDR, other bits 0; the chip, "jep106:036b:0241", or "". */
uint64_t cputype_chip(const struct root *r, char soc[static 32]);
