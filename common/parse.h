/*
 * Text to numbers, independent of the locale, refusing what strtoul() lets pass: signs, blanks, overflow and
 * trailing text. All return 0, -EINVAL (not of this form) or -ERANGE.
 */
#ifndef COMMON_PARSE_H
#define COMMON_PARSE_H

#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *text, uint64_t *value); /* decimal or 0x hexadecimal */
int parse_s64(const char *text, int64_t *value);  /* as above with an optional minus sign */
int parse_u64_span(const char *text, size_t len, int base, uint64_t *value); /* base 10 or 16, no prefix */
int parse_double(const char *text, double *value); /* C locale; no hexadecimal, no inf, no nan */
/* A duration in seconds, or with a unit (ns us ms s m h), to nanoseconds; fractions are exact to the ns. */
int parse_duration(const char *text, uint64_t *ns);
/* The same, for options whose bare number is milliseconds (perf's -I). */
int parse_duration_ms(const char *text, uint64_t *ns);
/* A size: bytes, or with k M G T (powers of 1000), Ki Mi Gi Ti (powers of 1024); a B at the end is allowed. */
int parse_size(const char *text, uint64_t *bytes);

/* How many single-character edits (insert, delete, replace, swap) lie between two words: for "did you mean". */
unsigned parse_distance(const char *a, const char *b);

#endif
