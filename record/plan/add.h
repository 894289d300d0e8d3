/* What --add names: a register or a file, and how to show it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

enum add_location { ADD_NOWHERE, ADD_MSR, ADD_PATH };
enum add_scope { ADD_CPU, ADD_CORE, ADD_PACKAGE };
enum add_format { ADD_DELTA, ADD_RAW, ADD_PERCENT, ADD_AVERAGE };

#define ADD_NAME_MAX 64

struct add {
	enum add_location location;
	enum add_scope scope;
	enum add_format format;
	unsigned width;          /* 32 or 64 */
	const char *type;        /* "cycles", "seconds", "usec", or NULL */
	char name[ADD_NAME_MAX]; /* the column head */
	char *text;              /* owned: path, or NULL */
	uint32_t address;        /* of the register */
};

/*
 * LOCATION[,scope][,size][,format][,type][,NAME], in any order; LOCATION is msr0xHEX, msrDECIMAL or /path. The
 * default is cpu, u64, delta. 0, or -EINVAL with a message that names the nearest word.
 */
int add_parse(struct add *a, const char *text, struct error *e);
void add_release(struct add *a);

/* Adds the counter's attributes for the recording. */
struct pm_map;
void add_set_attrs(const struct add *a, struct pm_map *attrs);
