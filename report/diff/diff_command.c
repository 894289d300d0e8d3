/* The kernel's numbers for a recorded command, as metrics. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "report/diff/diff_data.h"
#include "report/diff/diff_shown.h"

static bool no_other(void *ctx, const char *word)
{
	(void)ctx, (void)word;
	return false;
}

int diff_add_command(struct diff_data *d, struct diff_recordings *all, struct diff_options *o)
{
	static const struct {
		const char *name, *display, *unit;
		size_t offset;
		double scale;
	} row[] = {
		{ "command.elapsed", "Elapsed", "s", offsetof(struct diff_run, elapsed_ns), 1e-9 },
		{ "command.cpu", "CPU", "s", offsetof(struct diff_run, cpu_ns), 1e-9 },
		{ "command.user", "User", "s", offsetof(struct diff_run, user_ns), 1e-9 },
		{ "command.system", "System", "s", offsetof(struct diff_run, system_ns), 1e-9 },
		{ "command.max_rss", "MaxRSS", "By", offsetof(struct diff_run, max_rss), 1 },
	};

	for (size_t m = 0; m < sizeof(row) / sizeof(*row); m++) {
		struct diff_series as = {
			.metric = (char *)row[m].name,
			.display = (char *)row[m].display,
			.unit = (char *)row[m].unit,
			.where = (char *)"",
			.place = { .kind = PM_SYSTEM },
			.better = METRIC_LOWER,
		};
		struct diff_name name = {
			.metric = row[m].name,
			.display = row[m].display,
			.aliases = row[m].name + strlen("command."),
			.categories = "command",
			.exact = no_other,
		};

		as.gate = diff_gate_of(o, &name);
		diff_words_known(o, &name);
		if (!diff_chooses(o, &name, true))
			continue;
		for (size_t i = 0; i < all->n; i++) {
			struct diff_recording *r = &all->recording[i];

			for (uint32_t k = 0; k < r->n_runs; k++) {
				const struct diff_run *run = &r->run[k];
				struct diff_value *v;
				uint64_t number;
				int64_t s;

				memcpy(&number, (const char *)run + row[m].offset, sizeof(number));
				if (!run->exited)
					continue;
				s = diff_series_find(d, &as);
				v = s < 0 ? NULL : diff_series_value(&d->series[s], (uint32_t)i, run->run);
				if (!v)
					return -ENOMEM;
				v->v = (double)number * row[m].scale;
				r->values++;
			}
		}
	}
	return 0;
}
