/* What tables of options do by themselves: flags, texts, lists and words go where their row says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/options_table.h"

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
