/* What the event language is without any machine: canonical text, packing of format bits, names of cache events. */
#include "common/event/event.h"
#include "tests/unit/lib/event_print.h"
#include "tests/unit/lib/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

UNIT_TESTS(cmocka_unit_test(test_format_pack))
