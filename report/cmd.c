#include "report/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/table.h"
#include "report/confine.h"
#include "report/input/follow.h"
#include "report/input/input.h"
#include "report/input/memory.h"
#include "report/metric/vendor_files.h"
#include "report/pager.h"
#include "report/pipeline/pipeline.h"

/* What an honest recording needs at most: this, and so many times its own size. A single limit for all files would
 * either give a few kilobytes of a stranger what an hour of short tasks needs, or refuse that hour; and a small
 * machine can spare less than 1 GiB. */
#define MEMORY_LEAST  ((uint64_t)256 << 20)
#define MEMORY_MOST   ((uint64_t)2 << 30)
#define MEMORY_A_BYTE 64

void cmd_complain(const char *command, const char *format, ...)
{
	SCOPED(buf_release) struct buf shown = BUF_INIT, line = BUF_INIT;
	va_list ap;

	va_start(ap, format);
	buf_vprintf(&line, format, ap);
	va_end(ap);
	text_escape(&shown, buf_str(&line), strlen(buf_str(&line)));
	/* `pmrec dump` runs merge under its own name, which is the one that the user knows. */
	if (!strncmp(program_invocation_name, "pmrec ", 6))
		command = program_invocation_name;
	fprintf(stderr, "%s: %s\n", command, buf_str(&shown));
}

void cmd_complain_lines(const char *command, const char *what, struct buf *lines)
{
	for (const char *line = buf_str(lines); *line;) {
		size_t len = strcspn(line, "\n");

		cmd_complain(command, "%s: %.*s", what, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

int cmd_fail(const char *command, const struct error *e)
{
	char hint[80];

	cmd_complain(command, "%s%s", e->text[0] ? e->text : strerror(e->number),
		     e->number == ENOMEM ? memory_hint(hint) : "");
	return EXIT_TROUBLE;
}

void cmd_write(struct buf *b)
{
	memory_whole(b);
	if (b->len)
		fwrite(b->data, 1, b->len, stdout);
	buf_clear(b);
}

bool cmd_complain_skipped(const char *command, struct vendor_files *files)
{
	SCOPED(buf_release) struct buf lines = BUF_INIT;

	vendor_files_skipped(files, &lines);
	cmd_complain_lines(command, "--metrics-file", &lines);
	return lines.len > 0;
}

void cmd_follow(struct pipeline_config *config, struct follow *f, const char *path, bool on)
{
	follow_init(f, path);
	if (!on || !strcmp(path, "-"))
		return;
	config->wait = follow_wait;
	config->wait_ctx = f;
}

int cmd_judge(const struct pipeline_result *r, const char *path, bool followed)
{
	bool open = r->cut_only && !r->damaged && !followed && input_being_written(path);

	return !open && (r->damaged || r->cut_only) ? EXIT_DAMAGED : EXIT_GOOD;
}

unsigned cmd_width(int fd)
{
	struct winsize size;

	if (fd == STDOUT_FILENO && pager_width())
		return pager_width();
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

/* The limit for the files that the words name. */
static uint64_t memory_for(int argc, char **argv)
{
	uint64_t most = MEMORY_LEAST;
	struct stat st;

	for (int i = 1; i < argc; i++)
		if (!stat(argv[i], &st) && S_ISREG(st.st_mode) && most < MEMORY_MOST)
			most += (uint64_t)st.st_size * MEMORY_A_BYTE;
	return most < MEMORY_MOST ? most : MEMORY_MOST;
}

int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common)
{
	struct options_spec reader = *spec;
	struct error e = { 0 };
	int r;

	reader.reads = true;
	common->max_memory = memory_for(argc, argv);
	r = options_parse(&reader, argc, argv, input, common, &e);
	if (!r) {
		confine_memory(common->max_memory);
		/* Once confined, this process can start no program. */
		common->paged = pager_start(spec->paged && !common->no_pager && spec->paged(input), spec->saves);
		confine(argc, argv);
		return -1;
	}
	if (r < 0)
		return cmd_fail(spec->name, &e);
	cmd_write(&common->text);
	return 0;
}

int cmd_run(const struct options_spec *spec, int argc, char **argv, void *input,
	    int (*run)(void *input, const struct options_common *common))
{
	struct options_common common = { 0 };
	int status = cmd_options(spec, argc, argv, input, &common);

	status = status < 0 ? run(input, &common) : status;
	options_common_release(&common);
	return status;
}

int cmd_run_each(const struct options_spec *spec, int argc, char **argv, void *input,
		 int (*one)(const void *input, const char *path, const struct options_common *common))
{
	struct options_common common = { 0 };
	const struct cmd_files *files = input;
	int status = cmd_options(spec, argc, argv, input, &common), worst = EXIT_GOOD;

	for (int i = 0; status < 0 && i < files->n; i++) {
		int of_one = one(input, files->path[i], &common);

		if (worst != EXIT_TROUBLE && (of_one > worst || of_one == EXIT_TROUBLE))
			worst = of_one;
	}
	options_common_release(&common);
	return status < 0 ? worst : status;
}

int cmd_files(void *into, int n, char **operand, struct error *e)
{
	*(struct cmd_files *)into = (struct cmd_files){ operand, n };
	return n ? 0 : error_set(e, EINVAL, "no recording given; try --help");
}

int cmd_file(void *into, int n, char **operand, struct error *e)
{
	if (n > 1)
		return error_set(e, EINVAL, "one recording at a time; try --help");
	return cmd_files(into, n, operand, e);
}
