#include "common/metric/metric.h"

#include "common/metric/tables.h"

#define TABLE(subject) \
	{ \
		.name = #subject, .row = metric_##subject, .n = METRIC_ROWS_##subject \
	}

const struct metric_table metric_tables[] = {
	TABLE(time),   TABLE(scheduler), TABLE(idle),    TABLE(frequency), TABLE(interrupts),
	TABLE(memory), TABLE(pressure),  TABLE(thermal), TABLE(power),     TABLE(turbostat),
	TABLE(perf),   TABLE(stat),      TABLE(nvidia),  TABLE(grace),     { .row = NULL },
};
