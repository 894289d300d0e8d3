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
/* One register, whose text is to be released; false if there is no description of it. */
bool decode_register(const struct cpu_facts *f, const char *name, uint64_t value, struct decoded *d);

/* Lines for people, one a register, then what the kernel said of frequencies, idle states and limits. */
void decode_text(const struct pm_model *m, struct buf *out);
/* What turbostat's text has before its table, in the lines of decode_text(): version, command line of the kernel,
 * identity, features, TSC and limits, unless `quiet`; with `debug` also where each CPU is. */
void decode_turbostat(const struct places *places, bool quiet, bool debug, struct buf *out);
/* A list of objects. */
struct json *decode_json(const struct pm_model *m);

/* ---- the tables ---- */

enum field_kind {
	FIELD_NUMBER,
	FIELD_FLAG,    /* set is true */
	FIELD_INVERSE, /* set is false: the bit switches off */
	FIELD_HEX,
	FIELD_RATIO,   /* x bus clock, MHz */
	FIELD_WATTS,   /* x power unit */
	FIELD_WINDOW,  /* 2^Y * (1 + Z/4) x time unit: Y the low 5 bits, Z the 2 above (SDM, Package RAPL Domain) */
	FIELD_SECONDS, /* x time unit */
	FIELD_CELSIUS,
	FIELD_BELOW, /* Celsius below the maximum temperature */
	FIELD_POWER_UNIT,
	FIELD_ENERGY_UNIT,
	FIELD_TIME_UNIT,
	FIELD_LIMIT,   /* deepest package C-state, by model */
	FIELD_BIAS,    /* energy_perf_bias */
	FIELD_AMD_MHZ, /* of a P-state definition (PPR, PStateDef: CpuFid and CpuDfsId) */
	FIELD_BUS,     /* fsb_freq */
};

struct reg_field {
	const char *name;
	uint8_t hi, lo, kind;
	uint32_t only; /* cpu_flag that the model must have; 0: all */
};

struct reg_row {
	const char *name;              /* without "msr." */
	const struct reg_field *field; /* ends with name NULL */
	/* In place of the table, or after it. */
	void (*more)(const struct cpu_facts *f, uint64_t value, struct decoded *d);
	const char *const *reasons; /* [16], of limits: a bit each for what is in force, and 16 above for what was */
	uint32_t needs; /* cpu_flag without which known models use the register for something else; 0: none */
};
extern const struct reg_row decode_registers[]; /* in the order of turbostat's header; ends with name NULL */

/* For `more`: append a field. */
__attribute__((format(printf, 3, 4))) void decode_put(struct decoded *d, const char *name, const char *format, ...);
void decode_add(struct decoded *d, const char *name, double number, const char *unit);
void decode_hex(struct decoded *d, const char *name, uint64_t v);
/* Words of one name are a list: "active PROCHOT, Amps". */
void decode_word(struct decoded *d, const char *name, const char *word);
void decode_flag(struct decoded *d, const char *name, bool set);
void decode_reasons(uint64_t value, const char *const *name, struct decoded *d);
