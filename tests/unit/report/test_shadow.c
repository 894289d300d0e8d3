/* What `perf stat` prints behind the '#': whole rows, the rows of an event, and colors. */
#include "report/stat/stat.c"
#include "tests/unit/lib/metric_row.h"
#include "tests/unit/lib/test.h"

/* Every line has its metric, in its unit; lines of one event lie side by side. */
static void test_shadows(void **state)
{
	const struct shadow *row;

	for (const struct shadow *s = shadows; s->event; s++) {
		const struct metric *m = metric_row(s->metric);

		assert_true(!strcmp(m->unit, "%") == (s->percent > 0));
		assert_true(s->label && s->label[0] && s->width > s->decimals);
		assert_true(s->own_line == (s > shadows && !strcmp(s->event, s[-1].event)));
		for (const struct shadow *t = s + 1; t->event; t++)
			if (!strcmp(s->event, t->event))
				assert_ptr_equal(t, s + 1);
		for (size_t i = 1; i < 3; i++)
			assert_true(s->limit[i] < s->limit[i - 1] || s->limit[i] == 0);
	}
	/* instructions, and the same on a hybrid PMU. */
	assert_int_equal(shadow_find(0, 1, "instructions", &row), 2);
	assert_string_equal(row[0].metric, "insn_per_cycle");
	assert_string_equal(row[1].metric, "stalled_cycles_per_instruction");
	assert_int_equal(shadow_find(0, UINT64_C(4) << 32 | 1, "cpu_core/instructions/", &row), 2);
	assert_string_equal(row[0].metric, "insn_per_cycle");
	/* context-switches have a rate only, also those that another type numbers like task-clock. */
	assert_int_equal(shadow_find(1, 3, "context-switches", &row), 0);
	assert_int_equal(shadow_find(9, 1, "msr/aperf/", &row), 0);
	assert_int_equal(shadow_find(1, 1, "task-clock", &row), 1);
	assert_string_equal(row->label, "CPUs utilized");
	/* L1-dcache (0), load (0), miss (1); dTLB (3) */
	assert_int_equal(shadow_find(3, 0x10000, "whatever", &row), 1);
	assert_string_equal(row->metric, "l1d_miss_rate");
	assert_int_equal(shadow_find(3, 0x10003, "dTLB-load-misses:u", &row), 1);
	assert_string_equal(row->metric, "dtlb_miss_rate");
	assert_int_equal(shadow_find(3, 0x0, "L1-dcache-loads", &row), 0);
	assert_int_equal(shadow_find(4, 0x8000, "cpu/topdown-retiring/u", &row), 1);
	assert_string_equal(row->label, "Retiring");
	assert_int_equal(shadow_find(4, 0x8000, "topdown-retiring:u", &row), 1);
	assert_int_equal(shadow_find(4, 0x8000, "topdown-retirin", &row), 0);
	assert_int_equal(shadow_find(9, 4, "msr/smi/", &row), 2);

	assert_int_equal(shadow_find(0, 5, "branch-misses", &row), 1);
	assert_int_equal(shadow_judge(row, 20.5), SHADOW_BAD);
	assert_int_equal(shadow_judge(row, 20), SHADOW_NEARLY_BAD);
	assert_int_equal(shadow_judge(row, 5.5), SHADOW_LESS_GOOD);
	assert_int_equal(shadow_judge(row, 5), SHADOW_GOOD);
	assert_int_equal(shadow_judge(row, NAN), SHADOW_PLAIN);
	shadow_find(4, 0x8000, "topdown-retiring", &row);
	assert_int_equal(shadow_judge(row, 71), SHADOW_GOOD);
	assert_int_equal(shadow_judge(row, 69), SHADOW_PLAIN);
	shadow_find(0, 1, "instructions", &row);
	assert_int_equal(shadow_judge(row, 0.1), SHADOW_PLAIN);
}

UNIT_TESTS(cmocka_unit_test(test_shadows))
