/* Splits the text of an expression into tokens. As in perf, names may contain nearly anything: events with terms, and
 * operators after a backslash. */
#include <errno.h>
#include <string.h>

#include "common/metric/expr_internal.h"
#include "common/parse.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool lexer_is_id_char(char c)
{
	return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == ':' || c == '?';
}

bool lexer_is_keyword(const char *word)
{
	static const char *const words[] = { "if", "else", "NaN", "min", "max", "d_ratio" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], word))
			return true;
	for (const struct expr_aspect_row *row = expr_aspects; row->text; row++)
		if (row->reserved && !strcmp(row->text, word))
			return true;
	return false;
}

/* Digits with at most one point, then optionally 'e', a minus sign and digits. */
size_t lexer_number_length(const char *text, size_t len)
{
	size_t i = 0, digits = 0;

	for (; i < len && is_digit(text[i]); i++)
		digits++;
	if (i < len && text[i] == '.')
		for (i++; i < len && is_digit(text[i]); i++)
			digits++;
	if (!digits)
		return 0;
	if (i < len && text[i] == 'e') {
		size_t k = i + 1;

		if (k < len && text[k] == '-')
			k++;
		if (k < len && is_digit(text[k])) {
			while (k < len && is_digit(text[k]))
				k++;
			i = k;
		}
	}
	return i;
}

/* Copies the id at `start` to l->word and sets *end to its end, which is `start` if there is none. */
static int scan_id(struct lexer *l, size_t start, size_t *end)
{
	size_t i = start, open = 0;
	bool section = false;

	buf_clear(&l->word);
	l->plain = true;
	for (; i < l->len; i++) {
		char c = l->text[i];

		if (c == '\\') {
			if (i + 1 == l->len)
				return error_set(l->error, EINVAL, "column %zu: nothing follows the backslash",
						 i + 1);
			buf_addch(&l->word, l->text[++i]);
			l->plain = false;
		} else if (c == '@') {
			section = !section;
			open = i;
			buf_addch(&l->word, '/');
			l->plain = false;
		} else if (section || lexer_is_id_char(c)) {
			buf_addch(&l->word, c);
		} else {
			break;
		}
	}
	if (section)
		return error_set(l->error, EINVAL, "column %zu: the '@' here has no closing '@'", open + 1);
	*end = i;
	return l->word.err;
}

/* perf accepts "5." and ".5"; parse_double() needs digits on both sides. */
static int scan_number(struct lexer *l, size_t start, size_t len)
{
	const char *text = l->text + start;
	struct buf copy = BUF_INIT;
	int err;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.' && (i == 0 || !is_digit(text[i - 1])))
			buf_addch(&copy, '0');
		buf_addch(&copy, text[i]);
		if (text[i] == '.' && (i + 1 == len || !is_digit(text[i + 1])))
			buf_addch(&copy, '0');
	}
	err = copy.err ? copy.err : parse_double(buf_str(&copy), &l->number);
	buf_release(&copy);
	if (err == -ENOMEM)
		return error_set(l->error, ENOMEM, "out of memory");
	if (err)
		return error_set(l->error, EINVAL, "column %zu: %.*s is too large for a number", start + 1,
				 (int)(len < 40 ? len : 40), text);
	return 0;
}

static int scan_literal(struct lexer *l, size_t start)
{
	size_t i = start + 1;

	buf_clear(&l->word);
	for (; i < l->len; i++) {
		char c = l->text[i];

		if (!is_digit(c) && !is_letter(c) && c != '_' && c != '.' && c != '-')
			break;
		buf_addch(&l->word, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	if (i == start + 1)
		return error_set(l->error, EINVAL, "column %zu: a name must follow '#'", start + 1);
	l->kind = TOKEN_LITERAL;
	l->at = i;
	return l->word.err;
}

int lexer_next(struct lexer *l)
{
	size_t start, end = 0, number;
	char c;
	int err;

	while (l->at < l->len && is_blank(l->text[l->at]))
		l->at++;
	start = l->start = l->at;
	if (start == l->len) {
		l->kind = TOKEN_END;
		return 0;
	}
	c = l->text[start];
	if (strchr("+-*/%()<>&|^,", c)) {
		l->kind = TOKEN_MARK;
		l->mark = c;
		l->at++;
		return 0;
	}
	if (c == '#')
		return scan_literal(l, start);

	/* The longer one wins, as in a generated lexer: 1e9 is a number, 1GHz and 1E9 are ids, 1e-9 is a number
	 * again. */
	err = scan_id(l, start, &end);
	if (err)
		return err;
	number = lexer_number_length(l->text + start, l->len - start);
	if (number && start + number >= end) {
		l->kind = TOKEN_NUMBER;
		l->at = start + number;
		return scan_number(l, start, number);
	}
	if (end > start) {
		l->kind = TOKEN_ID;
		l->at = end;
		return 0;
	}
	if (c > ' ' && c < 0x7f)
		return error_set(l->error, EINVAL, "column %zu: '%c' is not allowed here", start + 1, c);
	return error_set(l->error, EINVAL, "column %zu: the byte 0x%02x is not allowed here", start + 1,
			 (unsigned char)c);
}
