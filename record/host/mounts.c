#include "record/host/mounts.h"

#include <string.h>

ssize_t mounts_read(const struct root *r, struct buf *text)
{
	return root_read(r, text, 1 << 20, "/proc/mounts");
}

/* Decodes "\040" and the like, by which /proc/mounts writes blanks. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3]) {
			*to = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

bool mounts_next(struct buf *text, char **at, struct mount *m)
{
	char *line;

	while ((line = strtok_r(*at ? NULL : (char *)buf_str(text), "\n", at))) {
		const char **const word[] = { &m->what, &m->where, &m->type, &m->options };
		char *save = NULL;
		size_t n = 0;

		while (n < 4 && (*word[n] = strtok_r(n ? NULL : line, " ", &save)))
			unescape((char *)*word[n++]);
		if (n == 4)
			return true;
	}
	return false;
}
