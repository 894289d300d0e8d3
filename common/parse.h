/*
 * Text to numbers, independent of the locale. Refuses what strtoul() accepts: signs, blanks, overflow and trailing
 * text. All return 0, -EINVAL (not of this form) or -ERANGE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *text, uint64_t *value); /* decimal or 0x hexadecimal */
int parse_s64(const char *text, int64_t *value);  /* the same, with an optional minus sign */
/* Of `len` bytes; base 10, or 16 without prefix, or 0: as parse_u64(). */
int parse_u64_span(const char *text, size_t len, int base, uint64_t *value);
/* Reads the digits at *at, at least one, and moves past them. -ERANGE also for more than `most`. */
int parse_digits(const char **at, int base, uint64_t most, uint64_t *value);
/* The length of digits with at most one point, followed or not by one of `letters`, a sign if `signs` has it, and
 * digits; 0: there is no digit. */
size_t parse_number_length(const char *text, const char *letters, const char *signs);
int parse_double(const char *text, double *value); /* C locale; no hexadecimal, no inf, no nan */
/* A duration in seconds, or with a unit (ns us ms s m h), to nanoseconds; fractions are exact to 1 ns. */
int parse_duration(const char *text, uint64_t *ns);
/* The same, but a number without a unit is in milliseconds, as for perf's -I. */
int parse_duration_ms(const char *text, uint64_t *ns);
/* A size in bytes, or with k M G T (powers of 1000) or Ki Mi Gi Ti (powers of 1024); a B may follow. */
int parse_size(const char *text, uint64_t *bytes);

/* Whether the word, of `len` bytes, is one of those that stand in `words` with a blank between. */
bool parse_is_among(const char *words, const char *word, size_t len);

/* Collects the names nearest to what was written, for "did you mean". */
struct nearest {
	const char *word;
	unsigned distance; /* of the best so far */
	char names[3][64];
	unsigned n;
	char all[128]; /* that were offered, if they are few */
	size_t len;
};
void nearest_offer(struct nearest *near, const char *name);
/* "; did you mean "a", "b"?", or "; WHAT a, b, c" if none is near and they are few, or "". `what` may be NULL. */
const char *nearest_text(const struct nearest *near, const char *what, char *text, size_t size);
