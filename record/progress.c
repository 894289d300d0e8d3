#include "record/progress.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "common/number.h"

void progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){ .on = !quiet && isatty(STDERR_FILENO), .start_ns = clocks_monotonic() };
}

void progress_put(const struct progress *p, const struct recording_stats *stats, struct buf *out)
{
	uint64_t seconds = (clocks_monotonic() - p->start_ns) / 1000000000u;

	buf_printf(out, "%u:%02u:%02u  %llu snapshot%s  ", (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
		   (unsigned)(seconds % 60), (unsigned long long)stats->snapshots, plural(stats->snapshots));
	buf_bytes(out, stats->bytes);
	if (stats->lost)
		buf_printf(out, "  %llu lost tick%s", (unsigned long long)stats->lost, plural(stats->lost));
}

void progress_show(struct progress *p, const struct recording_stats *stats)
{
	SCOPED(buf_release) struct buf line = BUF_INIT;
	struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* Who waits for a terminal that takes nothing, as after Ctrl-S, obeys no signal. */
	if (!p->on || poll(&terminal, 1, 0) != 1 || !(terminal.revents & POLLOUT))
		return;
	buf_addstr(&line, "\r\033[Kpmrec: ");
	progress_put(p, stats, &line);
	fputs(buf_str(&line), stderr);
	fflush(stderr);
	p->shown = true;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
