/*
 * An error number and its text. common/ and format/ never print and never exit; they return -errno and store a
 * sentence here, which the program shows.
 */
#pragma once

#include <stdarg.h>

struct error {
	int number;     /* 0, or a positive errno */
	char text[400]; /* one line, no newline at the end; "" if there is none */
};

/* Replaces the text and returns -number; `e` may be NULL. */
int error_set(struct error *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, with ": " and strerror(number) at the end. */
int error_sys(struct error *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "what: " before the text; returns -e->number. */
int error_prefix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
