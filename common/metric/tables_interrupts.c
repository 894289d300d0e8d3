/* Interrupts and soft interrupts. */
#include "common/metric/tables.h"

/* Tables: a row is read as a row. */
/* clang-format off */
const struct metric metric_interrupts[] = {
	{ .name = "irq", .display = "IRQ/s", .categories = "interrupts,other", .unit = "1/s",
	  .scope = METRIC_CPU, .better = METRIC_LOWER, .default_on = true, .expr = "rate(interrupts.total)",
	  .help = "Interrupts a second, of all lines" },
	{ .name = "irq.*", .display = "irq.*", .categories = "interrupts,irqs", .each = "interrupts.irq",
	  .unit = "1/s", .precision = 1, .scope = METRIC_CPU, .expr = "rate(interrupts.*)",
	  .help = "Interrupts a second of line *" },
	{ .name = "softirq.*", .display = "softirq.*", .categories = "interrupts,softirqs", .each = "softirqs.vec",
	  .unit = "1/s", .precision = 1, .scope = METRIC_CPU, .expr = "rate(softirqs.*)",
	  .help = "Soft interrupts a second of kind *" },
};
METRIC_TABLE_END(interrupts);
