#include "common/parse.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

int parse_u64_span(const char *text, size_t len, int base, uint64_t *value)
{
	uint64_t v = 0;

	if (!base) {
		bool hexadecimal = len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

		base = hexadecimal ? 16 : 10;
		text += hexadecimal ? 2 : 0;
		len -= hexadecimal ? 2 : 0;
	}
	if (!len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (digit_of(text[i]) >= base)
			return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_of(text[i]), &v))
			return -ERANGE;
	*value = v;
	return 0;
}

int parse_u64(const char *text, uint64_t *value)
{
	return parse_u64_span(text, strlen(text), 0, value);
}

int parse_digits(const char **at, int base, uint64_t most, uint64_t *value)
{
	size_t len = 0;
	int err;

	while (digit_of((*at)[len]) < base)
		len++;
	err = parse_u64_span(*at, len, base, value);
	if (!err && *value <= most)
		*at += len;
	return err || *value <= most ? err : -ERANGE;
}

int parse_s64(const char *text, int64_t *value)
{
	bool minus = text[0] == '-';
	uint64_t v;
	int err = parse_u64(text + minus, &v);

	if (err)
		return err;
	if (v > (uint64_t)INT64_MAX + minus)
		return -ERANGE;
	*value = (int64_t)(minus ? 0 - v : v);
	return 0;
}

size_t parse_number_length(const char *text, const char *letters, const char *signs)
{
	static const char digits[] = "0123456789";
	size_t len = strspn(text, digits), point = text[len] == '.',
	       more = point ? strspn(text + len + 1, digits) : 0;
	const char *exponent;

	if (!len && !more)
		return 0;
	len += point + more;
	if (!text[len] || !strchr(letters, text[len]))
		return len;
	exponent = text + len + 1;
	exponent += *exponent && strchr(signs, *exponent);
	more = strspn(exponent, digits);
	return more ? (size_t)(exponent - text) + more : len;
}

int parse_double(const char *text, double *value)
{
	const char *number = text + (*text == '+' || *text == '-');
	/* The form is checked here because strtod() also takes blanks, hexadecimal, "inf" and "nan". */
	size_t len = parse_number_length(number, "eE", "+-");
	locale_t c;
	double v;

	if (!len || number[len])
		return -EINVAL;
	c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c)
		return -ENOMEM;
	v = strtod_l(text, NULL, c);
	freelocale(c);
	if (v - v != 0)
		return -ERANGE;
	*value = v;
	return 0;
}

/* digits [. digits] times `factor`; what is less than one unit is cut off. */
static int scaled(const char *text, size_t len, uint64_t factor, uint64_t *value)
{
	const char *dot = memchr(text, '.', len);
	size_t before = dot ? (size_t)(dot - text) : len, after = dot ? len - before - 1 : 0;
	uint64_t whole = 0, part = 0, place = 1;
	int err = before ? parse_u64_span(text, before, 10, &whole) : after ? 0 : -EINVAL;

	if (!err && after && memchr(dot + 1, '.', after))
		err = -EINVAL;
	/* Digits after the 18th are worth less than one unit. */
	after = after < 18 ? after : 18;
	if (!err && after)
		err = parse_u64_span(dot + 1, after, 10, &part);
	for (size_t i = 0; i < after; i++)
		place *= 10;
	part = (uint64_t)((unsigned __int128)part * factor / place);
	if (!err && (__builtin_mul_overflow(whole, factor, &whole) || __builtin_add_overflow(whole, part, value)))
		err = -ERANGE;
	return err;
}

/* A number with a unit of time; without one, `bare` is how many ns it counts. */
static int with_unit(const char *text, uint64_t bare, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t factor;
	} units[] = {
		{ "ns", 1 },          { "us", 1000 },         { "ms", 1000000 },      { "s", 1000000000 },
		{ "m", 60000000000 }, { "min", 60000000000 }, { "h", 3600000000000 },
	};
	size_t digits = strspn(text, "0123456789.");

	if (!text[digits])
		return scaled(text, digits, bare, ns);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text + digits, units[i].name))
			return scaled(text, digits, units[i].factor, ns);
	return -EINVAL;
}

int parse_duration(const char *text, uint64_t *ns)
{
	return with_unit(text, 1000000000, ns);
}

int parse_duration_ms(const char *text, uint64_t *ns)
{
	return with_unit(text, 1000000, ns);
}

int parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGT";
	size_t digits = strspn(text, "0123456789.");
	const char *unit = text + digits, *letter = *unit ? strchr(letters, *unit == 'k' ? 'K' : *unit) : NULL;
	bool binary = letter && *unit != 'k' && unit[1] == 'i';
	uint64_t factor = 1;

	for (ptrdiff_t n = letter ? letter - letters : -1; n >= 0; n--)
		factor *= binary ? 1024 : 1000;
	unit += (letter != NULL) + binary;
	unit += *unit == 'B';
	return *unit ? -EINVAL : scaled(text, digits, factor, bytes);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

bool parse_is_among(const char *words, const char *word, size_t len)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n == len && !memcmp(words, word, n))
			return true;
	}
	return false;
}

/* The number of single-character edits (insert, delete, replace, swap) between two words. */
static unsigned distance_of(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	unsigned row[3][LONGEST + 1];
	size_t na = strlen(a), nb = strlen(b);
	unsigned *before = row[0], *last = row[1], *now = row[2];

	/* Longer words are not worth a suggestion. */
	if (na > LONGEST || nb > LONGEST)
		return strcmp(a, b) ? (unsigned)(na > nb ? na : nb) : 0;
	for (size_t j = 0; j <= nb; j++)
		last[j] = (unsigned)j;
	memset(row[0], 0, sizeof(row[0]));
	for (size_t i = 1; i <= na; i++) {
		unsigned *spare = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

void nearest_offer(struct nearest *near, const char *name)
{
	size_t len = strlen(near->word);
	unsigned limit = len < 4 ? 1 : len < 10 ? 2 : 3;
	bool begins = len >= 4 && !strncasecmp(near->word, name, len);
	unsigned distance;

	if (near->len + strlen(name) + 3 > sizeof(near->all))
		near->len = sizeof(near->all);
	else
		near->len += (size_t)sprintf(near->all + near->len, "%s%s", near->len ? ", " : "", name);
	if (strlen(name) >= sizeof(near->names[0]) || (strlen(name) > len + limit && !begins) ||
	    strlen(name) + limit < len)
		return;
	/* An unfinished word is less likely meant than a mistyped one. */
	distance = strlen(name) > len + limit ? limit : distance_of(near->word, name);
	if (!strncasecmp(near->word, name, strlen(name)) && strlen(name) == len)
		distance = 0; /* differs in case alone */
	/* What shares no letter is not meant. */
	if (distance > limit || distance >= len || (near->n && distance > near->distance))
		return;
	if (!near->n || distance < near->distance) {
		near->n = 0;
		near->distance = distance;
	}
	for (unsigned i = 0; i < near->n; i++)
		if (!strcmp(near->names[i], name))
			return;
	if (near->n < sizeof(near->names) / sizeof(near->names[0]))
		strcpy(near->names[near->n++], name);
}

const char *nearest_text(const struct nearest *near, const char *what, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < near->n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s\"%s\"%s", i ? ", " : "; did you mean ",
					near->names[i], i + 1 == near->n ? "?" : "");
	if (!near->n && what && near->len && near->len < sizeof(near->all))
		snprintf(text, size, "; %s %.*s", what, (int)near->len, near->all);
	return text;
}
