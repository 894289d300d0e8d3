/* What --add names: a register, a file, an event or a field of telemetry, and how to show it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

enum add_location { ADD_NOWHERE, ADD_MSR, ADD_PATH, ADD_PERF, ADD_PMT };
enum add_scope { ADD_CPU, ADD_CORE, ADD_PACKAGE };
enum add_format { ADD_DELTA, ADD_RAW, ADD_PERCENT, ADD_AVERAGE };

#define ADD_NAME_MAX 64

struct add {
	enum add_location location;
	enum add_scope scope;
	enum add_format format;
	unsigned width;          /* 32 or 64; of telemetry: number of bits */
	const char *type;        /* "cycles", "seconds", "usec", "txtal_time", "tcore_clock", or NULL */
	char name[ADD_NAME_MAX]; /* the column head */
	char *text;              /* owned: path, "device/event", or directory of telemetry, else NULL */
	uint32_t address;        /* of the register */
	uint32_t number;         /* telemetry: CPU, core or package that the field belongs to */
	uint32_t guid, sequence; /* telemetry without a path: its GUID, and its number among those */
	uint64_t offset;
	unsigned lsb;
	bool scope_given;
};

/*
 * LOCATION[,scope][,size][,format][,type][,NAME], in any order; LOCATION is msr0xHEX, msrDECIMAL, /path,
 * perf/DEVICE/EVENT, or pmt with name=, type=, format=, domain=, offset=, lsb=, msb=, and guid= [seq=] or path=.
 * The default is cpu, u64, delta. 0, or -EINVAL with a message that names the nearest word.
 */
int add_parse(struct add *a, const char *text, struct error *e);
void add_release(struct add *a);

/* Adds the counter's attributes for the recording. */
struct pm_map;
void add_set_attrs(const struct add *a, struct pm_map *attrs);
