/* Converts the objects of vendors' files that are events to terms of PMUs, with scale and unit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/parse.h"
#include "common/table.h"
#include "common/vendor_docs.h"

#define MAX_NOTES 8

/* Reads a number, written as a number or as text ("0x3c", "60", or a list, of which the first counts). False: there
 * is none. */
static bool json_digits(const struct json *object, const char *key, uint64_t *value)
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
	const char *filter = json_text(json_get(object, "Filter"), NULL);
	const char *unit = json_text(json_get(object, "Unit"), NULL);
	uint64_t value = 0;

	if (!filter || !*filter)
		return NULL;
	if (!strcmp(filter, "Filter1") && json_digits(object, "FILTER_VALUE", &value))
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

	if (json_digits(object, "LegacyConfigCode", &code)) {
		buf_printf(out, "legacy-hardware-config=0x%llx", (unsigned long long)code);
		return NULL;
	}
	if (json_digits(object, "LegacyCacheCode", &code)) {
		buf_printf(out, "legacy-cache-config=0x%llx", (unsigned long long)code);
		return NULL;
	}
	if (json_digits(object, "ConfigCode", &code)) {
		buf_printf(out, "config=0x%llx", (unsigned long long)code);
	} else if (json_digits(object, "EventidCode", &code)) {
		buf_printf(out, "eventid=0x%llx", (unsigned long long)code);
	} else {
		if (json_get(object, "EventCode") && !json_digits(object, "EventCode", &code))
			return "its EventCode is not a number";
		if (json_digits(object, "ExtSel", &more))
			code |= more << 8;
		buf_printf(out, "event=0x%llx", (unsigned long long)code);
	}
	if (json_get(object, "UMask") && !json_digits(object, "UMask", &mask))
		return "its UMask is not a number";
	if (json_digits(object, "UMaskExt", &more))
		mask |= more << 8;
	if (mask)
		buf_printf(out, ",umask=0x%llx", (unsigned long long)mask);
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (json_digits(object, terms[i].key, &more) && more)
			buf_printf(out, ",%s=0x%llx", terms[i].term, (unsigned long long)more);
	wrong = filter_text(object, out);
	if (wrong)
		return wrong;
	if (json_digits(object, "MSRIndex", &msr) && msr) {
		if (!msr_term(msr))
			return "the kernel has no term for the register of its MSRIndex";
		more = 0;
		json_digits(object, "MSRValue", &more);
		buf_printf(out, ",%s=0x%llx", msr_term(msr), (unsigned long long)more);
	}
	return NULL;
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

/* Fills in name and text of one event. Returns NULL, or why it has none. */
static const char *describe_event(const struct vendor_object *o, char *name, size_t size, struct buf *text)
{
	struct event_term *parsed;
	struct error e = { 0 };
	const char *wrong = NULL;
	int n;

	if (vendor_field(o, "ArchStdEvent") && !o->standard)
		return "the file with its ArchStdEvent is missing (name perf's directory of the architecture)";
	if (!vendor_field(o, "EventName") || vendor_lower(name, size, vendor_field(o, "EventName")))
		return "its name cannot be used in a list of events";
	plain_name(name);
	if (!is_name(name))
		return "its name cannot be used in a list of events";
	buf_clear(text);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!strcmp(name, fixed[i].name))
			buf_addstr(text, fixed[i].text);
	if (!text->len)
		wrong = event_text(o->standard ? o->standard : o->own, text);
	if (wrong)
		return wrong;
	n = event_terms_parse(&parsed, buf_str(text), &e);
	if (n < 0)
		return "its Filter is not of the form that PMUs take";
	event_terms_free(parsed, (size_t)n);
	return NULL;
}

static bool flag(const struct vendor_object *o, const char *key)
{
	uint64_t v = 0;

	return (json_digits(o->own, key, &v) || json_digits(o->standard, key, &v)) && v;
}

/* Adds a field of a line, whatever the text contains. */
static void add_field(struct buf *to, const char *text, char end)
{
	for (; text && *text; text++)
		buf_addch(to, *text == '\n' || *text == '\t' || *text == '\r' ? ' ' : *text);
	buf_addch(to, end);
}

static void add_event_row(const struct vendor_object *o, const char *name, const char *text, bool help,
			  struct buf *rows)
{
	const char *measure = vendor_field(o, "ScaleUnit"), *said = vendor_field(o, "BriefDescription");
	size_t scale = measure ? parse_number_length(measure, "eE", "+-") : 0;

	add_field(rows, name, '\t');
	add_field(rows, vendor_field(o, "Unit"), '\t');
	add_field(rows, vendor_field(o, "Compat"), '\t');
	buf_printf(rows, "%s%s\t", flag(o, "PerPkg") ? "p" : "", flag(o, "Deprecated") ? "d" : "");
	add_field(rows, text, '\t');
	buf_add(rows, measure, scale);
	buf_addch(rows, '\t');
	add_field(rows, measure ? measure + scale : NULL, '\t');
	add_field(rows, !help ? NULL : said ? said : vendor_field(o, "PublicDescription"), '\n');
}

int vendor_events_convert(const struct vendor_docs *d, bool help, struct buf *rows, struct buf *notes)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	unsigned left_out = 0;
	int n = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct vendor_object o = vendor_docs_at(d, i);
		const char *wrong, *called = vendor_field(&o, "EventName");
		char name[256] = "";

		if (!called && (!vendor_field(&o, "ArchStdEvent") || vendor_field(&o, "MetricName")))
			continue;
		wrong = describe_event(&o, name, sizeof(name), &text);
		if (wrong)
			note(notes, &left_out, called ? called : vendor_field(&o, "ArchStdEvent"), wrong);
		else if (++n)
			add_event_row(&o, name, buf_str(&text), help, rows);
	}
	if (left_out > MAX_NOTES)
		buf_printf(notes, "and %u more vendor events\n", left_out - MAX_NOTES);
	memory_whole(rows);
	return n;
}

int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e)
{
	SCOPED(buf_release) struct buf rows = BUF_INIT, notes = BUF_INIT;
	SCOPED(vendor_docs_release) struct vendor_docs docs = { 0 };
	int err = vendor_docs_load(&docs, path, pmu, cpuid, e), n = 0;

	if (!err)
		n = vendor_events_convert(&docs, true, &rows, &notes);
	if (!err && !n && !notes.len)
		err = error_set(e, ENODATA, "%s: no object there has an EventName", path);
	if (!err)
		vendor_events_unpack(v, memory_checked(buf_detach(&rows)), &notes);
	return err;
}
