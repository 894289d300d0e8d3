/*
 * The event language of `-e`, which is perf's, in two steps. event_parse() reads the text and knows no machine;
 * event_resolve() looks names up in a view of PMUs and tracepoints and fills in attr words. pmrec fills the view from
 * sysfs and pmrep from a recording, so that a text means the same to both.
 *
 *   list  = item { "," item }
 *   item  = event | [ name ] "{" event { "," event } "}" [ ":" modifiers ]
 *   event = body [ ":" modifiers ]                       after a closing "/" the ":" may be left out
 *   body  = name | pmu "/" [ term { "," term } ] "/" | system ":" tracepoint [ "/" terms "/" ]
 *         | "r" hex | type ":" config | "mem:" address [ "/" length ] [ ":" access ]
 *   term  = [ "@" ] key [ "=" value ]                    value: number, word, or text in quotes
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

#define EVENT_TEXT_MAX (1u << 20) /* bytes of one list */
#define EVENT_LIST_MAX 8192       /* events of one list, and of a set */
#define EVENT_TERM_MAX 64         /* terms of one event */
#define EVENT_CONFIGS  5          /* config, config1 ... config4 */

/* ---- the view ---- */

struct event_format {
	char *name; /* "event" */
	char *text; /* "config:0-7,32-35" */
};

struct event_alias {
	char *name;
	char *text;  /* "event=0x3c,umask=0x0" */
	char *scale; /* decimal text of the .scale file, or NULL */
	char *unit;  /* or NULL */
	char *help;  /* one sentence, or NULL */
	bool per_pkg, snapshot, deprecated;
	bool vendor; /* from a file of the CPU's vendor, not from the kernel */
	bool given;  /* from a file that the user named: the name may be his own */
};

struct class_pmu;

struct event_pmu {
	char *name;
	const char *class;      /* a name that stands for all PMUs of its kind, or NULL */
	struct class_pmu *unit; /* borrowed: what is known about it by its class, or NULL */
	bool ruled;             /* its class has rules beyond the format files: see class_pmu.h */
	uint32_t type;          /* attr.type */
	bool core;              /* counts what CPUs execute; takes hardware, cache and raw events */
	bool uncore;            /* has a cpumask; counts only there, and no tasks */
	char *cpus;             /* where to open it, in list notation; NULL: all CPUs */
	char *identifier;       /* the model of the device, or NULL */
	struct event_format *format;
	size_t n_formats;
	struct event_alias *alias;
	size_t n_aliases;
};

typedef int (*event_tracepoint_fn)(void *arg, const char *system, const char *name, uint64_t id);

/* Free the contents, not the struct. */
void event_alias_release(struct event_alias *alias);
void event_pmu_release(struct event_pmu *pmu);
/* The PMU of this name; NULL: none. */
const struct event_pmu *event_pmu_named(const struct event_pmu *pmu, size_t n, const char *name);
/* The event of a name of that many bytes, in capitals or not, and the text of a format; NULL: it has none, or there
 * is no PMU. */
const struct event_alias *event_pmu_alias(const struct event_pmu *pmu, const char *name, size_t len);
const char *event_pmu_format(const struct event_pmu *pmu, const char *name);

struct event_view {
	const struct event_pmu *pmu;
	size_t n_pmus;
	/* Calls found() for every tracepoint that matches both globs, sorted by name. Returns the number of matches,
	 * or -ENODEV without tracepoints, -EACCES without the right to see them, or what found() returned if not
	 * 0. */
	int (*tracepoints)(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg);
	void *data;
	bool cores_first; /* a name without PMU that cores have means theirs alone */
};

/* ---- modifiers ---- */

enum event_mod {
	EVENT_MOD_USER = 1 << 0,      /* u */
	EVENT_MOD_KERNEL = 1 << 1,    /* k */
	EVENT_MOD_HV = 1 << 2,        /* h */
	EVENT_MOD_GUEST = 1 << 3,     /* G */
	EVENT_MOD_HOST = 1 << 4,      /* H */
	EVENT_MOD_NO_IDLE = 1 << 5,   /* I */
	EVENT_MOD_PRECISE_1 = 1 << 6, /* p; pp and ppp are two bits of a number */
	EVENT_MOD_PRECISE_2 = 1 << 7,
	EVENT_MOD_MAX_PRECISE = 1 << 8, /* P */
	EVENT_MOD_SAMPLE_READ = 1 << 9, /* S */
	EVENT_MOD_PINNED = 1 << 10,     /* D */
	EVENT_MOD_EXCLUSIVE = 1 << 11,  /* e */
	EVENT_MOD_WEAK = 1 << 12,       /* W */
	EVENT_MOD_BPF = 1 << 13,        /* b */
	EVENT_MOD_RETIRE = 1 << 14,     /* R */
	EVENT_MOD_NO_REGROUP = 1 << 15, /* X */
};
#define EVENT_MOD_LETTERS "ukhGHIpPSDeWbRX"
#define EVENT_MOD_RING    (EVENT_MOD_USER | EVENT_MOD_KERNEL | EVENT_MOD_HV)

static inline unsigned event_mods_precise(uint32_t mods)
{
	return (mods & EVENT_MOD_PRECISE_1 ? 1 : 0) + (mods & EVENT_MOD_PRECISE_2 ? 2 : 0);
}
/* Appends the letters in the canonical order. */
void event_mods_print(uint32_t mods, struct buf *out);
/* Letters to bits. 0, or the place (from 1) of the first wrong letter. */
size_t event_mods_parse(const char *text, size_t len, uint32_t *mods);

/* ---- the parsed text ---- */

enum event_form {
	EVENT_NAME,       /* name */
	EVENT_PMU,        /* name/terms/ */
	EVENT_TRACEPOINT, /* name:event */
	EVENT_RAW,        /* config; name holds the word, which may turn out to be an event's name ("read") */
	EVENT_NUMERIC,    /* type:config */
	EVENT_BREAKPOINT, /* config: address, type: access bits, length */
};

struct event_term {
	char *key;   /* owned */
	char *value; /* owned; NULL if there was no "=" */
	uint64_t number;
	bool is_number; /* value is a number that fits 64 bits */
	bool driver;    /* "@key" */
	uint32_t column;
};

struct event_node {
	enum event_form form;
	char *name;  /* owned; NULL for NUMERIC and BREAKPOINT */
	char *event; /* owned; TRACEPOINT only */
	uint64_t type, config, length;
	struct event_term *term; /* owned */
	size_t n_terms;
	uint32_t mods;
	uint32_t column, end; /* of its text, from 0, without the group's modifiers */
	uint32_t group;       /* index into list->group, or EVENT_NONE */
};
#define EVENT_NONE UINT32_MAX

struct event_group {
	char *name; /* owned, or NULL */
	uint32_t mods;
	uint32_t first, n; /* nodes */
};

struct event_list {
	char *text;              /* owned */
	struct event_node *node; /* owned */
	size_t n;
	struct event_group *group; /* owned */
	size_t n_groups;
};

/* The caller frees *list. 0, -EINVAL with a message that names the column (from 1), or -E2BIG. */
int event_parse(struct event_list **list, const char *text, struct error *e);
void event_list_free(struct event_list *list);
/* Terms alone, as in a sysfs events/NAME file. Returns their number or -errno; the caller frees them. */
int event_terms_parse(struct event_term **terms, const char *text, struct error *e);
void event_terms_free(struct event_term *terms, size_t n);

/* ---- events with meaning ---- */

struct event {
	char *name;         /* owned; canonical text, which parses to this event on this machine */
	size_t body;        /* bytes of `name` before the modifiers */
	char *display;      /* owned; name=... or what the user wrote */
	char *text;         /* owned; what the user wrote */
	char *pmu;          /* owned; "cpu", "software", "tracepoint", ... */
	uint32_t pmu_index; /* in the view, or EVENT_NONE */
	uint32_t type;
	uint64_t config[EVENT_CONFIGS];
	uint32_t bp_type;   /* breakpoints only; address and length are config1 and config2 */
	uint32_t mods;      /* with those of the group */
	char *scale, *unit; /* owned, or NULL */
	char *cpus;         /* owned: list of a cpu= term, or NULL */
	char *metric_id;    /* owned, or NULL */
	char *group_name;   /* owned, or NULL */
	bool per_pkg, snapshot, percore;
	bool named;       /* display is the user's name=... */
	bool kernel_only; /* happens in the kernel only: always 0 with exclude_kernel */
	bool core;        /* counts what CPUs execute */
	bool uncore;
	int8_t inherit;    /* term inherit: 1, no-inherit: 0, neither: -1 */
	uint32_t group;    /* > 0: number of its braces, with a number for each PMU in them; 0: alone */
	uint32_t wildcard; /* > 0: the same for all events that one text expanded to */
	uint32_t parsed;   /* which text of all that were resolved into the set */
	int missing;       /* 0, or a positive errno: the name is well formed, but cannot be looked up */
};

struct event_set {
	struct event *event; /* owned */
	size_t n;
	uint32_t groups, wildcards, parsed; /* numbers given so far */
};

/* Appends the events of the list. Remarks for the user, such as a member taken out of its group, go to `notes`, one
 * per line. 0, or -EINVAL or -ENOENT with a message that names column and near misses; the set is then unchanged. */
int event_resolve(const struct event_list *list, const struct event_view *view, struct event_set *set,
		  struct buf *notes, struct error *e);
void event_set_release(struct event_set *set);
/* Removes the column from a message of event_resolve(), for texts that the user did not write. */
void event_error_plain(struct error *e);
/* Frees the contents of one event, to remove it from a set. */
void event_release(struct event *ev);
/* Replaces ->mods, and ->name to match; for example when the kernel part was refused. */
void event_set_mods(struct event *event, uint32_t mods);

/* ---- pieces ---- */

/* Distributes `value` over the bits that a format file names. 0, -EINVAL for its text, or -ERANGE with the largest
 * value in *max. */
int event_format_pack(const char *format, uint64_t value, uint64_t config[EVENT_CONFIGS], uint64_t *max);
/* Whether `pattern` means the PMU `name`: exactly, without its suffix ("uncore_imc" for uncore_imc_0), as a glob, or
 * with parts in order ("hisi_sccl,ddrc" for hisi_sccl1_ddrc3). */
bool event_pmu_matches(const char *pattern, const char *name);
/* Where the configuration of these PMUs points to, the kernel takes names of files and functions from the caller's
 * memory; it opens the files with the caller's rights. So nothing counts them by name. NULL at the end. */
extern const char *const event_pmus_of_pointers[];
bool event_pmu_takes_pointer(const char *name);

/*
 * Tool events: numbers that the tool itself knows (perf's PMU "tool"). The kernel has no such type; it is perf's, so
 * that attr words mean the same.
 */
#define EVENT_TYPE_TOOL 0xfffffffeu
enum event_tool {
	EVENT_TOOL_DURATION_TIME = 1, /* ns counted */
	EVENT_TOOL_USER_TIME,         /* ns of CPU time in user mode */
	EVENT_TOOL_SYSTEM_TIME,       /* ns of CPU time in the kernel */
};
/* Fills in the PMU "tool". */
void event_tool_pmu(struct event_pmu *pmu);

/* Default events: perf's, what each -d adds, and turbostat's. */
struct event_default {
	const char *name;
	unsigned detailed;  /* how many -d it takes */
	bool if_described;  /* only if sysfs has it in a core PMU */
	const char *beside; /* only on core PMUs that have this event as well; or NULL */
	enum {
		EVENT_DEFAULT_OF_ALL,
		EVENT_DEFAULT_OF_TASKS, /* for CPUs perf counts their clock instead */
		EVENT_DEFAULT_OF_CPUS,
		EVENT_DEFAULT_OF_TURBOSTAT /* on all CPUs; not perf's, and -d replaces them */
	} only;
};
extern const struct event_default event_defaults[]; /* in perf's order; ends with name NULL */

/* Events of the kernel's interface itself. */
struct event_symbol {
	const char *name;
	const char *alias; /* or NULL */
	uint32_t type;     /* PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE */
	uint64_t config;
	const char *help, *scale, *unit;
	bool kernel_only;
};
extern const struct event_symbol event_symbols[]; /* ends with name NULL */
const struct event_symbol *event_symbol_find(const char *name);
/*
 * Units: recordings use UCUM; .unit files and vendors' events use perf's words. An unknown text stays as it is.
 */
const char *event_unit_ucum(const char *perf);
const char *event_unit_perf(const char *ucum);
double event_unit_bytes(const char *ucum); /* 0: not a unit of data */
/* "L1-dcache-load-misses", in all its spellings, to config. 0, -ENOENT for an unknown name, -EINVAL for a cache that
 * lacks the operation. */
int event_cache_parse(const char *name, uint64_t *config);
/* The canonical spelling; at least 40 bytes. */
void event_cache_name(uint64_t config, char *name, size_t size);
/* Calls each() for every cache event, until it returns non-zero; returns that, or 0. */
int event_cache_each(int (*each)(void *arg, const char *name, uint64_t config), void *arg);
