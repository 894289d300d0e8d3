/*
 * make_recording FILE [ROWS]: a recording with known truth, for tests of the programs. The machine of builder.h, one
 * snapshot a second: cycles, instructions  CPU n counts (n + 1) * 1000000 and half of that a second, and is
 * multiplexed: runs half the time cpuidle.time.c1       a quarter of the time of every CPU powercap.energy.package 10
 * J a second for package 0, 20 J for package 1 thermal.temp          40 and 41 degrees
 */
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/test.h"

static struct reading truth(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t v;

	if (!strcmp(counter, "enabled"))
		v = row * 1000000000;
	else if (!strcmp(counter, "running"))
		v = row * 500000000;
	else if (!strcmp(counter, "cycles"))
		v = row * (i->number + 1) * 500000; /* half of them are seen */
	else if (!strcmp(counter, "instructions"))
		v = row * (i->number + 1) * 250000;
	else if (!strncmp(counter, "cpuidle", 7))
		v = row * 250000;
	else if (!strncmp(counter, "powercap", 8))
		v = row * 10000000 * (i->number + 1);
	else
		v = 40000 + 1000 * i->number;
	return (struct reading){ v, 0 };
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 21;
	struct builder b;
	uint32_t perf[2], idle, energy, temp;

	if (argc < 2)
		return 2;
	builder_init(&b, truth);
	perf[0] = builder_counter(&b, "cycles", "1", PM_CUMULATIVE, PM_AGG_SUM);
	perf[1] = builder_counter(&b, "instructions", "1", PM_CUMULATIVE, PM_AGG_SUM);
	for (int i = 0; i < 2; i++)
		pm_map_set(&builder_counter_at(&b, perf[i])->attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	builder_group(&b, PM_CPU, 8, PM_GROUP_PERF_TIMES, perf, 2);
	idle = builder_counter(&b, "cpuidle.time.c1", "s", PM_CUMULATIVE, PM_AGG_SUM);
	builder_counter_at(&b, idle)->scale.den = 1000000;
	pm_map_set(&builder_counter_at(&b, idle)->attrs, PM_COUNTER_FAMILY, pm_text("cpuidle.time"));
	pm_map_set(&builder_counter_at(&b, idle)->attrs, PM_COUNTER_MEMBER, pm_text("C1"));
	builder_group(&b, PM_CPU, 8, 0, &idle, 1);
	energy = builder_counter(&b, "powercap.energy.package", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_counter_at(&b, energy)->scale.den = 1000000;
	builder_group(&b, PM_PACKAGE, 2, 0, &energy, 1);
	temp = builder_counter(&b, "thermal.temp", "Cel", PM_GAUGE, PM_AGG_MAX);
	builder_counter_at(&b, temp)->scale.den = 1000;
	builder_group(&b, PM_DEVICE, 2, 0, &temp, 1);
	for (uint64_t row = 0; row < rows; row += 10)
		builder_write(&b, row, rows - row < 10 ? (uint32_t)(rows - row) : 10);
	builder_finish(&b);
	return builder_save(&b, argv[1]);
}
