#include "common/event/vendor_events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/json.h"
#include "common/names.h"
#include "common/parse.h"

#define MAX_EVENTS 200000
#define MAX_FILES  1000
#define MAX_REGEX  256 /* characters; matching a longer one could take for ever */
#define MAX_NOTES  8

struct vendor_events {
	struct json **file; /* owned */
	size_t n_files;
	const struct json **event; /* owned array; objects of the files */
	size_t n_events, cap_events;
	struct names standard; /* EventName in lower case -> place in standard_event */
	const struct json **standard_event; /* owned array */
	size_t n_standard, cap_standard;
};

void vendor_events_free(struct vendor_events *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n_files; i++)
		json_free(v->file[i]);
	names_release(&v->standard);
	free(v->standard_event);
	free(v->file);
	free(v->event);
	free(v);
}

static const char *field(const struct json *object, const char *key)
{
	const char *text = json_text(json_get(object, key), "");

	return *text ? text : NULL;
}

/* A number, written as text ("0x3c", "60", or several of which the first counts) or as a number. False: none. */
static bool number(const struct json *object, const char *key, uint64_t *value)
{
	const struct json *j = json_get(object, key);
	const char *text = json_text(j, NULL);
	char first[40];
	double v;

	if (text) {
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, ", "), text);
		return !parse_u64(first, value);
	}
	v = json_number(j, -1);
	if (v < 0 || v > 9e15)
		return false;
	*value = (uint64_t)v;
	return true;
}

/* ---- reading files ---- */

static int no_memory(struct error *e)
{
	return error_set(e, ENOMEM, "out of memory");
}

static int append(const struct json ***list, size_t *n, size_t *cap, const struct json *object)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 256;
		const struct json **bigger = realloc(*list, more * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		*list = bigger;
		*cap = more;
	}
	(*list)[(*n)++] = object;
	return 0;
}

static int lower(char *to, size_t size, const char *from)
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

static int add_standard(struct vendor_events *v, const struct json *object)
{
	const char *name = field(object, "EventName") ? field(object, "EventName") : field(object, "MetricName");
	char key[256];
	int err;

	if (!name || lower(key, sizeof(key), name))
		return 0;
	err = append(&v->standard_event, &v->n_standard, &v->cap_standard, object);
	return err ? err : names_set(&v->standard, key, (uint32_t)(v->n_standard - 1));
}

/* With `only_standard` its events are there to be referred to, and no events of this CPU. */
static int load_file(struct vendor_events *v, const char *path, bool only_standard, struct error *e)
{
	struct error why = { 0 };
	struct json *j = json_load(path, &why), **bigger;
	const struct json *list;
	int err = 0;

	if (!j)
		return error_set(e, why.number ? why.number : EINVAL, "%s", why.text);
	bigger = realloc(v->file, (v->n_files + 1) * sizeof(*bigger));
	if (!bigger) {
		json_free(j);
		return no_memory(e);
	}
	v->file = bigger;
	v->file[v->n_files++] = j;
	list = json_is_array(j) ? j : json_get(j, "Events");
	if (!json_is_array(list))
		return error_set(e, EINVAL, "%s: not an event file: it should hold an array of objects with EventName",
				 path);
	for (size_t i = 0; i < json_count(list) && !err; i++) {
		const struct json *object = json_at(list, i);

		/* A metric may be what is referred to. */
		if (!field(object, "EventName") && !field(object, "ArchStdEvent")) {
			err = only_standard ? add_standard(v, object) : 0;
			continue;
		}
		if (v->n_events >= MAX_EVENTS)
			return error_set(e, E2BIG, "%s: more than %d events", path, MAX_EVENTS);
		if (!only_standard)
			err = append(&v->event, &v->n_events, &v->cap_events, object);
		if (!err && !field(object, "ArchStdEvent"))
			err = add_standard(v, object);
	}
	return err ? no_memory(e) : 0;
}

static int is_json(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && !strcmp(d->d_name + len - 5, ".json");
}

static int load_dir(struct vendor_events *v, const char *path, bool only_standard, struct error *e)
{
	struct dirent **name;
	int n = scandir(path, &name, is_json, alphasort), err = 0;
	char full[4096];

	if (n < 0)
		return error_sys(e, errno, "%s", path);
	if (n > MAX_FILES)
		err = error_set(e, E2BIG, "%s: more than %d files", path, MAX_FILES);
	for (int i = 0; i < n; i++) {
		if (!err && snprintf(full, sizeof(full), "%s/%s", path, name[i]->d_name) >= (int)sizeof(full))
			err = error_set(e, ENAMETOOLONG, "%s", path);
		/* Other files of the folder describe metrics, or what metrics are grouped by. */
		if (!err && strcmp(name[i]->d_name, "metricgroups.json"))
			err = load_file(v, full, only_standard, e);
		free(name[i]);
	}
	free(name);
	return err;
}

/* "GenuineIntel-6-(55|56)" against the whole of the id. */
static bool matches(const char *pattern, size_t len, const char *text)
{
	char whole[MAX_REGEX + 8];
	regex_t re;
	bool yes;

	if (len > MAX_REGEX)
		return false;
	snprintf(whole, sizeof(whole), "^(%.*s)$", (int)len, pattern);
	if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB))
		return false;
	yes = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return yes;
}

/* A pattern may leave out the stepping, and Arm's variant and revision. */
static bool is_cpu(const char *pattern, size_t len, const char *cpuid)
{
	const char *stepping = strrchr(cpuid, '-');
	char less[64];
	uint64_t midr;

	if (matches(pattern, len, cpuid))
		return true;
	if (!strncmp(cpuid, "0x", 2) && !parse_u64(cpuid, &midr))
		snprintf(less, sizeof(less), "0x%016llx", (unsigned long long)midr & ~0xf0000full);
	else
		snprintf(less, sizeof(less), "%.*s", stepping ? (int)(stepping - cpuid) : 0, cpuid);
	return less[0] && matches(pattern, len, less);
}

/* Lines are "pattern,version,directory,type". 0 with the directory, or -errno. */
static int look_up(const char *path, const char *cpuid, char *dir, size_t size, struct error *e)
{
	char map[4096], line[1024];
	int err = -ENOENT;
	FILE *f;

	snprintf(map, sizeof(map), "%s/mapfile.csv", path);
	f = fopen(map, "re");
	if (!f)
		return error_sys(e, errno, "%s", map);
	while (err && fgets(line, sizeof(line), f)) {
		const char *version = strchr(line, ','), *name = version ? strchr(version + 1, ',') : NULL;

		if (line[0] == '#' || !name || !cpuid || !is_cpu(line, (size_t)(version - line), cpuid))
			continue;
		snprintf(dir, size, "%s/%.*s", path, (int)strcspn(name + 1, ",\r\n"), name + 1);
		err = 0;
	}
	fclose(f);
	if (err)
		error_set(e, ENOENT, "%s has no line for this CPU (%s): name the folder of a CPU", map,
			  cpuid ? cpuid : "whose id is not known");
	return err;
}

static bool has_map(const char *path)
{
	char map[4096];

	return snprintf(map, sizeof(map), "%s/mapfile.csv", path) < (int)sizeof(map) && !access(map, R_OK);
}

int vendor_folder(const char *path, const char *cpuid, char *dir, size_t size, struct error *e)
{
	if (has_map(path))
		return look_up(path, cpuid, dir, size, e);
	if (snprintf(dir, size, "%s", path) >= (int)size)
		return error_set(e, ENAMETOOLONG, "%.100s...: the name is too long", path);
	return 0;
}

/* What ArchStdEvent refers to lies beside the mapfile.csv, in this folder or one above it. */
static int load_standard(struct vendor_events *v, const char *path, struct error *e)
{
	char *above = realpath(path, NULL);
	int err = 0;

	for (int level = 0; above && level < 4; level++) {
		char *slash = strrchr(above, '/');

		if (!slash || slash == above)
			break;
		*slash = '\0';
		if (has_map(above)) {
			err = load_dir(v, above, true, e);
			break;
		}
	}
	free(above);
	return err;
}

static bool refers(const struct vendor_events *v)
{
	for (size_t i = 0; i < v->n_events; i++)
		if (field(v->event[i], "ArchStdEvent"))
			return true;
	return false;
}

static int load_path(struct vendor_events *v, const char *path, const char *cpuid, struct error *e)
{
	char dir[4096];
	DIR *d = opendir(path);
	size_t before = v->n_events;
	int err;

	if (!d) {
		if (errno != ENOTDIR)
			return error_sys(e, errno, "%s", path);
		err = load_file(v, path, false, e);
	} else {
		closedir(d);
		if (has_map(path)) {
			err = look_up(path, cpuid, dir, sizeof(dir), e);
			path = dir;
			if (err)
				return err;
		}
		err = load_dir(v, path, false, e);
	}
	if (!err && v->n_events == before)
		return error_set(e, EINVAL, "%s: no object there has an EventName", path);
	return err || !refers(v) ? err : load_standard(v, path, e);
}

int vendor_events_load(struct vendor_events **out, const char *path, const char *cpuid, struct error *e)
{
	struct vendor_events *v = *out ? *out : calloc(1, sizeof(*v));
	size_t n_events;
	int err;

	if (!v)
		return no_memory(e);
	n_events = v->n_events;
	err = load_path(v, path, cpuid, e);
	if (!err) {
		*out = v;
	} else if (!*out) {
		vendor_events_free(v);
	} else {
		/* The files stay: standard events may refer to them. */
		v->n_events = n_events;
	}
	return err;
}

/* ---- events ---- */

const char *vendor_events_pmu(const char *unit, char *text, size_t size)
{
	/* Where the name of the PMU is not "uncore_" and the unit. */
	static const struct {
		const char *unit, *pmu;
	} pmus[] = {
		{ "CBO", "uncore_cbox" },
		{ "QPI LL", "uncore_qpi" },
		{ "SBO", "uncore_sbox" },
		{ "iMPH-U", "uncore_arb" },
		{ "NCU", "uncore_clock" },
		{ "UPI LL", "uncore_upi" },
		{ "CPU-M-CF", "cpum_cf" },
		{ "CPU-M-SF", "cpum_sf" },
		{ "PAI-CRYPTO", "pai_crypto" },
		{ "PAI-EXT", "pai_ext" },
		{ "hisi_sicl,cpa", "hisi_sicl,cpa" },
		{ "hisi_sccl,ddrc", "hisi_sccl,ddrc" },
		{ "hisi_sccl,hha", "hisi_sccl,hha" },
		{ "hisi_sccl,l3c", "hisi_sccl,l3c" },
		{ "imx8_ddr", "imx8_ddr" },
		{ "imx9_ddr", "imx9_ddr" },
		{ "L3PMC", "amd_l3" },
		{ "DFPMC", "amd_df" },
		{ "UMCPMC", "amd_umc" },
		{ "cpu_core", "cpu_core" },
		{ "cpu_atom", "cpu_atom" },
		{ "ali_drw", "ali_drw" },
		{ "arm_cmn", "arm_cmn" },
		{ "software", "software" },
		{ "tool", "tool" },
	};
	size_t n;

	if (!unit || !strcasecmp(unit, "core") || !strcmp(unit, "default_core"))
		return NULL;
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++)
		if (!strcmp(unit, pmus[i].unit))
			return pmus[i].pmu;
	n = (size_t)snprintf(text, size, "uncore_%s", unit);
	for (size_t i = 0; i < n && i + 1 < size; i++)
		text[i] = (char)tolower((unsigned char)text[i]);
	return text;
}

/* Counters of Intel cores that have a place of their own: the codes in the files are not what the kernel takes. */
static const struct {
	const char *name, *text;
} fixed[] = {
	{ "inst_retired.any", "event=0xc0" },
	{ "inst_retired.any_p", "event=0xc0" },
	{ "cpu_clk_unhalted.ref", "event=0x0,umask=0x03" },
	{ "cpu_clk_unhalted.thread", "event=0x3c" },
	{ "cpu_clk_unhalted.core", "event=0x3c" },
	{ "cpu_clk_unhalted.thread_any", "event=0x3c,any=1" },
};

static const struct {
	const char *key, *term;
} terms[] = {
	{ "AnyThread", "any" },       { "PortMask", "ch_mask" },    { "CounterMask", "cmask" },
	{ "EdgeDetect", "edge" },     { "FCMask", "fc_mask" },      { "Invert", "inv" },
	{ "NodeType", "type" },       { "RdWrMask", "rdwrmask" },   { "EnAllCores", "enallcores" },
	{ "EnAllSlices", "enallslices" }, { "SliceId", "sliceid" }, { "ThreadMask", "threadmask" },
};

/* The register beside the event's own that holds more of it. NULL: not known. */
static const char *msr_term(uint64_t index)
{
	switch (index) {
	case 0x1a6:
	case 0x1a7:
	case 0x3e0:
	case 0x3e1:
	case 0x3e2:
	case 0x3e3:
		return "offcore_rsp";
	case 0x3f6:
		return "ldlat";
	case 0x3f7:
		return "frontend";
	default:
		return NULL;
	}
}

/* The event's code as terms of its PMU. NULL, or why it cannot be said. */
static const char *event_text(const struct json *object, struct buf *out)
{
	uint64_t code = 0, more = 0, mask = 0, msr = 0;
	const char *filter = field(object, "Filter");

	if (number(object, "LegacyConfigCode", &code)) {
		buf_printf(out, "legacy-hardware-config=0x%llx", (unsigned long long)code);
		return NULL;
	}
	if (number(object, "LegacyCacheCode", &code)) {
		buf_printf(out, "legacy-cache-config=0x%llx", (unsigned long long)code);
		return NULL;
	}
	if (number(object, "ConfigCode", &code)) {
		buf_printf(out, "config=0x%llx", (unsigned long long)code);
	} else if (number(object, "EventidCode", &code)) {
		buf_printf(out, "eventid=0x%llx", (unsigned long long)code);
	} else {
		if (json_get(object, "EventCode") && !number(object, "EventCode", &code))
			return "its EventCode is no number";
		if (number(object, "ExtSel", &more))
			code |= more << 8;
		buf_printf(out, "event=0x%llx", (unsigned long long)code);
	}
	if (json_get(object, "UMask") && !number(object, "UMask", &mask))
		return "its UMask is no number";
	if (number(object, "UMaskExt", &more))
		mask |= more << 8;
	if (mask)
		buf_printf(out, ",umask=0x%llx", (unsigned long long)mask);
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (number(object, terms[i].key, &more) && more)
			buf_printf(out, ",%s=0x%llx", terms[i].term, (unsigned long long)more);
	if (filter)
		buf_printf(out, ",%s", filter);
	if (number(object, "MSRIndex", &msr) && msr) {
		if (!msr_term(msr))
			return "its MSRIndex is a register that the kernel has no term for";
		more = 0;
		number(object, "MSRValue", &more);
		buf_printf(out, ",%s=0x%llx", msr_term(msr), (unsigned long long)more);
	}
	return NULL;
}

/* "64Bytes" to "64" and "Bytes". */
static size_t scale_length(const char *s)
{
	size_t n = strspn(s, "0123456789."), e;

	if (n && (s[n] == 'e' || s[n] == 'E')) {
		e = n + 1 + (s[n + 1] == '-' || s[n + 1] == '+');
		if (isdigit((unsigned char)s[e]))
			n = e + strspn(s + e, "0123456789");
	}
	return n;
}

/* What one object says, with what the standard event that it refers to says. */
struct merged {
	const struct json *own, *standard;
};

static const char *either(const struct merged *m, const char *key)
{
	const char *own = field(m->own, key);

	return own || !m->standard ? own : field(m->standard, key);
}

static bool flag(const struct merged *m, const char *key)
{
	uint64_t v = 0;

	return (number(m->own, key, &v) || (m->standard && number(m->standard, key, &v))) && v;
}

static bool is_for(const struct merged *m, const struct event_pmu *pmu)
{
	const char *compat = field(m->own, "Compat");
	char text[256];
	const char *pattern = vendor_events_pmu(either(m, "Unit"), text, sizeof(text));

	if (pattern ? !event_pmu_matches(pattern, pmu->name) : !pmu->core)
		return false;
	return !compat || (pmu->identifier && matches(compat, strlen(compat), pmu->identifier));
}

static void alias_release(struct event_alias *a)
{
	free(a->name);
	free(a->text);
	free(a->scale);
	free(a->unit);
	free(a->help);
}

static int fill_alias(struct event_alias *a, const struct merged *m, const char *name, const char *text)
{
	const char *scale = either(m, "ScaleUnit"), *help = either(m, "BriefDescription");
	size_t len = scale ? scale_length(scale) : 0;
	bool failed;

	*a = (struct event_alias){ .name = strdup(name),
		                   .text = strdup(text),
		                   .per_pkg = flag(m, "PerPkg"),
		                   .deprecated = flag(m, "Deprecated"),
		                   .vendor = true };
	failed = !a->name || !a->text;
	if (len)
		failed |= !(a->scale = strndup(scale, len));
	if (scale && scale[len])
		failed |= !(a->unit = strdup(scale + len));
	if (help || (help = either(m, "PublicDescription")))
		failed |= !(a->help = strdup(help));
	if (!failed)
		return 0;
	alias_release(a);
	return -ENOMEM;
}

static int add_alias(struct event_pmu *pmu, const struct merged *m, const char *name, const char *text)
{
	struct event_alias *bigger, a;
	size_t cap = 16;
	int err = fill_alias(&a, m, name, text);

	for (size_t i = 0; !err && i < pmu->n_aliases; i++)
		if (!strcasecmp(pmu->alias[i].name, name)) {
			alias_release(&pmu->alias[i]);
			pmu->alias[i] = a;
			return 0;
		}
	if (err)
		return err;
	/* The kernel's own came in an array without room; most calls ask for the size that it has. */
	while (cap <= pmu->n_aliases)
		cap *= 2;
	bigger = realloc(pmu->alias, cap * sizeof(*bigger));
	if (!bigger) {
		alias_release(&a);
		return -ENOMEM;
	}
	pmu->alias = bigger;
	pmu->alias[pmu->n_aliases++] = a;
	return 0;
}

static void note(struct buf *notes, unsigned *n, const char *name, const char *why)
{
	if (++*n <= MAX_NOTES)
		buf_printf(notes, "vendor event %.100s is left out: %s\n", name, why);
}

/* A word of the event language, so that it can be asked for. */
static bool is_name(const char *name)
{
	return name[0] != '.' && name[0] != '-' && name[0] &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-")] == '\0';
}

/* Finds name and text of one event. NULL, or why it has none; "" for a metric, which is not expected to have one. */
static const char *describe(const struct vendor_events *v, struct merged *m, char *name, size_t size, struct buf *text)
{
	const char *standard = field(m->own, "ArchStdEvent"), *wrong = NULL;
	struct event_term *parsed;
	struct error e = { 0 };
	char key[256];
	uint32_t at;
	int n;

	if (standard) {
		if (lower(key, sizeof(key), standard) || !names_get(&v->standard, key, &at))
			return "the file with its ArchStdEvent is missing (name perf's folder of the architecture)";
		m->standard = v->standard_event[at];
	}
	if (!either(m, "EventName") && either(m, "MetricName"))
		return "";
	if (!either(m, "EventName") || lower(name, size, either(m, "EventName")) || !is_name(name))
		return "its name cannot be written in a list of events";
	buf_clear(text);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!strcmp(name, fixed[i].name))
			buf_addstr(text, fixed[i].text);
	if (!text->len)
		wrong = event_text(m->standard ? m->standard : m->own, text);
	if (wrong)
		return wrong;
	n = event_terms_parse(&parsed, buf_str(text), &e);
	if (n < 0)
		return "its Filter is not of the form that PMUs take";
	event_terms_free(parsed, (size_t)n);
	return NULL;
}

int vendor_events_apply(struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes)
{
	struct buf text = BUF_INIT;
	unsigned left_out = 0;
	int added = 0, err = 0;

	for (size_t i = 0; v && i < v->n_events && !err; i++) {
		struct merged m = { .own = v->event[i] };
		char name[256] = "";
		const char *wrong = describe(v, &m, name, sizeof(name), &text);

		if (wrong && !*wrong)
			continue;
		if (wrong) {
			note(notes, &left_out, either(&m, "EventName") ? either(&m, "EventName")
								       : field(m.own, "ArchStdEvent"), wrong);
			continue;
		}
		for (size_t k = 0; k < n_pmus && !err; k++) {
			if (!is_for(&m, &pmu[k]))
				continue;
			err = add_alias(&pmu[k], &m, name, buf_str(&text));
			added += !err;
		}
	}
	if (left_out > MAX_NOTES)
		buf_printf(notes, "and %u more vendor events\n", left_out - MAX_NOTES);
	err = err ? err : text.err;
	buf_release(&text);
	return err ? err : added;
}
