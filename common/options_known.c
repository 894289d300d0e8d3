/* What a command line may name: the options of a command under all their names. */
#include "common/array.h"
#include "common/options_known.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/options_table.h"

static int known_add(struct known_options *all, const struct argp_option *o, size_t same)
{
	if (array_room(&all->option, all->n, sizeof(*all->option)))
		return -ENOMEM;
	all->option[all->n] =
		(struct known){ .name = o->name, .key = o->key, .same = all->n, .hidden = o->flags & OPTION_HIDDEN };
	if (same != SIZE_MAX) {
		all->option[all->n].same = same;
		all->option[all->n].arg = all->option[same].arg;
		all->option[all->n].arg_name = all->option[same].arg_name;
	} else {
		all->option[all->n].doc = o->doc;
	}
	if (same == SIZE_MAX && o->arg) {
		all->option[all->n].arg = o->flags & OPTION_ARG_OPTIONAL ? ARG_OPTIONAL : ARG_NEEDED;
		all->option[all->n].arg_name = o->arg;
	}
	all->n++;
	return 0;
}

int known_collect(struct known_options *all, const struct argp *argp)
{
	size_t real = SIZE_MAX;

	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++) {
		int r;

		if (o->flags & OPTION_DOC || (!o->name && !o->key))
			continue;
		r = known_add(all, o, o->flags & OPTION_ALIAS ? real : SIZE_MAX);
		if (r)
			return r;
		if (!(o->flags & OPTION_ALIAS))
			real = all->n - 1;
	}
	for (const struct argp_child *c = argp->children; c && c->argp; c++) {
		int r = known_collect(all, c->argp);

		if (r)
			return r;
	}
	return 0;
}

bool option_name_begins(const char *name, const char *text, size_t len, bool fold)
{
	for (size_t i = 0; i < len; i++) {
		char a = name[i] == '_' ? '-' : name[i];
		char b = text[i] == '_' ? '-' : text[i];

		if (fold) {
			a = (char)tolower((unsigned char)a);
			b = (char)tolower((unsigned char)b);
		}
		if (!a || a != b)
			return false;
	}
	return true;
}

bool option_name_is(const char *name, const char *text, size_t len)
{
	return option_name_begins(name, text, len, false) && !name[len];
}

static struct known *known_exact(const struct known_options *all, const char *text, size_t len)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->option[i].name && option_name_is(all->option[i].name, text, len))
			return &all->option[i];
	}
	return NULL;
}

static struct known *known_key(const struct known_options *all, int key)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->option[i].key == key)
			return &all->option[i];
	}
	return NULL;
}

/* Names that begin with the text; several names of one option are one. `flags`: only options without value. */
static enum match known_abbreviated(const struct known_options *all, const char *text, size_t len, bool flags,
				    struct known **found, struct known **second)
{
	*found = NULL;
	for (size_t i = 0; i < all->n; i++) {
		struct known *k = &all->option[i];

		if (!k->name || (flags && k->arg != ARG_NONE) || !option_name_begins(k->name, text, len, false))
			continue;
		if (*found && (*found)->same != k->same) {
			*second = k;
			return MATCH_MANY;
		}
		if (!*found)
			*found = k;
	}
	return *found ? MATCH_ONE : MATCH_NONE;
}

enum match known_find(const struct known_options *all, const char *text, size_t len, struct known **found,
		      struct known **second)
{
	bool no = len > 3 && option_name_begins("no-", text, 3, false);
	enum match m;

	*found = known_exact(all, text, len);
	if (*found)
		return MATCH_ONE;
	if (no) {
		*found = known_exact(all, text + 3, len - 3);
		if (*found && (*found)->arg == ARG_NONE)
			return MATCH_NEGATED;
	}
	/* perf's options with a "no-" of their own have a form without it. */
	for (size_t i = 0; i < all->n; i++) {
		struct known *k = &all->option[i];

		if (k->name && k->arg == ARG_NONE && !strncmp(k->name, "no-", 3) &&
		    option_name_is(k->name + 3, text, len)) {
			*found = k;
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

struct known *known_letter(const struct known_options *all, enum options_column column, char letter,
			   struct error *why)
{
	const char *name = options_letter(letter, column);
	struct known *k = name ? known_exact(all, name, strlen(name)) : NULL;

	if (!k && isalpha((unsigned char)letter))
		k = known_key(all, letter);
	if (k)
		return &all->option[k->same];
	if (name)
		error_set(why, EINVAL, "this version has no -%c (--%s)", letter, name);
	else
		options_letter_refuse(letter, column, why);
	return NULL;
}
