/* What every unit test includes: the headers that cmocka.h wants before it, and those of nearly all. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The whole program, of rows cmocka_unit_test(NAME). */
#define UNIT_TESTS(...) \
	int main(void) \
	{ \
		const struct CMUnitTest tests[] = { __VA_ARGS__ }; \
\
		return cmocka_run_group_tests(tests, NULL, NULL); \
	}
