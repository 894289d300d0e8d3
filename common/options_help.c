/* The texts of --help=all and --help=options. */
#include "common/options_help.h"

#include <string.h>

#include "common/options_table.h"

#define HELP_COLUMN 29
#define HELP_WIDTH  79

static void put_words(struct buf *out, size_t column, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column + 1 + len > HELP_WIDTH) {
			buf_printf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			buf_addch(out, ' ');
			column++;
		}
		buf_add(out, text, len);
		column += len;
		text += len + (text[len] == ' ');
	}
	buf_addch(out, '\n');
}

/* Whether it is the row itself or another name or letter of the same option. */
static bool belongs(const struct option_row *r, const struct option_row *row)
{
	return r == row || (!r->help && (r->name || r->letter));
}

/* Whether there are any. */
static bool put_letters(struct buf *out, const struct option_row *row, const char *between)
{
	bool any = false;

	for (const struct option_row *r = row; belongs(r, row); r++)
		if (r->letter) {
			buf_printf(out, "%s-%c", any ? between : "", r->letter);
			any = true;
		}
	return any;
}

/* "  -c, -C, --cpu=SET   help" */
static void put_option(struct buf *out, const struct option_row *row)
{
	size_t start = out->len;
	bool letters;

	buf_addstr(out, "  ");
	letters = put_letters(out, row, ", ");
	buf_addstr(out, letters ? "" : "  ");
	for (const struct option_row *r = row; belongs(r, row); r++)
		if (r->name && (r == row || r->shown))
			buf_printf(out, "%s--%s", r > row || letters ? ", " : "  ", r->name);
	if (row->argument)
		buf_printf(out, row->optional ? "[=%s]" : "=%s", row->argument);
	if (out->len - start + 2 > HELP_COLUMN)
		buf_addch(out, '\n');
	else
		start += HELP_COLUMN; /* the column at which the help begins */
	buf_printf(out, "%*s", out->len < start ? (int)(start - out->len) : HELP_COLUMN, "");
	put_words(out, HELP_COLUMN, row->help);
}

void options_put_help(struct buf *out, const struct option_row *row)
{
	for (; row->name || row->letter || row->help; row++) {
		if (row->help && !row->name && !row->letter)
			buf_printf(out, "\n%s\n", row->help);
		else if (row->help)
			put_option(out, row);
	}
}

void options_put_list(struct buf *out, const struct option_row *row)
{
	const struct option_row *option = row;

	for (; row->name || row->letter || row->help; row++) {
		if (row->help)
			option = row;
		if (!row->name || (row != option && !row->shown))
			continue;
		buf_printf(out, "--%s%s\t%s\t", row->name, option->argument && !option->optional ? "=" : "",
			   option->argument ? option->argument : "");
		if (row == option)
			put_letters(out, row, " ");
		buf_printf(out, "\t%s\n", row == option ? row->help : "");
	}
}
