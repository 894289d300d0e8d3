/* pmrep list: counters, metrics, events and instances of recordings. */
#include "report/cmd.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "report/metric/bind.h"
#include "report/info/scan.h"
#include "report/machine/value_out.h"

static const char brief[] = "Usage: pmrep list [OPTION...] [WHAT] [GLOB] FILE\n"
			    "List what a recording holds.\n\n"
			    "WHAT is one of\n"
			    "  counters   raw numbers, named as in formulas and pmrep dump (the default)\n"
			    "  metrics    what pmrep show can compute from this recording\n"
			    "  events     markers, lost ticks, hotplug, start and end of the command\n"
			    "  instances  CPUs, packages, devices and tasks with counters\n"
			    "GLOB limits the list to matching names. Without FILE, metrics lists all built-in ones.\n"
			    "pmrep info lists sources and PMUs, and with --format=json also groups.\n\n"
			    "      --format=FORMAT  table (default) or json: one object per line\n\n"
			    "Examples:\n"
			    "  pmrep list host.pmr\n"
			    "  pmrep list metrics '*idle*' host.pmr\n"
			    "  pmrep list metrics --format=json | jq -r .formula\n";

#define MAX_COLUMNS 11

/* A column of a list; in json numbers are numbers, and some lists have more columns. */
struct column {
	const char *name;
	bool number, wrap, json;
};

struct list {
	const struct column *column;
	size_t n_columns;
	struct table *table; /* or NULL: json */
	const char *glob;
	struct buf *out;
	struct error error; /* of list_metrics() */
};

struct listing {
	const char *what;
	struct column column[MAX_COLUMNS];
	void (*run)(struct list *l, struct scan *s);
};

/* GLOB is compared with the first cell. */
static void add_row(struct list *l, const char *const *cell)
{
	if (l->glob && fnmatch(l->glob, cell[0] ? cell[0] : "", 0))
		return;
	if (l->table) {
		table_row(l->table);
		for (size_t i = 0; i < l->n_columns; i++)
			table_cell(l->table, cell[i] && *cell[i] ? cell[i] : "-", NULL);
		return;
	}
	for (size_t i = 0; i < l->n_columns; i++) {
		buf_addstr(l->out, i ? "," : "{");
		json_quote(l->out, l->column[i].name, strlen(l->column[i].name));
		buf_addch(l->out, ':');
		if (!cell[i] || !*cell[i])
			buf_addstr(l->out, "null");
		else if (l->column[i].number)
			buf_addstr(l->out, cell[i]);
		else
			json_quote(l->out, cell[i], strlen(cell[i]));
	}
	buf_addstr(l->out, "}\n");
}

static const char *text_of(struct buf *cell)
{
	memory_whole(cell);
	return buf_str(cell);
}

static const char *count_text(char text[NUMBER_MAX], uint64_t n)
{
	text[number_u64(text, n)] = '\0';
	return text;
}

/* A counter's number of instances over all groups, and their kind. */
struct counter_place {
	const char *kind;
	uint32_t n;
};

static struct counter_place *counter_places(const struct pm_model *m)
{
	struct counter_place *place = memory_new(m->n_counters, sizeof(*place));

	for (uint32_t i = 0; i < m->n_groups; i++) {
		const struct pm_group *g = &m->group[i];
		bool list = g->flags & PM_GROUP_LIST;

		for (uint32_t k = 0; k < g->n_counters; k++) {
			const struct pm_instance *instance = pm_model_instance(m, g->instance[list ? k : 0]);
			struct counter_place *p = &place[g->counter[k] - 1];

			p->n += list ? 1 : g->n_instances;
			if (!p->kind && instance)
				p->kind = pm_kind_name(instance->kind);
		}
	}
	return place;
}

static void list_counters(struct list *l, struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	SCOPED(scoped_free) struct counter_place *place = counter_places(m);

	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];
		char text[32];

		add_row(l, (const char *const[]){ c->name, c->source, c->unit, pm_semantics_name(c->semantics),
						  pm_aggregation_name(c->aggregation), place[i].kind,
						  count_text(text, place[i].n),
						  pm_map_text(&c->attrs, PM_COUNTER_HELP, NULL) });
	}
}

/* Without a recording: the tables. In json also what a manual needs. */
static void list_builtin(struct list *l)
{
	static const char *const scope[] = {
		[METRIC_ANY] = "any",         [METRIC_CPU] = "cpu",       [METRIC_CORE] = "core",
		[METRIC_CLUSTER] = "cluster", [METRIC_DIE] = "die",       [METRIC_PACKAGE] = "package",
		[METRIC_NODE] = "node",       [METRIC_DEVICE] = "device", [METRIC_SYSTEM] = "system",
	};

	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (const struct metric *m = t->row; m < t->row + t->n; m++)
			add_row(l, (const char *const[]){ m->name, m->display, m->unit, scope[m->scope], m->help,
							  m->categories, m->default_on ? "yes" : "no", m->expr,
							  m->otherwise, m->each, m->aliases });
}

static void list_metrics(struct list *l, struct scan *s)
{
	struct bind_options options = { 0 };
	SCOPED(binding_release) struct binding b = { 0 };
	SCOPED(places_release) struct places p = { 0 };

	places_update(&p, pm_reader_model(s->reader));
	if (binding_build(&b, &p, &options, &l->error))
		return;
	for (size_t i = 0; i < b.n_metrics; i++) {
		const struct bound_metric *m = &b.metric[i];
		SCOPED(buf_release) struct buf from = BUF_INIT;

		bound_counters(&b, m, &from);
		add_row(l, (const char *const[]){ m->name, m->display, m->about->unit, pm_kind_name(m->kind),
						  m->about->help, text_of(&from), m->about->categories,
						  m->default_on ? "yes" : "no" });
	}
}

static void list_events(struct list *l, struct scan *s)
{
	for (uint32_t i = 0; i < s->n_events; i++) {
		const struct pm_event *event = &s->event[i];
		uint64_t wall = pm_reader_realtime(s->reader, event->time_ns);
		const char *name = pm_event_name(event->type);
		SCOPED(buf_release) struct buf attrs = BUF_INIT;
		char when[64], relative[32], number[32];

		snprintf(number, sizeof(number), "event %u", (unsigned)event->type);
		when[wall ? number_time(when, wall, 0) : 0] = '\0';
		snprintf(relative, sizeof(relative), "%.9f", ((double)event->time_ns - (double)s->first_ns) / 1e9);
		map_text(&event->attrs, pm_event_keys, &attrs);
		add_row(l, (const char *const[]){ name ? name : number, relative, when, text_of(&attrs) });
	}
}

static void list_instances(struct list *l, struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);

	for (uint32_t i = 0; i < m->n_instances; i++) {
		const struct pm_instance *p = &m->instance[i];
		char number[32], cpu[32], id[32];
		SCOPED(buf_release) struct buf attrs = BUF_INIT;

		map_text(&p->attrs, pm_instance_keys, &attrs);
		add_row(l, (const char *const[]){
				   pm_kind_name(p->kind), p->number == PM_NONE ? NULL : count_text(number, p->number),
				   p->cpu == PM_NONE ? NULL : count_text(cpu, p->cpu), p->retired_ns ? "yes" : "no",
				   count_text(id, p->id), text_of(&attrs) });
	}
}

/* clang-format off */
static const struct listing listings[] = {
	{ "counters",
	  { { "counter" }, { "source" }, { "unit" }, { "semantics" }, { "aggregation" }, { "per" },
	    { "instances", .number = true }, { "help", .wrap = true } },
	  list_counters },
	{ "metrics",
	  { { "metric" }, { "column" }, { "unit" }, { "scope" }, { "help", .wrap = true }, { "from", .wrap = true },
	    { "categories", .json = true }, { "default", .json = true } },
	  list_metrics },
	{ "events",
	  { { "event" }, { "seconds", .number = true }, { "time" }, { "attributes", .wrap = true } },
	  list_events },
	{ "instances",
	  { { "kind" }, { "number", .number = true }, { "cpu", .number = true }, { "retired" },
	    { "id", .number = true }, { "attributes", .wrap = true } },
	  list_instances },
};
/* clang-format on */
#define N_LISTINGS (sizeof(listings) / sizeof(*listings))

/* Of the metrics that are built in. */
static const struct column builtin_column[MAX_COLUMNS] = {
	{ "metric" },
	{ "column" },
	{ "unit" },
	{ "scope" },
	{ "help", .wrap = true },
	{ "categories", .json = true },
	{ "default", .json = true },
	{ "formula", .json = true },
	{ "otherwise", .json = true },
	{ "family", .json = true },
	{ "aliases", .json = true },
};

struct arguments {
	enum cmd_format format;
	const struct listing *listing;
	const char *glob;
	const char *path; /* NULL: none, list the built-in metrics */
};

static const struct listing *listing_find(const char *what)
{
	for (size_t i = 0; i < N_LISTINGS; i++) {
		if (!strcmp(listings[i].what, what))
			return &listings[i];
	}
	return NULL;
}

static const char *nearest_listing(const char *word)
{
	const char *names[N_LISTINGS];

	for (size_t k = 0; k < N_LISTINGS; k++)
		names[k] = listings[k].what;
	return options_nearest(word, names, N_LISTINGS);
}

/* [WHAT] [GLOB] FILE: the last one is the file; the first is WHAT if it is one of the words. */
static int operands(void *into, int n, char **operand, struct error *e)
{
	struct arguments *a = into;
	const char *near, *last;
	int i = 0;

	if (!n)
		return error_set(e, EINVAL, "no recording given; try --help");
	if (n > 3)
		return error_set(e, EINVAL, "list takes one recording; try --help");
	last = operand[n - 1];
	if (!strcmp(operand[0], "metrics") && access(last, F_OK) && (n == 1 || (n == 2 && strpbrk(last, "*?[")))) {
		a->listing = listing_find("metrics");
		a->glob = n == 2 ? last : NULL;
		return 0;
	}
	if (n == 1 && listing_find(last) && access(last, F_OK))
		return error_set(e, EINVAL,
				 "%s of which recording? pmrep list %s FILE; without FILE only metrics are listed",
				 last, last);
	a->listing = n > 1 ? listing_find(operand[0]) : NULL;
	if (a->listing)
		i++;
	else
		a->listing = &listings[0];
	a->path = last;
	if (i + 1 < n)
		a->glob = operand[i++];
	if (i + 1 == n)
		return 0;
	near = nearest_listing(operand[0]);
	return error_set(e, EINVAL, "'%s' cannot be listed%s%s%s; --help says what can", operand[0],
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

#define OPTIONS_INTO struct arguments
static const struct option_row rows[] = {
	{ "format", 0, "table|json", "table (default) or json", WORD(format) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep list",
	.rows = rows,
	.operands = operands,
	.operands_doc = "[WHAT] [GLOB] FILE",
	.brief = brief,
	.paged = options_always_paged,
};

/* An empty list is an answer, unless a name was given. */
static int complain_empty(const struct arguments *a)
{
	const char *near = a->glob ? nearest_listing(a->glob) : NULL;

	if (!a->glob) {
		cmd_complain(spec.name, "%s: no %s", a->path, a->listing->what);
		return 0;
	}
	cmd_complain(spec.name, "%s: none of its %s is named '%s'%s%s%s", a->path ? a->path : "pmrep",
		     a->listing->what, a->glob, near ? "; did you mean the list of " : "", near ? near : "",
		     near ? "?" : "");
	return EXIT_TROUBLE;
}

static int print_list(struct list *l, const struct arguments *a, const struct options_common *common)
{
	int empty;

	if (l->table)
		table_print(l->table, cmd_width(STDOUT_FILENO), true, options_use_color(common, STDOUT_FILENO),
			    l->out);
	empty = l->out->len ? 0 : complain_empty(a);
	cmd_write(l->out);
	return empty;
}

/* Tables have heads in capitals, as everywhere; keys in json are in lower case. */
static void add_column(struct table *t, const struct column *c)
{
	char head[32];
	size_t n = 0;

	for (; c->name[n] && n + 1 < sizeof(head); n++)
		head[n] = (char)toupper((unsigned char)c->name[n]);
	head[n] = '\0';
	table_column(t, head, c->number ? TABLE_RIGHT : TABLE_LEFT, c->wrap);
}

static int run(void *input, const struct options_common *common)
{
	const struct arguments *a = input;
	SCOPED(buf_release) struct buf out = BUF_INIT;
	struct list l = { .column = a->listing->column, .glob = a->glob, .out = &out };
	struct error e = { 0 };
	SCOPED(scan_release) struct scan s = { 0 };
	int r;

	if (!a->path) {
		l.column = builtin_column;
	} else if (scan_path(&s, a->path, 0, &e)) {
		return cmd_fail(spec.name, &e);
	} else if (*pm_reader_newer(s.reader)) {
		cmd_complain(spec.name, "%s: partly newer than this program; pmrep check lists those parts", a->path);
	}
	while (l.n_columns < MAX_COLUMNS && l.column[l.n_columns].name &&
	       (a->format == CMD_JSON || !l.column[l.n_columns].json))
		l.n_columns++;
	if (a->format != CMD_JSON)
		l.table = table_new();
	for (size_t i = 0; i < l.n_columns; i++)
		add_column(l.table, &l.column[i]);
	if (a->path)
		a->listing->run(&l, &s);
	else
		list_builtin(&l);
	if (l.error.number) {
		error_prefix(&l.error, "%s", a->path);
		r = cmd_fail(spec.name, &l.error);
	} else {
		r = print_list(&l, a, common);
	}
	if (!r && a->path)
		r = cmd_judge_file(spec.name, a->path, scan_damaged(&s));
	table_free(l.table);
	return r;
}

int cmd_list(int argc, char **argv)
{
	struct arguments a = { 0 };

	return cmd_run(&spec, argc, argv, &a, run);
}
