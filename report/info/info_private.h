/* Between the files that say what a recording has. */
#pragma once

#include "report/info/info.h"

struct report {
	struct scan *s;
	const struct pm_model *m;
	const struct info_sink *to;
	struct buf cell;
	int err;
};

void say_part(struct report *p, const char *title, const struct info_column *column, size_t n);
void say_row(struct report *p, const char *const *cell, size_t n, enum pm_privacy privacy);
/* A part of names and values. */
void say_facts(struct report *p, const char *title);
void say_fact(struct report *p, const char *name, const char *value, enum pm_privacy privacy);
/* The same for what is technical: of p->cell, or formatted. */
void say_cell(struct report *p, const char *name);
void say_fact_f(struct report *p, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The format has one %llu in it. */
void say_remark(struct report *p, const char *format, unsigned long long n) __attribute__((format(printf, 2, 0)));
/* "1.250 ms" */
void say_ns(struct buf *b, uint64_t ns);

/* ---- info_machine.c ---- */

void say_host(struct report *p);
void say_topology(struct report *p);
void say_pmus(struct report *p, bool all);
void say_decoded(struct report *p);
void say_config(struct report *p, bool all);
