/* Lists of events, metrics and cgroups from the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/stat/stat.h"

void stat_words_release(struct stat_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct stat_words){ 0 };
}

static int add_word(struct stat_words *w, const char *text, size_t len)
{
	if (array_room(&w->word, w->n, sizeof(*w->word)))
		return -ENOMEM;
	w->word[w->n] = strndup(text, len);
	return w->word[w->n] ? (w->n++, 0) : -ENOMEM;
}

int stat_words_add(struct stat_words *w, const char *list)
{
	const char *start = list, *c = list;
	bool inside = false;
	int err = 0;

	for (; !err; c++) {
		if (*c == '/')
			inside = !inside;
		if (*c && (*c != ',' || inside))
			continue;
		while (*start == '{' || *start == ' ')
			start++;
		size_t len = (size_t)(c - start);
		const char *brace = memchr(start, '}', len);

		if (brace)
			len = (size_t)(brace - start);
		if (len)
			err = add_word(w, start, len);
		if (!*c)
			break;
		start = c + 1;
	}
	return err;
}
