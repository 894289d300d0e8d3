/*
 * Decodes recorded registers and cpuid leaves field by field: the lines of turbostat's system configuration header.
 * Fields that depend on an unknown model are marked so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/places.h"

struct decoded {
	const char *name;               /* "msr.platform_info", "cpuid.00000006", "processor" */
	const struct pm_config *config; /* NULL: combined from several */
	uint64_t value;                 /* of a register */
	struct buf text;                /* owned: "base 3500 MHz, turbo, no HWP" */
	const char *word;               /* the name of the last field, if it was a word */
};

typedef void (*decode_take)(void *ctx, struct decoded *d);
/* Calls `take` for everything that the recording has, in the order of turbostat's header. */
void decode_all(const struct pm_model *m, decode_take take, void *ctx);
/* Likewise what the kernel said of frequencies, idle states and limits. */
void decode_settings(const struct pm_model *m, decode_take take, void *ctx);

/* Appends where a value that was read once is of: "cpu 0-3"; nothing for the system. */
void decode_places(const struct pm_config *c, const char *before, const char *after, struct buf *out);
/* Lines for people, one a register, then what the kernel said of frequencies, idle states and limits. */
void decode_text(const struct pm_model *m, struct buf *out);
/* What turbostat's text has before its table, in the lines of decode_text(): version, command line of the kernel,
 * identity, features, TSC and limits, unless `quiet`; with `debug` also where each CPU is. */
void decode_turbostat(const struct places *places, bool quiet, bool debug, struct buf *out);
/* A list of objects. */
struct json *decode_json(const struct pm_model *m);
