/* All names that a command's options have on its command line. */
#include "common/options_known.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/array.h"

int known_add(struct known_options *all, const struct option_row *row, void *into)
{
	const struct option_row *option = row;

	for (; row->name || row->letter || row->help; row++) {
		if (!row->name && !row->letter)
			continue;
		if (row->help)
			option = row;
		if (array_room(&all->known, all->n, sizeof(*all->known)))
			return -ENOMEM;
		all->known[all->n++] = (struct known){ row, option, into };
	}
	return 0;
}

bool option_name_begins(const char *name, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char a = name[i] == '_' ? '-' : name[i];
		char b = text[i] == '_' ? '-' : text[i];

		if (!a || a != b)
			return false;
	}
	return true;
}

bool option_name_is(const char *name, const char *text, size_t len)
{
	return option_name_begins(name, text, len) && !name[len];
}

static const struct known *known_exact(const struct known_options *all, const char *text, size_t len)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->known[i].row->name && option_name_is(all->known[i].row->name, text, len))
			return &all->known[i];
	return NULL;
}

/* Finds names that begin with the text; several names of one option count once. `flags`: only options without value.
 */
static enum match known_abbreviated(const struct known_options *all, const char *text, size_t len, bool flags,
				    const struct known **found, const struct known **second)
{
	*found = NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct known *k = &all->known[i];

		if (!k->row->name || (flags && k->option->argument) || !option_name_begins(k->row->name, text, len))
			continue;
		if (*found && (*found)->option != k->option) {
			*second = k;
			return MATCH_MANY;
		}
		if (!*found)
			*found = k;
	}
	return *found ? MATCH_ONE : MATCH_NONE;
}

enum match known_find(const struct known_options *all, const char *text, size_t len, const struct known **found,
		      const struct known **second)
{
	bool no = len > 3 && option_name_begins("no-", text, 3);
	enum match m;

	*found = known_exact(all, text, len);
	if (*found)
		return MATCH_ONE;
	if (no) {
		*found = known_exact(all, text + 3, len - 3);
		if (*found && !(*found)->option->argument)
			return MATCH_NEGATED;
	}
	/* perf's options that begin with "no-" can be negated by dropping it. */
	for (size_t i = 0; i < all->n; i++) {
		const char *name = all->known[i].row->name;

		if (name && !all->known[i].option->argument && !strncmp(name, "no-", 3) &&
		    option_name_is(name + 3, text, len)) {
			*found = &all->known[i];
			return MATCH_NEGATED;
		}
	}
	m = known_abbreviated(all, text, len, false, found, second);
	if (m == MATCH_NONE && no) {
		m = known_abbreviated(all, text + 3, len - 3, true, found, second);
		if (m == MATCH_ONE)
			m = MATCH_NEGATED;
	}
	return m;
}

const struct known *known_letter(const struct known_options *all, enum options_column column, char letter,
				 struct error *why)
{
	const char *name = options_letter(letter, column);
	const struct known *k = name ? known_exact(all, name, strlen(name)) : NULL;

	for (size_t i = 0; i < all->n && !k && isalpha((unsigned char)letter); i++)
		if (all->known[i].row->letter == letter)
			k = &all->known[i];
	if (k)
		return k;
	if (name)
		error_set(why, EINVAL, "this version has no -%c (--%s)", letter, name);
	else
		options_letter_refuse(letter, column, why);
	return NULL;
}
