/* What tables of options do by themselves: flags, texts, lists and words go where their row says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/options_table.h"
#include "common/parse.h"

#define KEY_FIRST 0x200 /* of rows without a letter */

error_t options_append(char ***list, char *text)
{
	char **grown;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	grown = realloc(*list, (n + 2) * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	grown[n] = text;
	grown[n + 1] = NULL;
	*list = grown;
	return 0;
}

error_t options_word(const char *option, const char *arg, const char *const *words, unsigned *place,
		     struct argp_state *state)
{
	struct buf all = BUF_INIT;
	const char *near;
	error_t err;

	for (unsigned i = 0; words[i]; i++)
		if (!strcmp(words[i], arg)) {
			*place = i;
			return 0;
		}
	near = options_nearest(arg, words, SIZE_MAX);
	if (near && *near)
		return options_bad(state, "--%s: there is no '%s'; did you mean '%s'?", option, arg, near);
	for (unsigned i = 0; words[i]; i++)
		if (*words[i])
			buf_printf(&all, "%s%s", all.len ? ", " : "", words[i]);
	err = options_bad(state, "--%s: there is no '%s'; there are %s", option, arg, buf_str(&all));
	buf_release(&all);
	return err;
}

static error_t take_amount(const struct option_action *a, void *member, const char *arg, struct argp_state *state)
{
	uint64_t n;

	if (parse_u64(arg, &n) || n < a->least || n > a->most)
		return a->most < UINT32_MAX ?
			       options_bad(state, "--%s: '%s' is not a number from %llu to %llu", a->name, arg,
					   (unsigned long long)a->least, (unsigned long long)a->most) :
			       options_bad(state, "--%s: '%s' is not a number%s", a->name, arg,
					   a->least ? " above 0" : "");
	if (a->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

static error_t take_read(const struct option_action *a, void *member, const char *arg, struct argp_state *state)
{
	struct error e = { 0 };

	return a->read(member, arg, &e) ? options_bad(state, "--%s: %s", a->name, e.text) : 0;
}

static error_t take(const struct option_action *a, void *into, char *arg, struct argp_state *state)
{
	char *member = (char *)into + a->at;
	unsigned place = 0;
	error_t err;

	switch (a->kind) {
	case OPTION_NOTHING:
		return 0;
	case OPTION_FLAG:
	case OPTION_CLEAR:
		*(bool *)member = a->kind == OPTION_FLAG;
		return 0;
	case OPTION_COUNT:
		++*(unsigned *)member;
		return 0;
	case OPTION_TEXT:
		err = a->words ? options_word(a->name, arg, a->words, &place, state) : 0;
		if (!err)
			*(char **)member = arg;
		return err;
	case OPTION_LIST:
		return options_append((char ***)member, arg);
	case OPTION_WORD:
		return options_word(a->name, arg, a->words, (unsigned *)member, state);
	case OPTION_NUMBER:
		*(unsigned *)member = a->number;
		return 0;
	case OPTION_BITS:
		*(unsigned *)member |= a->number;
		return 0;
	case OPTION_AMOUNT:
		return take_amount(a, member, arg, state);
	case OPTION_TIME:
		return parse_duration(arg, (uint64_t *)(void *)member) || *(uint64_t *)(void *)member < a->least ||
				       *(uint64_t *)(void *)member > INT64_MAX / 4 ?
			       options_bad(state, "--%s: '%s' is not a time: use seconds, or add ms, m or h", a->name,
					   arg) :
			       0;
	case OPTION_SIZE:
		return parse_size(arg, (uint64_t *)(void *)member) || !*(uint64_t *)(void *)member ?
			       options_bad(state, "--%s: '%s' is not a size such as 10M or 512Ki", a->name, arg) :
			       0;
	case OPTION_READ:
		return take_read(a, member, arg, state);
	case OPTION_CALL:
		return a->set(into, arg, state);
	}
	return ARGP_ERR_UNKNOWN;
}

error_t options_take(const struct option_action *action, size_t n, void *into, int key, char *arg,
		     struct argp_state *state)
{
	for (size_t i = 0; i < n; i++)
		if (action[i].key == key)
			return take(&action[i], into, arg, state);
	return ARGP_ERR_UNKNOWN;
}

/* ---- rows ---- */

static size_t count(const struct option_action *row)
{
	size_t n = 0;

	while (row[n].name || row[n].help)
		n++;
	return n;
}

struct argp_option *options_of_rows(const struct option_action *row)
{
	size_t n = count(row);
	struct argp_option *all = calloc(n + 1, sizeof(*all));

	for (size_t i = 0; all && i < n; i++)
		all[i] = (struct argp_option){
			.name = row[i].name,
			.key = !row[i].name || !row[i].help ? 0 :
			       row[i].key                   ? row[i].key :
							      KEY_FIRST + (int)i,
			.arg = row[i].argument,
			.flags = row[i].help ? 0 : OPTION_ALIAS | OPTION_HIDDEN,
			.doc = row[i].help,
		};
	return all;
}

error_t options_take_row(const struct option_action *row, void *into, int key, char *arg, struct argp_state *state)
{
	size_t n = count(row), i = 0;

	if (key >= KEY_FIRST && (size_t)(key - KEY_FIRST) < n)
		return take(&row[key - KEY_FIRST], into, arg, state);
	while (i < n && (!row[i].help || row[i].key != key))
		i++;
	return i < n && key ? take(&row[i], into, arg, state) : ARGP_ERR_UNKNOWN;
}
