/*
 * An error number and its text. common/ and format/ never print and never exit: they return -errno and store a
 * sentence here for the program to show.
 */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <stdarg.h>

struct error {
	int number;     /* 0, or a positive errno */
	char text[400]; /* one line, no newline at the end; "" if there is none */
};

/* Stores the text and returns -number; `e` may be NULL. The newest text wins. */
int error_set(struct error *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* As error_set(), and appends ": " and strerror(number). */
int error_sys(struct error *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "what: " before the text that is there; returns -e->number. */
int error_prefix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
