/* What the event language is without any machine: canonical text, packing of format bits, names of cache events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "common/event/event.h"
#include "tests/unit/lib/event_print.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_print(void **state)
{
	static const struct {
		const char *text, *canonical;
	} pair[] = {
		{ " cycles:ku , g{ a , b/ x = 10 , y /pu } :WD ", "cycles:uk,g{a,b/x=0xa,y/:up}:DW" },
		{ "sched:sched_switch/name='x y'/:u", "sched:sched_switch/name='x y'/:u" },
		{ "mem:0x10:r,1:255,r0xA0", "mem:0x10/4:r,1:0xff,r0xA0" },
	};

	for (size_t i = 0; i < COUNT(pair); i++) {
		const char *text = pair[i].text;

		for (int round = 0; round < 2; round++) {
			struct event_list *list;
			struct buf out = BUF_INIT;
			struct error e;

			if (event_parse(&list, text, &e))
				fail_msg("%s: %s", text, e.text);
			event_list_print(list, &out);
			assert_string_equal(buf_str(&out), pair[i].canonical);
			buf_release(&out);
			event_list_free(list);
			text = pair[i].canonical;
		}
	}
}

static void test_format_pack(void **state)
{
	uint64_t c[EVENT_CONFIGS] = { [0] = UINT64_MAX }, max = 0;

	/* The field's bits are replaced, the others stay. */
	assert_int_equal(event_format_pack("config:4-7,0", 0x11, c, &max), 0);
	assert_true(c[0] == ((UINT64_MAX & ~0xf1ull) | 0x11));
	assert_int_equal(event_format_pack("config:4-7,0", 0x20, c, &max), -ERANGE);
	assert_int_equal(max, 0x1f);
	assert_int_equal(event_format_pack("config2:63\n", 1, c, &max), 0);
	assert_true(c[2] == 1ull << 63);
	assert_int_equal(event_format_pack("config1:0-63", UINT64_MAX, c, &max), 0);
	assert_true(c[1] == UINT64_MAX);
	static const char *const bad[] = { "",          "config",     "config:",     "config:x",
					   "config:0-", "config:5-4", "config:0-64", "config5:0",
					   "config:0,", "config:0x",  "conf:0",      "config:99999999999999999999" };

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(event_format_pack(bad[i], 0, c, &max), -EINVAL);
}

static int check_cache_name(void *arg, const char *name, uint64_t config)
{
	uint64_t again = 0;

	assert_int_equal(event_cache_parse(name, &again), 0);
	assert_true(again == config);
	++*(int *)arg;
	return 0;
}

static void test_all_cache_names(void **state)
{
	/* The first cache, operation and result that the kernel has no number for. */
	static const uint64_t beyond[] = { 7, 3 << 8, 2 << 16 };
	int n = 0;

	/* (6 operations and results) x L1d, LLC, dTLB, node; 4 of L1i; 2 each of iTLB and branch */
	event_cache_each(check_cache_name, &n);
	assert_int_equal(n, 4 * 6 + 4 + 2 + 2);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		char name[64], number[64];

		event_cache_name(beyond[i], name, sizeof(name));
		snprintf(number, sizeof(number), "3:0x%llx", (unsigned long long)beyond[i]);
		assert_string_equal(name, number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_format_pack),
		cmocka_unit_test(test_all_cache_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
