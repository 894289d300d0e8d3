#include "common/add.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/options.h"
#include "common/parse.h"

/* Also the recording's words. */
static const char *const scopes[] = { "cpu", "core", "package" };
static const char *const formats[] = { "delta", "raw", "percent", "average" };
static const char *const types[] = { "cycles", "seconds", "usec" };
static const char *const words[] = { "cpu",     "core",    "package", "u32",     "u64",  "raw", "delta",
				     "percent", "average", "cycles",  "seconds", "usec", NULL };

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))

static int index_of(const char *const *list, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i], word))
			return i;
	return -1;
}

static int set_name(struct add *a, const char *word, struct error *e)
{
	if (a->name[0])
		return error_set(e, EINVAL, "two names, '%.40s' and '%.40s'", a->name, word);
	if (!*word || strlen(word) >= sizeof(a->name))
		return error_set(e, EINVAL, "a name has 1 to %d characters", ADD_NAME_MAX - 1);
	for (const char *c = word; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return error_set(e, EINVAL, "the name '%.40s' contains a blank", word);
	strcpy(a->name, word);
	return 0;
}

static int set_location(struct add *a, enum add_location location, const char *text, struct error *e)
{
	if (a->location != ADD_NOWHERE)
		return error_set(e, EINVAL, "two locations; use one --add per counter");
	a->location = location;
	a->text = text ? memory_text(text) : NULL;
	return 0;
}

static int take_msr(struct add *a, const char *word, struct error *e)
{
	uint64_t address;

	if (parse_u64(word + 3, &address) || address > UINT32_MAX)
		return error_set(e, EINVAL, "'%.40s' is not a register; write msr0x199 or msr409", word);
	a->address = (uint32_t)address;
	return set_location(a, ADD_MSR, NULL, e);
}

static int take_word(struct add *a, const char *word, struct error *e)
{
	const char *near;
	int i;

	if (!strncmp(word, "msr", 3) && word[3] >= '0' && word[3] <= '9')
		return take_msr(a, word, e);
	if (word[0] == '/')
		return set_location(a, ADD_PATH, word, e);
	if ((i = index_of(scopes, N(scopes), word)) >= 0) {
		a->scope = (enum add_scope)i;
	} else if ((i = index_of(formats, N(formats), word)) >= 0) {
		a->format = (enum add_format)i;
	} else if ((i = index_of(types, N(types), word)) >= 0) {
		a->type = types[i];
	} else if (!strcmp(word, "u32") || !strcmp(word, "u64")) {
		a->width = word[1] == '3' ? 32 : 64;
	} else if (!strncmp(word, "name=", 5)) {
		return set_name(a, word + 5, e);
	} else {
		/* Names are free, so only what resembles a word of this language counts as a misspelling. */
		near = strspn(word, "abcdefghijklmnopqrstuvwxyz") == strlen(word) && strlen(word) > 3 ?
			       options_nearest(word, words, SIZE_MAX) :
			       NULL;
		if (near)
			return error_set(
				e, EINVAL,
				"'%.40s' is not an attribute; did you mean '%s'? If it is a name, write name=%.40s",
				word, near, word);
		return set_name(a, word, e);
	}
	return 0;
}

/* The head that turbostat gives such columns. */
static void default_name(struct add *a)
{
	const char *last = a->text ? strrchr(a->text, '/') : NULL;

	if (a->name[0])
		return;
	if (a->location == ADD_MSR)
		snprintf(a->name, sizeof(a->name), a->width == 32 ? "M0x%x%s" : "M0X%x%s", a->address,
			 a->format == ADD_PERCENT ? "%" : "");
	else
		snprintf(a->name, sizeof(a->name), "%.60s", last ? last + 1 : a->text);
}

static int take_all(struct add *a, char *text, struct error *e)
{
	char *save = NULL;
	int err = 0;

	for (char *w = strtok_r(text, ",", &save); w && !err; w = strtok_r(NULL, ",", &save))
		err = take_word(a, w, e);
	if (!err && a->location == ADD_NOWHERE)
		err = error_set(e, EINVAL, "no location: msr0xHEX, msrDECIMAL or /path");
	return err;
}

int add_parse(struct add *a, const char *text, struct error *e)
{
	SCOPED(scoped_free) char *copy = memory_text(text);

	*a = (struct add){ .width = 64, .asked = text };
	if (take_all(a, copy, e)) {
		add_release(a);
		return error_prefix(e, "--add %.80s", text);
	}
	default_name(a);
	return 0;
}

void add_release(struct add *a)
{
	free(a->text);
	*a = (struct add){ 0 };
}

const char *add_scope_word(enum add_scope scope)
{
	return scopes[scope];
}

const char *add_format_word(enum add_format format)
{
	return formats[format];
}

const char *add_per_cpu(const char *path)
{
	const char *at = path + strlen(ADD_CPU_FILES);
	size_t digits;

	if (strncmp(path, ADD_CPU_FILES, strlen(ADD_CPU_FILES)))
		return NULL;
	digits = *at == '*' ? 1 : strspn(at, "0123456789");
	return digits && at[digits] == '/' ? at + digits + 1 : NULL;
}
