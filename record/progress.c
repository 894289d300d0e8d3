#include "record/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "record/host/clocks.h"

void progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){ .on = !quiet && isatty(STDERR_FILENO), .start_ns = clocks_monotonic() };
}

void progress_show(struct progress *p, const struct recording_stats *stats)
{
	uint64_t seconds = (clocks_monotonic() - p->start_ns) / 1000000000u;
	struct buf line = BUF_INIT;

	if (!p->on)
		return;
	buf_printf(&line, "\r\033[Kpmrec: %u:%02u:%02u  %llu snapshot%s  ", (unsigned)(seconds / 3600),
		   (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60), (unsigned long long)stats->snapshots,
		   stats->snapshots == 1 ? "" : "s");
	buf_bytes(&line, stats->bytes);
	if (stats->lost)
		buf_printf(&line, "  %llu lost tick%s", (unsigned long long)stats->lost, stats->lost == 1 ? "" : "s");
	fputs(buf_str(&line), stderr);
	fflush(stderr);
	buf_release(&line);
	p->shown = true;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
