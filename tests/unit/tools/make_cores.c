/*
 * make_cores SLOTS FILE <COUNTS: a recording of events of Arm cores. Each line of stdin is an event and what CPUs 0
 * and 1 count of it in the one second that the recording has.
 */
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/test.h"

#define MOST 512
#define PMU  "armv8_pmuv3_0"

struct counts {
	char name[MOST][96];
	uint64_t v[MOST][2];
	uint32_t n;
};

static struct reading value(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct counts *c = b->data;

	for (uint32_t k = 0; k < c->n; k++)
		if (!strcmp(counter, c->name[k]))
			return (struct reading){ .v = row * c->v[k][i->number] };
	return (struct reading){ .v = row * 1000000000 };
}

static void add_pmu(struct builder *b, const char *slots)
{
	struct pm_value caps = pm_array(1);
	struct pm_pmu pmu = { 0 };

	caps.array.item[0] = pm_array(2);
	caps.array.item[0].array.item[0] = pm_text("slots");
	caps.array.item[0].array.item[1] = pm_text(slots);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text(PMU)), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CPUS, pm_text("0-7")), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CAPS, caps), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
}

int main(int argc, char **argv)
{
	static struct counts c;
	struct builder b;
	char event[80];

	if (argc != 3)
		return 2;
	builder_init(&b, value);
	b.data = &c;
	add_pmu(&b, argv[1]);
	while (c.n < MOST && scanf("%79s %lu %lu", event, &c.v[c.n][0], &c.v[c.n][1]) == 3) {
		struct pm_counter row = { .name = c.name[c.n],
					  .display = c.name[c.n],
					  .source = (char *)"perf",
					  .unit = (char *)"1",
					  .scale = { .num = 1, .den = 1 },
					  .type = PM_U64,
					  .semantics = PM_CUMULATIVE,
					  .width = 64,
					  .aggregation = PM_AGG_SUM };
		int64_t id;
		uint32_t counter;

		snprintf(c.name[c.n], sizeof(c.name[0]), PMU "/%s/", event);
		pm_map_set(&row.attrs, PM_COUNTER_PERF_PMU, pm_text(PMU));
		pm_map_set(&row.attrs, PM_COUNTER_PERF_EVENT, pm_text(c.name[c.n]));
		pm_map_set(&row.attrs, PM_COUNTER_PERF_USER_TEXT, pm_text(event));
		id = pm_model_add_counter(&b.model, &row);
		pm_map_release(&row.attrs);
		assert_true(id > 0);
		counter = (uint32_t)id;
		c.n++;
		builder_group(&b, PM_CPU, 2, PM_GROUP_PERF_TIMES, &counter, 1);
	}
	builder_write(&b, 0, 2);
	builder_finish(&b);
	return builder_save(&b, argv[2]);
}
