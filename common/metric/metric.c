#include "common/metric/metric.h"

#include "common/metric/tables.h"

#define TABLE(subject) \
	{ .name = #subject, .row = metric_##subject, .n = sizeof(metric_##subject) / sizeof(metric_##subject[0]) }

const struct metric_table metric_tables[] = {
	TABLE(time),
	TABLE(scheduler),
	TABLE(idle),
	TABLE(frequency),
	TABLE(interrupts),
	TABLE(memory),
	TABLE(pressure),
	TABLE(thermal),
	TABLE(power),
	TABLE(turbostat),
	TABLE(perf),
	TABLE(stat),
	TABLE(nvidia),
	TABLE(grace),
	{ .row = NULL },
};
