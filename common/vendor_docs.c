/* Finds and reads vendors' files, and keeps them with the standards that they refer to. */
#include "common/vendor_docs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/event/vendor_events.h"
#include "common/file.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/parse.h"

/*
 * Vendors' own schemas are converted to perf's:
 *   Intel's perfmon   "Metrics": [ { "Formula", "Events": [ { "Name", "Alias" } ], "Constants", "Threshold" ... } ]
 *   Arm's telemetry   "events": { NAME: { "code", "title" } }, "metrics": { NAME: { "formula", "units" } }, "groups"
 */

static const char *json_field(const struct json *object, const char *key)
{
	return json_text(json_get(object, key), "");
}

static void put_member(struct json *to, const char *key, const char *text)
{
	if (text && *text)
		json_put(to, key, json_new_text(text));
}

/* Clears the buffer, too. */
static void put_buf(struct json *to, const char *key, struct buf *text)
{
	if (text->len)
		json_put(to, key, json_new_buf(text));
	buf_clear(text);
}

/* ---- Intel ---- */

struct word {
	const char *intel, *perf;
};

/* Shares of the slots, which the kernel lists in sysfs. */
static const struct word shares[] = {
	{ "PERF_METRICS.RETIRING", "topdown\\-retiring" },
	{ "PERF_METRICS.BAD_SPECULATION", "topdown\\-bad\\-spec" },
	{ "PERF_METRICS.FRONTEND_BOUND", "topdown\\-fe\\-bound" },
	{ "PERF_METRICS.BACKEND_BOUND", "topdown\\-be\\-bound" },
	{ "PERF_METRICS.HEAVY_OPERATIONS", "topdown\\-heavy\\-ops" },
	{ "PERF_METRICS.BRANCH_MISPREDICTS", "topdown\\-br\\-mispredict" },
	{ "PERF_METRICS.FETCH_LATENCY", "topdown\\-fetch\\-lat" },
	{ "PERF_METRICS.MEMORY_BOUND", "topdown\\-mem\\-bound" },
	{ "TSC", "msr@tsc@" },
	/* These count 2^-14 J, the kernel 2^-32. */
	{ "FREERUN_PKG_ENERGY_STATUS", "(power@energy\\-pkg@ / 262144)" },
	{ "FREERUN_DRAM_ENERGY_STATUS", "(power@energy\\-ram@ / 262144)" },
	{ NULL, NULL },
};

static const struct word constants[] = {
	{ "HYPERTHREADING_ON", "#smt_on" },
	{ "THREADS_PER_CORE", "(#num_cpus_online / #num_cores)" },
	{ "CORES_PER_SOCKET", "(#num_cores / #num_packages)" },
	{ "SOCKET_COUNT", "#num_packages" },
	{ "SYSTEM_TSC_FREQ", "#system_tsc_freq" },
	{ "DURATIONTIMEINMILLISECONDS", "(duration_time * 1000)" },
	{ "DURATIONTIMEINSECONDS", "duration_time" },
	{ "system.sockets[0].cpus.count * system.socket_count", "#num_cpus_online" },
	{ NULL, NULL },
};

static const struct word units[] = {
	{ "percent", "%" },
	{ "MB/sec", "MB/s" },
	{ "per second", "/s" },
	{ NULL, NULL },
};

static const char *word_of(const struct word *rows, const char *text)
{
	for (; rows->intel; rows++)
		if (!strcmp(rows->intel, text))
			return rows->perf;
	return NULL;
}

/* A modifier of an event: a term of the cores' PMU, or a letter after the event. False: perf has no equivalent. */
static bool add_modifier(const char *text, size_t len, struct buf *terms, struct buf *letters)
{
	static const struct {
		const char *intel, *term;
	} rows[] = {
		{ "ocr_msr_val=", "offcore_rsp" }, { "c", "cmask" }, { "e", "edge" }, { "i", "inv" }, { "u", "umask" }
	};

	if (len == 12 && !strncmp(text, "perf_metrics", len))
		return true;
	if (len == 3 && !strncasecmp(text, "SUP", len))
		return buf_addch(letters, 'k'), true;
	if (len == 4 && !strncasecmp(text, "USER", len))
		return buf_addch(letters, 'u'), true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].intel);
		uint64_t ignored;
		char number[24];

		if (len <= n || len - n >= sizeof(number) || strncmp(text, rows[i].intel, n))
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)(len - n), text + n);
		if (parse_u64(number, &ignored))
			continue;
		buf_printf(terms, ",%s=%s", rows[i].term, number);
		return true;
	}
	return false;
}

/* "UOPS_RETIRED.MS:c1:e1" as an id in a formula. `pmu`: the kind of cores; NULL: there is only one. False: it cannot
 * be expressed. */
static bool add_pmu_event(const char *name, const char *pmu, struct buf *out)
{
	const char *colon = strchr(name, ':'), *known = word_of(shares, name);
	SCOPED(buf_release) struct buf letters = BUF_INIT, terms = BUF_INIT;
	size_t len = colon ? (size_t)(colon - name) : strlen(name);
	bool one_unit = colon && !strcmp(colon, ":one_unit"), can = true;

	for (const char *at = one_unit ? NULL : colon; at && can;) {
		size_t n = strcspn(at + 1, ":");

		can = add_modifier(at + 1, n, &terms, &letters);
		at = at[1 + n] ? at + 1 + n : NULL;
	}
	if (known)
		buf_addstr(out, known);
	else if (one_unit)
		buf_printf(out, "(%.*s / source_count(%.*s))", (int)len, name, (int)len, name);
	else if (terms.len || letters.len)
		buf_printf(out, "%s@%.*s%s@%s", pmu ? pmu : "cpu", (int)len, name, buf_str(&terms),
			   buf_str(&letters));
	else
		buf_printf(out, "%.*s", (int)len, name);
	return can && len;
}

/* The name that the alias stands for, from a list of "Name" and "Alias". */
static const char *name_of(const struct json *list, const char *alias, const char *key)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (!strcasecmp(json_field(json_at(list, i), "Alias"), alias))
			return json_field(json_at(list, i), key);
	return NULL;
}

/* Each of these units has one counter for its clock. */
static bool add_units(const struct json *events, struct buf *out)
{
	for (size_t i = 0; i < json_count(events); i++) {
		const char *name = json_field(json_at(events, i), "Name");

		if (strncmp(name, "UNC_CHA_", 8) && strncmp(name, "UNC_C_", 6))
			continue;
		buf_printf(out, "source_count(%.*s)", (int)strcspn(name, ":"), name);
		return true;
	}
	return false;
}

static bool add_constant(const struct json *metric, const char *pmu, const char *name, struct buf *out)
{
	const char *known = word_of(constants, name);

	/* Small cores have one thread; large ones have two if any CPU has. */
	if (pmu && !strcmp(name, "THREADS_PER_CORE"))
		known = strcmp(pmu, "cpu_core") ? "1" : "(1 + #smt_on)";
	if (!strcmp(name, "CHAS_PER_SOCKET"))
		return add_units(json_get(metric, "Events"), out);
	if (!known && (!*name || name[strspn(name, "0123456789.")]))
		return false;
	buf_addstr(out, known ? known : name);
	return true;
}

/* A word of a formula. `all`: metrics that a threshold may refer to by their older names. */
static bool add_word(const struct json *metric, const char *pmu, const struct json *list, const struct json *all,
		     const char *word, struct buf *out)
{
	const char *name;

	if (parse_is_among("if else min max", word, strlen(word)))
		return buf_addstr(out, word), true;
	if (all) {
		name = name_of(list, word, "Value");
		for (size_t i = 0; name && i < json_count(all); i++)
			if (!strcmp(json_field(json_at(all, i), "LegacyName"), name))
				return buf_addstr(out, json_field(json_at(all, i), "MetricName")), true;
		return false;
	}
	if ((name = name_of(json_get(metric, "Events"), word, "Name")))
		return add_pmu_event(name, pmu, out);
	name = name_of(json_get(metric, "Constants"), word, "Name");
	return add_constant(metric, pmu, name ? name : word, out);
}

/* Writes the formula with its aliases replaced. False: it contains something that perf's language cannot express. */
static bool add_formula(const struct json *metric, const char *pmu, const struct json *formula,
			const struct json *all, struct buf *out)
{
	const struct json *list = json_get(formula, "ThresholdMetrics");
	const char *text = json_field(formula, "Formula");
	bool can = *text != '\0';

	while (*text && can) {
		size_t n = 0;
		char word[64];

		while (isalnum((unsigned char)text[n]) || text[n] == '_' || (n && text[n] == '.'))
			n++;
		if (!n) {
			buf_addch(out, *text++);
			continue;
		}
		if (isdigit((unsigned char)*text)) {
			buf_add(out, text, n);
		} else if (n < sizeof(word)) {
			snprintf(word, sizeof(word), "%.*s", (int)n, text);
			can = add_word(metric, pmu, list, all, word, out);
		} else {
			can = false;
		}
		text += n;
	}
	return can;
}

static struct json *convert_metric(const struct json *metric, const char *pmu, const struct json *all)
{
	struct json *to = json_new_object();
	SCOPED(buf_release) struct buf text = BUF_INIT;
	const char *unit = json_field(metric, "UnitOfMeasure"), *known = word_of(units, unit);
	const char *group = json_field(metric, "MetricGroup"), *category = json_field(metric, "Category");
	double level = json_number(json_get(metric, "Level"), 0);

	put_member(to, "MetricName", json_field(metric, "MetricName"));
	/* The parser omits what cannot be expressed, and names it. */
	if (!add_formula(metric, pmu, metric, NULL, &text)) {
		buf_clear(&text);
		buf_addstr(&text, "\"a constant or a modifier that is not known\"");
	}
	put_buf(to, "MetricExpr", &text);
	put_member(to, "ScaleUnit", known ? known : unit);
	put_member(to, "BriefDescription", json_field(metric, "BriefDescription"));
	if (!add_formula(metric, pmu, json_get(metric, "Threshold"), all, &text))
		buf_clear(&text);
	put_buf(to, "MetricThreshold", &text);
	buf_printf(&text, "%s%s%s", group, *group && *category ? ";" : "", category);
	if (!strcmp(category, "TMA"))
		buf_printf(&text, ";TopdownL%.0f", level);
	put_buf(to, "MetricGroup", &text);
	return to;
}

static struct json *convert_intel(const struct json *all, const char *pmu)
{
	struct json *to = json_new_array();

	for (size_t i = 0; i < json_count(all); i++)
		json_push(to, convert_metric(json_at(all, i), pmu, all));
	return to;
}

/* ---- Arm ---- */

static void put_groups(struct json *to, const struct json *groups, const char *name)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	for (const char *key = json_next_key(groups, NULL); key; key = json_next_key(groups, key)) {
		const struct json *members = json_get(json_get(groups, key), "metrics");

		for (size_t k = 0; k < json_count(members); k++)
			if (!strcmp(json_text(json_at(members, k), ""), name))
				buf_printf(&text, "%s%s", text.len ? ";" : "", key);
	}
	put_buf(to, "MetricGroup", &text);
}

static void push_event(struct json *to, const char *name, const char *code, const char *text)
{
	struct json *o = json_new_object();

	put_member(o, "EventName", name);
	put_member(o, "EventCode", code);
	put_member(o, "BriefDescription", text);
	json_push(to, o);
}

static struct json *convert_arm(const struct json *j)
{
	const struct json *events = json_get(j, "events"), *metrics = json_get(j, "metrics");
	const struct json *groups = json_get(json_get(j, "groups"), "metrics");
	struct json *to = json_new_array();
	const char *key;

	for (key = json_next_key(events, NULL); key; key = json_next_key(events, key))
		push_event(to, key, json_field(json_get(events, key), "code"),
			   json_field(json_get(events, key), "title"));
	for (size_t i = 0; json_is_array(events) && i < json_count(events); i++) {
		const struct json *event = json_at(events, i);
		char code[32];

		snprintf(code, sizeof(code), "%#x", (unsigned)json_number(json_get(event, "code"), 0));
		push_event(to, json_field(event, "name"), code, json_field(event, "description"));
	}
	for (key = json_next_key(metrics, NULL); key; key = json_next_key(metrics, key)) {
		const struct json *metric = json_get(metrics, key);
		const char *unit = json_field(metric, "units");
		struct json *o = json_new_object();

		put_member(o, "MetricName", key);
		put_member(o, "MetricExpr", json_field(metric, "formula"));
		put_member(o, "ScaleUnit", strncmp(unit, "percent", 7) ? unit : "%");
		put_member(o, "BriefDescription", json_field(metric, "title"));
		put_groups(o, groups, key);
		json_push(to, o);
	}
	return to;
}

/* The pattern of MIDR_EL1 that a file of Arm is for, from the file before conversion; `pattern` has at least 32
 * bytes. False for other files. */
static bool vendor_json_midr(const struct json *j, char *pattern, size_t size)
{
	const struct json *product = json_get(j, "product_configuration");
	uint64_t implementer, part, major = 0, minor = 0;
	unsigned id;

	/* Arm's list of PMUs has both in one: 0x41d0c. */
	if (sscanf(json_field(j, "cpuid"), "0x%x", &id) == 1 && id < 1u << 20 &&
	    json_is_array(json_get(j, "events"))) {
		implementer = id >> 12;
		part = id & 0xfff;
	} else if (parse_u64(json_field(product, "implementer"), &implementer) ||
		   parse_u64(json_field(product, "part_num"), &part))
		return false;
	(void)parse_u64(json_field(product, "major_revision"), &major);
	(void)parse_u64(json_field(product, "minor_revision"), &minor);
	snprintf(pattern, size, "0x%016llx",
		 (unsigned long long)(implementer << 24 | major << 20 | 0xf0000 | part << 4 | minor));
	return true;
}

/* ---- any ---- */

/* Marks what belongs to one kind of cores; events outside the cores belong to all. */
static void put_unit(struct json *list, const char *pmu)
{
	for (size_t i = 0; i < json_count(list); i++) {
		struct json *o = json_at(list, i);

		if (!json_get(o, "Unit") && !strstr(json_field(o, "MetricExpr"), "UNC_"))
			put_member(o, "Unit", pmu);
	}
}

void vendor_docs_release(struct vendor_docs *d)
{
	for (size_t i = 0; i < d->n_docs; i++)
		json_free(d->doc[i]);
	names_release(&d->by_name);
	free(d->standard);
	free(d->object);
	free(d->doc);
	*d = (struct vendor_docs){ 0 };
}

int vendor_lower(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; from[i]; i++) {
		if (i + 1 >= size)
			return -E2BIG;
		to[i] = (char)tolower((unsigned char)from[i]);
	}
	to[i] = '\0';
	return 0;
}

const char *vendor_field(const struct vendor_object *o, const char *key)
{
	const char *text = json_text(json_get(o->own, key), "");

	if (!*text)
		text = json_text(json_get(o->standard, key), "");
	return *text ? text : NULL;
}

struct vendor_object vendor_docs_at(const struct vendor_docs *d, size_t i)
{
	struct vendor_object o = { .own = d->object[i] };
	const char *standard = vendor_field(&o, "ArchStdEvent");
	char key[256];
	uint32_t at;

	if (standard && !vendor_lower(key, sizeof(key), standard) && names_get(&d->by_name, key, &at))
		o.standard = d->standard[at];
	return o;
}

static void add_object(struct vendor_docs *d, const struct json *object, bool only_standard)
{
	const struct vendor_object o = { .own = object };
	const char *name = vendor_field(&o, "EventName");
	char key[256];

	memory_room(&d->object, d->n, sizeof(*d->object));
	memory_room(&d->standard, d->n_standards, sizeof(*d->standard));
	if (!only_standard)
		d->object[d->n++] = object;
	name = name ? name : vendor_field(&o, "MetricName");
	if (!name || vendor_field(&o, "ArchStdEvent") || vendor_lower(key, sizeof(key), name))
		return;
	d->standard[d->n_standards] = object;
	memory_done(names_set(&d->by_name, key, (uint32_t)d->n_standards++));
}

/* Takes ownership of `j`. `pmu` ("cpu_atom") is the PMU of the kind of cores that the file is for, if the file does
 * not say it; or NULL. With `only_standard`, its objects can be referred to but are not of this CPU. */
static int add_doc(struct vendor_docs *d, struct json *j, const char *pmu, bool only_standard, struct error *e)
{
	const struct json *metrics = json_get(j, "Metrics"), *list;
	struct json *file = j;

	if (!vendor_json_midr(j, d->midr, sizeof(d->midr)))
		d->midr[0] = '\0';
	if (json_is_array(metrics) && json_get(json_at(metrics, 0), "Formula"))
		j = convert_intel(metrics, pmu);
	else if (d->midr[0])
		j = convert_arm(j);
	if (file != j)
		json_free(file);
	if (pmu)
		put_unit(json_is_array(j) ? j : json_get(j, "Events"), pmu);
	memory_room(&d->doc, d->n_docs, sizeof(*d->doc));
	d->doc[d->n_docs++] = j;
	list = json_is_array(j) ? j : json_get(j, "Events");
	list = list ? list : json_get(j, "Metrics");
	if (!json_is_array(list))
		return error_set(e, EINVAL,
				 "neither events nor metrics: not an array of objects with EventName or MetricName");
	for (size_t i = 0; i < json_count(list); i++)
		add_object(d, json_at(list, i), only_standard);
	return 0;
}

int vendor_docs_parse(struct vendor_docs *d, const char *text, size_t len, struct error *e)
{
	struct json *j = json_parse(text, len, e);

	return j ? add_doc(d, j, NULL, false, e) : -e->number;
}

static int load_file(struct vendor_docs *d, const char *path, const char *pmu, bool only_standard, struct error *e)
{
	struct json *j = json_load(path, e);

	return !j ? -e->number : add_doc(d, j, pmu, only_standard, e) ? error_prefix(e, "%s", path) : 0;
}

/* Another file of perf's directories describes groups of metrics. */
static int is_wanted(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && !strcmp(d->d_name + len - 5, ".json") && strcmp(d->d_name, "metricgroups.json") != 0;
}

/* Failing to read one is an error: with a part missing, the directory would silently mean something else. */
static int load_dir(struct vendor_docs *d, const char *path, bool only_standard, struct error *e)
{
	struct dirent **name;
	int n = scandir(path, &name, is_wanted, alphasort), err = 0;

	if (n < 0)
		return error_sys(e, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		SCOPED(scoped_free) char *full = memory_format("%s/%s", path, name[i]->d_name);

		err = err ? err : load_file(d, full, NULL, only_standard, e);
		free(name[i]);
	}
	free(name);
	return err;
}

int vendor_map_read(const char *path, struct buf *text, struct error *e)
{
	SCOPED(scoped_free) char *map = memory_format("%s/mapfile.csv", path);

	return file_read(map, text, e);
}

bool vendor_map_next(char **at, struct vendor_map *row)
{
	/* Lines are "pattern,version,folder or file,type"; Intel's continue with "0x20,0x000001,Atom". */
	for (char *line; (line = strsep(at, "\n"));) {
		char *rest = line + strcspn(line, ",\r");

		*row = (struct vendor_map){ .pattern = line };
		if (line[0] == '#' || *rest != ',')
			continue;
		*rest++ = '\0';
		(void)strsep(&rest, ",");
		row->name = rest ? strsep(&rest, ",\r") : NULL;
		row->type = rest ? strsep(&rest, ",\r") : "";
		for (int i = 0; i < 2; i++)
			(void)strsep(&rest, ",\r");
		row->pmu = !rest                         ? NULL :
			   !strncmp(rest, "Core", 4)     ? "cpu_core" :
			   !strncmp(rest, "Atom", 4)     ? "cpu_atom" :
			   !strncmp(rest, "LowPower", 8) ? "cpu_lowpower" :
							   NULL;
		if (row->name)
			return true;
	}
	return false;
}

/* Returns 0 and the directory, to be freed, or -errno. */
static int look_up(const char *path, const char *cpuid, char **dir, struct error *e)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	struct vendor_map row;
	int err = vendor_map_read(path, &text, e);

	for (char *at = (char *)(uintptr_t)buf_str(&text); !err && vendor_map_next(&at, &row);)
		if (cpuid && vendor_is_cpu(row.pattern, cpuid)) {
			*dir = memory_format("%s/%s", path, row.name);
			return 0;
		}
	return err ? err :
		     error_set(e, ENOENT, "%s/mapfile.csv has no line for this CPU (%s); name the directory of a CPU",
			       path, cpuid ? cpuid : "whose id is not known");
}

/* One that exists but cannot be read counts: the error matters. */
bool vendor_folder_is_mapped(const char *path)
{
	SCOPED(scoped_free) char *map = memory_format("%s/mapfile.csv", path);
	struct stat st;

	return !lstat(map, &st);
}

/* Adds what is beside mapfile.csv, in the directory of the path or one above it. */
static int load_standards(struct vendor_docs *d, const char *path, struct error *e)
{
	SCOPED(scoped_free) char *above = realpath(path, NULL);
	char *slash;

	for (int level = 0; above && level < 4 && (slash = strrchr(above, '/')) && slash != above; level++) {
		*slash = '\0';
		if (vendor_folder_is_mapped(above))
			return load_dir(d, above, true, e);
	}
	return 0;
}

int vendor_docs_load(struct vendor_docs *d, const char *path, const char *pmu, const char *cpuid, struct error *e)
{
	SCOPED(scoped_free) char *dir = NULL;
	size_t i = d->n;
	struct stat st;
	int err = vendor_folder_is_mapped(path) ? look_up(path, cpuid, &dir, e) : 0;

	path = dir ? dir : path;
	if (err)
		return err;
	err = !stat(path, &st) && S_ISDIR(st.st_mode) ? load_dir(d, path, false, e) :
							load_file(d, path, pmu, false, e);
	while (i < d->n && !json_get(d->object[i], "ArchStdEvent"))
		i++;
	return err || i == d->n ? err : load_standards(d, path, e);
}
