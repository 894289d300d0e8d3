/* Converts objects of vendor event files to terms of PMUs, with scale and unit. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/event/vendor_internal.h"
#include "common/array.h"
#include "common/parse.h"
#include "common/table.h"

#define MAX_NOTES 8

/* Reads a number, written as a number or as text ("0x3c", "60", or a list, of which the first counts). False: there
 * is none. */
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

const char *vendor_events_pmu(const char *unit, char *text, size_t size)
{
	/* Units whose PMU is not called "uncore_" plus the unit. */
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
		{ "cpu_lowpower", "cpu_lowpower" },
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

/* Intel's fixed counters: the codes in the files are not those that the kernel takes. */
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
	{ "AnyThread", "any" },           { "PortMask", "ch_mask" },  { "CounterMask", "cmask" },
	{ "EdgeDetect", "edge" },         { "FCMask", "fc_mask" },    { "Invert", "inv" },
	{ "NodeType", "type" },           { "RdWrMask", "rdwrmask" }, { "EnAllCores", "enallcores" },
	{ "EnAllSlices", "enallslices" }, { "SliceId", "sliceid" },   { "ThreadMask", "threadmask" },
};

/* The term for the additional register of an event. NULL: unknown. */
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

/* The filter settings of an event. A text without '=' names a register that can or must be set by the user. config1
 * of a cache slice consists of two registers, and the files give the value of the second one as if it were the first:
 * the kernel (uncore_snbep.c) expects that in the upper half. */
static const char *filter_text(const struct json *object, struct buf *out)
{
	const char *filter = vendor_field(object, "Filter"), *unit = vendor_field(object, "Unit");
	uint64_t value = 0;

	if (!filter)
		return NULL;
	if (!strcmp(filter, "Filter1") && number(object, "FILTER_VALUE", &value))
		buf_printf(out, ",config1=0x%llx", (unsigned long long)value << 32);
	else if (unit && !strcmp(unit, "CHA") && !strncmp(filter, "config1=", 8) &&
		 !((value = strtoull(filter + 8, NULL, 0)) >> 32))
		buf_printf(out, ",config1=0x%llx", (unsigned long long)value << 32);
	else if (strchr(filter, '='))
		buf_printf(out, ",%s", filter);
	else if (!strncmp(filter, "HA_", 3) || !strncmp(filter, "IRP", 3))
		return "its Filter is not of the form that PMUs take";
	return NULL;
}

/* Writes the event's code as terms of its PMU. Returns NULL, or why it cannot be expressed. */
static const char *event_text(const struct json *object, struct buf *out)
{
	uint64_t code = 0, more = 0, mask = 0, msr = 0;
	const char *wrong;

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
			return "its EventCode is not a number";
		if (number(object, "ExtSel", &more))
			code |= more << 8;
		buf_printf(out, "event=0x%llx", (unsigned long long)code);
	}
	if (json_get(object, "UMask") && !number(object, "UMask", &mask))
		return "its UMask is not a number";
	if (number(object, "UMaskExt", &more))
		mask |= more << 8;
	if (mask)
		buf_printf(out, ",umask=0x%llx", (unsigned long long)mask);
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (number(object, terms[i].key, &more) && more)
			buf_printf(out, ",%s=0x%llx", terms[i].term, (unsigned long long)more);
	wrong = filter_text(object, out);
	if (wrong)
		return wrong;
	if (number(object, "MSRIndex", &msr) && msr) {
		if (!msr_term(msr))
			return "the kernel has no term for the register of its MSRIndex";
		more = 0;
		number(object, "MSRValue", &more);
		buf_printf(out, ",%s=0x%llx", msr_term(msr), (unsigned long long)more);
	}
	return NULL;
}

/* Splits "64Bytes" into "64" and "Bytes". */
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

/* An object together with the standard event that it refers to. */
struct merged {
	const struct json *own, *standard;
};

static const char *either(const struct merged *m, const char *key)
{
	const char *own = vendor_field(m->own, key);

	return own || !m->standard ? own : vendor_field(m->standard, key);
}

static bool flag(const struct merged *m, const char *key)
{
	uint64_t v = 0;

	return (number(m->own, key, &v) || (m->standard && number(m->standard, key, &v))) && v;
}

/* One event, from a file or a pack. */
struct row {
	const char *name, *unit, *compat, *text, *scale, *measure, *help; /* NULL: none */
	bool per_pkg, deprecated, given;
};

static bool is_for(const struct row *r, const char *pattern, const struct event_pmu *pmu)
{
	if (pattern ? !event_pmu_matches(pattern, pmu->name) : !pmu->core)
		return false;
	return !r->compat || (pmu->identifier && vendor_matches(r->compat, strlen(r->compat), pmu->identifier));
}

static void alias_release(struct event_alias *a)
{
	free(a->name);
	free(a->text);
	free(a->scale);
	free(a->unit);
	free(a->help);
}

static char *copied(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

static int fill_alias(struct event_alias *a, const struct row *r)
{
	bool failed = false;

	*a = (struct event_alias){ .name = copied(r->name, &failed),
				   .text = copied(r->text, &failed),
				   .scale = copied(r->scale, &failed),
				   .unit = copied(r->measure, &failed),
				   .help = copied(r->help, &failed),
				   .per_pkg = r->per_pkg,
				   .deprecated = r->deprecated,
				   .vendor = true,
				   .given = r->given };
	if (!failed)
		return 0;
	alias_release(a);
	return -ENOMEM;
}

static int add_alias(struct event_pmu *pmu, const struct row *r)
{
	struct event_alias *bigger, a;
	size_t cap = 16;
	int err = fill_alias(&a, r);

	for (size_t i = 0; !err && i < pmu->n_aliases; i++)
		if (!strcasecmp(pmu->alias[i].name, r->name)) {
			alias_release(&pmu->alias[i]);
			pmu->alias[i] = a;
			return 0;
		}
	if (err)
		return err;
	/* The kernel's own aliases came in an array of exact size; most calls only ask for the size. */
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
	if (++*n > MAX_NOTES)
		return;
	buf_addstr(notes, "vendor event ");
	text_escape(notes, name, strnlen(name, 100));
	buf_printf(notes, " left out: %s\n", why);
}

/* Whether the name can be requested as a word of the event language. */
static bool is_name(const char *name)
{
	return name[0] != '.' && name[0] != '-' && name[0] &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-")] == '\0';
}

/* perfmon's OFFCORE_RESPONSE:request=A:response=B is OFFCORE_RESPONSE.A.B in the kernel's files. */
static void plain_name(char *name)
{
	static const char request[] = ":request=", response[] = ":response=";
	char *a = strstr(name, request), *b = a ? strstr(a, response) : NULL;

	if (!b)
		return;
	*a = *b = '.';
	memmove(b + 1, b + sizeof(response) - 1, strlen(b + sizeof(response) - 1) + 1);
	memmove(a + 1, a + sizeof(request) - 1, strlen(a + sizeof(request) - 1) + 1);
}

/* Fills in name and text of one event. Returns NULL, or why it has none; "" for a metric, which needs none. */
static const char *describe(const struct vendor_events *v, struct merged *m, char *name, size_t size,
			    struct buf *text)
{
	const char *standard = vendor_field(m->own, "ArchStdEvent"), *wrong = NULL;
	struct event_term *parsed;
	struct error e = { 0 };
	char key[256];
	uint32_t at;
	int n;

	if (standard) {
		if (vendor_lower(key, sizeof(key), standard) || !names_get(&v->standard, key, &at))
			return "the file with its ArchStdEvent is missing (name perf's directory of the "
			       "architecture)";
		m->standard = v->standard_event[at];
	}
	if (!either(m, "EventName") && either(m, "MetricName"))
		return "";
	if (!either(m, "EventName") || vendor_lower(name, size, either(m, "EventName")))
		return "its name cannot be used in a list of events";
	plain_name(name);
	if (!is_name(name))
		return "its name cannot be used in a list of events";
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

typedef int (*row_fn)(void *arg, const struct row *r);

static int each_object(struct vendor_events *v, row_fn visit, void *arg, struct buf *notes)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	unsigned left_out = 0;
	int err = 0;

	for (size_t i = 0; i < v->n_events && !err; i++) {
		struct merged m = { .own = v->event[i] };
		char name[256] = "", scale[40] = "";
		const char *wrong = describe(v, &m, name, sizeof(name), &text), *measure;

		if (wrong && !*wrong)
			continue;
		if (wrong) {
			note(notes, &left_out,
			     either(&m, "EventName") ? either(&m, "EventName") : vendor_field(m.own, "ArchStdEvent"),
			     wrong);
			continue;
		}
		measure = either(&m, "ScaleUnit");
		if (measure) {
			snprintf(scale, sizeof(scale), "%.*s", (int)scale_length(measure), measure);
			measure += scale_length(measure);
		}
		err = visit(arg,
			    &(struct row){ .name = name,
					   .unit = either(&m, "Unit"),
					   .compat = vendor_field(m.own, "Compat"),
					   .text = buf_str(&text),
					   .scale = scale[0] ? scale : NULL,
					   .measure = measure && *measure ? measure : NULL,
					   .help = either(&m, "BriefDescription") ? either(&m, "BriefDescription") :
										    either(&m, "PublicDescription"),
					   .per_pkg = flag(&m, "PerPkg"),
					   .deprecated = flag(&m, "Deprecated"),
					   .given = true });
	}
	if (left_out > MAX_NOTES)
		buf_printf(notes, "and %u more vendor events\n", left_out - MAX_NOTES);
	return err ? err : text.err;
}

/* A pack is made by a program but read from a file: missing fields of a line are empty. */
static int each_line(struct vendor_events *v, char *at, char *help, row_fn visit, void *arg)
{
	char *line, scratch[4096];
	uint32_t ignored;
	int err = 0;

	for (const char *end; *at && !err; at = (char *)(uintptr_t)end + (*end == '\n')) {
		const char *field[7];
		char *rest = scratch;

		end = at + strcspn(at, "\n");
		line = help;
		if (help) {
			help += strcspn(help, "\n");
			if (*help)
				*help++ = '\0';
		}
		if ((size_t)(end - at) >= sizeof(scratch))
			continue;
		memcpy(scratch, at, (size_t)(end - at));
		scratch[end - at] = '\0';
		for (size_t k = 0; k < sizeof(field) / sizeof(field[0]); k++) {
			field[k] = rest ? strsep(&rest, "\t") : NULL;
			field[k] = field[k] && *field[k] ? field[k] : NULL;
		}
		if (!field[0] || !field[4] ||
		    (v->words.n && !strchr(field[0], '-') && !names_get(&v->words, field[0], &ignored)))
			continue;
		err = visit(arg, &(struct row){ .name = field[0],
						.unit = field[1],
						.compat = field[2],
						.per_pkg = field[3] && strchr(field[3], 'p'),
						.deprecated = field[3] && strchr(field[3], 'd'),
						.text = field[4],
						.scale = field[5],
						.measure = field[6],
						.help = line && *line ? line : NULL });
	}
	return err;
}

static int each_row(struct vendor_events *v, row_fn visit, void *arg, struct buf *notes)
{
	int err = each_object(v, visit, arg, notes);

	for (size_t i = 0; i < v->n_packed && !err; i++) {
		SCOPED(scoped_free) char *help = v->packed[i].help;

		/* Lines are split in place, so they can be read only once. */
		v->packed[i].help = NULL;
		err = each_line(v, v->packed[i].rows, help, visit, arg);
	}
	return err;
}

struct applying {
	struct event_pmu *pmu;
	size_t n_pmus;
	int added;
};

static int apply(void *arg, const struct row *r)
{
	struct applying *a = arg;
	char text[256];
	const char *pattern = vendor_events_pmu(r->unit, text, sizeof(text));
	int err = 0;

	for (size_t k = 0; k < a->n_pmus && !err; k++) {
		if (!is_for(r, pattern, &a->pmu[k]))
			continue;
		err = add_alias(&a->pmu[k], r);
		a->added += !err;
	}
	return err;
}

int vendor_events_apply(struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes)
{
	struct applying a = { pmu, n_pmus, 0 };
	int err = v ? each_row(v, apply, &a, notes) : 0;

	return err ? err : a.added;
}

struct printing {
	struct buf *rows, *help;
	int n;
};

/* Adds one line, whatever the text contains. */
static void add_line(struct buf *to, const char *text)
{
	for (; text && *text; text++)
		buf_addch(to, *text == '\n' || *text == '\t' || *text == '\r' ? ' ' : *text);
}

static int print(void *arg, const struct row *r)
{
	struct printing *p = arg;
	const char *const field[] = { r->name,   r->unit,
				      r->compat, r->per_pkg ? r->deprecated ? "pd" : "p" : r->deprecated ? "d" : "",
				      r->text,   r->scale,
				      r->measure };

	for (size_t k = 0; k < sizeof(field) / sizeof(field[0]); k++) {
		if (k)
			buf_addch(p->rows, '\t');
		add_line(p->rows, field[k]);
	}
	buf_addch(p->rows, '\n');
	add_line(p->help, r->help);
	buf_addch(p->help, '\n');
	p->n++;
	return p->rows->err ? p->rows->err : p->help->err;
}

int vendor_events_print(struct vendor_events *v, struct buf *rows, struct buf *help, struct buf *notes)
{
	struct printing p = { rows, help, 0 };
	int err = v ? each_row(v, print, &p, notes) : 0;

	return err ? err : p.n;
}

int vendor_events_unpack(struct vendor_events **out, char *rows, char *help)
{
	struct vendor_events *v = *out ? *out : calloc(1, sizeof(*v));

	if (!v || array_room(&v->packed, v->n_packed, sizeof(*v->packed))) {
		if (!*out)
			free(v);
		free(rows);
		free(help);
		return -ENOMEM;
	}
	*out = v;
	v->packed[v->n_packed].rows = rows;
	v->packed[v->n_packed++].help = help;
	return 0;
}

int vendor_events_words(struct vendor_events *v, const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
	char word[256];
	size_t n = 0;
	int err = 0;

	for (; !err; text++) {
		char c = (char)tolower((unsigned char)*text);

		if (c && strchr(letters, c)) {
			if (n + 1 < sizeof(word))
				word[n++] = c;
			continue;
		}
		word[n] = '\0';
		err = n ? names_set(&v->words, word, 1) : 0;
		n = 0;
		if (!c)
			break;
	}
	return err;
}
