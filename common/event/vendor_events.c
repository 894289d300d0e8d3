/* Lines of packed events, and which PMUs they are for. */
#include "common/event/vendor_events.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/memory.h"
#include "common/names.h"
#include "common/parse.h"

#define MAX_REGEX 256 /* characters; matching a longer one could take very long */

struct vendor_events {
	struct packed {
		char *rows; /* owned */
		bool given;
	} * packed; /* owned */
	size_t n;
	struct names words; /* none: all that is packed is wanted */
	struct buf notes;
};

void vendor_events_free(struct vendor_events *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++)
		free(v->packed[i].rows);
	names_release(&v->words);
	buf_release(&v->notes);
	free(v->packed);
	free(v);
}

/* ---- which CPU or PMU is meant ---- */

/* Compares all of the text with the pattern, which `rest` may follow. -EINVAL: it is no pattern. */
static int match(const char *pattern, const char *rest, const char *text)
{
	char whole[MAX_REGEX + 32];
	regex_t re;
	bool yes;

	if (strlen(pattern) > MAX_REGEX)
		return -EINVAL;
	snprintf(whole, sizeof(whole), "^(%s)%s$", pattern, rest);
	if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB))
		return -EINVAL;
	yes = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return yes;
}

bool vendor_is_pattern(const char *pattern)
{
	for (const char *c = pattern; *c; c++)
		if (iscntrl((unsigned char)*c))
			return false;
	return match(pattern, "", "") >= 0;
}

bool vendor_matches(const char *pattern, const char *text)
{
	return match(pattern, "", text) > 0;
}

bool vendor_is_cpu(const char *pattern, const char *cpuid)
{
	const uint64_t variant_revision = 0xf0000f;
	uint64_t midr, least;

	if (!strncmp(cpuid, "0x", 2) && !parse_u64(cpuid, &midr) && !parse_u64(pattern, &least))
		return !((midr ^ least) & ~variant_revision) &&
		       (midr & variant_revision) >= (least & variant_revision);
	return match(pattern, "(-[^-]*)?", cpuid) > 0;
}

const char *vendor_events_pmu(const char *unit, char *text, size_t size)
{
	/* Units whose PMU is not called "uncore_" plus the unit. */
	static const struct {
		const char *unit, *pmu;
	} pmus[] = {
		{ "CBO", "uncore_cbox" },   { "QPI LL", "uncore_qpi" }, { "SBO", "uncore_sbox" },
		{ "iMPH-U", "uncore_arb" }, { "NCU", "uncore_clock" },  { "UPI LL", "uncore_upi" },
		{ "CPU-M-CF", "cpum_cf" },  { "CPU-M-SF", "cpum_sf" },  { "PAI-CRYPTO", "pai_crypto" },
		{ "PAI-EXT", "pai_ext" },   { "L3PMC", "amd_l3" },      { "DFPMC", "amd_df" },
		{ "UMCPMC", "amd_umc" },
	};
	static const char same[] =
		"hisi_sicl,cpa hisi_sccl,ddrc hisi_sccl,hha hisi_sccl,l3c imx8_ddr imx9_ddr cpu_core "
		"cpu_atom cpu_lowpower ali_drw arm_cmn software tool";
	size_t n;

	if (!unit || !strcasecmp(unit, "core") || !strcmp(unit, "default_core"))
		return NULL;
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++)
		if (!strcmp(unit, pmus[i].unit))
			return pmus[i].pmu;
	if (parse_is_among(same, unit, strlen(unit)))
		return unit;
	n = (size_t)snprintf(text, size, "uncore_%s", unit);
	for (size_t i = 0; i < n && i + 1 < size; i++)
		text[i] = (char)tolower((unsigned char)text[i]);
	return text;
}

/* One event. */
struct row {
	const char *name, *unit, *compat, *flags, *text, *scale, *measure, *help; /* NULL: none */
	bool given;
};

static bool is_for(const struct row *r, const char *pattern, const struct event_pmu *pmu)
{
	if (pattern ? !event_pmu_matches(pattern, pmu->name) : !pmu->core)
		return false;
	return !r->compat || (pmu->identifier && vendor_matches(r->compat, pmu->identifier));
}

/* ---- adding to PMUs ---- */

/* Adds the event, or replaces that of the same name. */
static void add_alias(struct event_pmu *pmu, const struct row *r)
{
	struct event_alias a = { .name = memory_text(r->name),
				 .text = memory_text(r->text),
				 .scale = r->scale ? memory_text(r->scale) : NULL,
				 .unit = r->measure ? memory_text(r->measure) : NULL,
				 .help = r->help ? memory_text(r->help) : NULL,
				 .per_pkg = r->flags && strchr(r->flags, 'p'),
				 .deprecated = r->flags && strchr(r->flags, 'd'),
				 .vendor = true,
				 .given = r->given };
	size_t i = 0, cap = 16;

	while (i < pmu->n_aliases && strcasecmp(pmu->alias[i].name, r->name) != 0)
		i++;
	if (i < pmu->n_aliases) {
		event_alias_release(&pmu->alias[i]);
		pmu->alias[i] = a;
		return;
	}
	/* The kernel's own aliases came in an array of exact size; most calls only ask for the size. */
	while (cap <= pmu->n_aliases)
		cap *= 2;
	pmu->alias = memory_resize(pmu->alias, cap, sizeof(*pmu->alias));
	pmu->alias[pmu->n_aliases++] = a;
}

static int apply_row(const struct row *r, struct event_pmu *pmu, size_t n_pmus)
{
	char text[256];
	const char *pattern = vendor_events_pmu(r->unit, text, sizeof(text));
	int added = 0;

	for (size_t k = 0; k < n_pmus; k++)
		if (is_for(r, pattern, &pmu[k])) {
			add_alias(&pmu[k], r);
			added++;
		}
	return added;
}

/* A pack is made by a program but read from a file: missing fields of a line are empty. */
static bool split(char *line, struct row *r)
{
	const char **field[] = {
		&r->name, &r->unit, &r->compat, &r->flags, &r->text, &r->scale, &r->measure, &r->help
	};

	for (size_t k = 0; k < sizeof(field) / sizeof(field[0]); k++) {
		const char *text = line ? strsep(&line, "\t") : NULL;

		*field[k] = text && *text ? text : NULL;
	}
	return r->name && r->text;
}

static int apply(const struct vendor_events *v, const struct packed *p, struct event_pmu *pmu, size_t n_pmus)
{
	uint32_t unused;
	size_t len;
	int added = 0;

	for (const char *at = p->rows; *at; at += len + (at[len] == '\n')) {
		SCOPED(scoped_free) char *line = memory_format("%.*s", (int)(len = strcspn(at, "\n")), at);
		struct row r = { .given = p->given };

		if (split(line, &r) &&
		    (p->given || !v->words.n || strchr(r.name, '-') || names_get(&v->words, r.name, &unused)))
			added += apply_row(&r, pmu, n_pmus);
	}
	return added;
}

int vendor_events_apply(const struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes)
{
	int added = 0;

	for (size_t i = 0; v && i < v->n; i++)
		added += apply(v, &v->packed[i], pmu, n_pmus);
	if (v)
		buf_add(notes, v->notes.data, v->notes.len);
	return added;
}

/* ---- what there is ---- */

void vendor_events_unpack(struct vendor_events **out, char *rows, const struct buf *notes)
{
	struct vendor_events *v = *out ? *out : memory_new(1, sizeof(*v));

	memory_room(&v->packed, v->n, sizeof(*v->packed));
	*out = v;
	v->packed[v->n++] = (struct packed){ rows, notes != NULL };
	if (notes)
		buf_add(&v->notes, notes->data, notes->len);
}

void vendor_events_words(struct vendor_events *v, const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
	SCOPED(scoped_free) char *all = memory_text(text);
	size_t n;

	for (char *c = all; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (char *at = all; *at; at += n + 1) {
		bool last = !at[n = strspn(at, letters)];

		at[n] = '\0';
		if (n)
			memory_done(names_set(&v->words, at, 1));
		if (last)
			return;
	}
}
