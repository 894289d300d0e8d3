/* What option tables do by themselves: flags, texts, lists and words are stored where their row says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/options_table.h"
#include "common/parse.h"

int options_append(char ***list, char *text)
{
	char **grown;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	grown = realloc(*list, (n + 2) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[n] = text;
	grown[n + 1] = NULL;
	*list = grown;
	return 0;
}

int options_word(const char *option, const char *arg, const char *const *words, unsigned *place, struct error *e)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	const char *near;
	int err;

	for (unsigned i = 0; words[i]; i++)
		if (!strcmp(words[i], arg)) {
			*place = i;
			return 0;
		}
	near = options_nearest(arg, words, SIZE_MAX);
	if (near && *near)
		return error_set(e, EINVAL, "--%s does not take '%s'; did you mean '%s'?", option, arg, near);
	for (unsigned i = 0; words[i]; i++)
		if (*words[i])
			buf_printf(&all, "%s%s", !all.len ? "" : words[i + 1] ? ", " : " or ", words[i]);
	err = error_set(e, EINVAL, "--%s does not take '%s'; use %s", option, arg, buf_str(&all));
	return err;
}

static int take_amount(const struct option_row *row, void *member, const char *arg, struct error *e)
{
	uint64_t n;

	if (parse_u64(arg, &n) || n < row->least || n > row->most)
		return row->most < UINT32_MAX ?
			       error_set(e, EINVAL, "--%s: '%s' is not a number from %llu to %llu", row->name, arg,
					 (unsigned long long)row->least, (unsigned long long)row->most) :
			       error_set(e, EINVAL, "--%s: '%s' is not a number%s", row->name, arg,
					 row->least ? " above 0" : "");
	if (row->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

int options_take(const struct option_row *row, void *into, char *arg, struct error *e)
{
	void *member = (char *)into + row->at;
	uint64_t *number = member;
	unsigned place = 0;
	int err;

	switch (row->kind) {
	case OPTION_NOTHING:
		return 0;
	case OPTION_FLAG:
	case OPTION_CLEAR:
		*(bool *)member = row->kind == OPTION_FLAG;
		return 0;
	case OPTION_COUNT:
		++*(unsigned *)member;
		return 0;
	case OPTION_TEXT:
		err = row->words ? options_word(row->name, arg, row->words, &place, e) : 0;
		if (!err)
			*(char **)member = arg;
		return err;
	case OPTION_LIST:
		return options_append((char ***)member, arg);
	case OPTION_WORD:
		return options_word(row->name, arg, row->words, (unsigned *)member, e);
	case OPTION_NUMBER:
		*(unsigned *)member = row->number;
		return 0;
	case OPTION_BITS:
		*(unsigned *)member |= row->number;
		return 0;
	case OPTION_AMOUNT:
		return take_amount(row, member, arg, e);
	case OPTION_TIME:
		if (parse_duration(arg, number) || *number < row->least || *number > INT64_MAX / 4)
			return error_set(e, EINVAL, "--%s: '%s' is not a time: use seconds, or add ms, m or h",
					 row->name, arg);
		return 0;
	case OPTION_SIZE:
		if (parse_size(arg, number) || !*number)
			return error_set(e, EINVAL, "--%s: '%s' is not a size such as 10M or 512Ki", row->name, arg);
		return 0;
	case OPTION_READ:
		err = row->read(member, arg, e);
		return err ? error_prefix(e, "--%s", row->name) : 0;
	case OPTION_CALL:
		return row->set(into, arg, e);
	}
	return -EINVAL;
}
