/* The command line of `pmrep diff`, whose whole is tested in tests/cli/diff.bats. */
#include "report/diff/diff.h"
#include "tests/unit/lib/test.h"

/* The sides' recordings as the command line is understood; NULL: it is refused. */
static void words_become(const char *const *in, const char *const *out)
{
	struct options_common common = { 0 };
	struct diff d = DIFF_INIT;
	struct error e = { 0 };
	char *argv[16];
	int n = 0, r;

	while (in[n]) {
		argv[n] = (char *)in[n];
		n++;
	}
	r = options_parse(&diff_spec, n, argv, &d, &common, &e);
	assert_int_equal(r, out ? 0 : -EINVAL);
	for (n = 0; out && out[n + 1] && common.said[n]; n++)
		assert_string_equal(common.said[n], out[n + 1]);
	assert_true(!out || (!out[n + 1] && !common.said[n]));
	diff_release(&d);
	options_common_release(&common);
}
#define WORDS(...) ((const char *const[]){ "diff", __VA_ARGS__, NULL })

static void words(void **state)
{
	(void)state;
	words_become(WORDS("a", "b"), (const char *const[]){ "diff", NULL });
	words_become(WORDS("--base", "a", "b", "--new", "c"), WORDS("--base=a", "--base=b", "--new=c"));
	words_become(WORDS("--base=a", "b", "-new", "c", "d"), WORDS("--base=a", "--base=b", "--new=c", "--new=d"));
	/* Another option ends the side, and its argument is nobody's. */
	words_become(WORDS("--base", "a", "--margin", "2%", "b"), WORDS("--base=a", "--margin=2%"));
	words_become(WORDS("--base", "--new", "c"), NULL);
	words_become(WORDS("--base", "a", "--", "-b", "--new"), WORDS("--base=a", "--base=-b", "--base=--new"));
	words_become(WORDS("--new", "c", "-"), WORDS("--new=c", "--new=-"));
}

UNIT_TESTS(cmocka_unit_test(words))
