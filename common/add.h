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
	const char *asked;       /* borrowed: all that was given */
	uint32_t address;        /* of the register */
};

/*
 * LOCATION[,scope][,size][,format][,type][,NAME], in any order; LOCATION is msr0xHEX, msrDECIMAL or /path. The
 * default is cpu, u64, delta. 0, or -EINVAL with a message that names the nearest word.
 */
int add_parse(struct add *a, const char *text, struct error *e);
void add_release(struct add *a);

/* The words of a recording. */
const char *add_scope_word(enum add_scope scope);
const char *add_format_word(enum add_format format);
#define ADD_CPU_FILES "/sys/devices/system/cpu/cpu"
/* The part after the number in a path below cpu3 (or cpu*), which is read for every CPU, core or package; or NULL. */
const char *add_per_cpu(const char *path);
