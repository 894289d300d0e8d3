/* pmrep redact: removes from recordings what identifies the machine, a person or the time. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/number.h"

static const char brief[] =
	"Usage: pmrep redact [OPTION...] [-o OUT.pmr] FILE...\n"
	"Copy recordings without anything that identifies a machine, a person or a workload.\n\n"
	"Known technical fields stay. Names become random pseudonyms (host-1a2b3c4d), and dropped names are\n"
	"removed from all other texts, too. pmrep info OUT.pmr shows what still identifies.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep redact -o public.pmr host.pmr\n"
	"  pmrep redact --map=~/private.map --shift-time -o public/ host1.pmr host2.pmr\n"
	"  pmrep redact --keep=bios,product,labels -o public.pmr host.pmr\n";

struct redact_job {
	struct cmd_copy copy;
	bool directory;
	struct redact_options options;
	struct redact *redact;
	bool damaged;
};

#define OPTIONS_INTO struct redact_job
static const struct option_row rows[] = { CMD_COPY_OPTIONS, CMD_REDACT_OPTIONS, { 0 } };

static const struct options_spec spec = {
	.name = "pmrep redact",
	.rows = rows,
	.operands = cmd_copy_files,
	.operands_doc = "FILE...",
	.brief = brief,
};

/* The path of the output for the current recording. A name that is taken gets a number. */
static void name_output(const struct redact_job *j, struct buf *path)
{
	size_t len;

	if (j->copy.output && !j->directory) {
		buf_addstr(path, j->copy.output);
		memory_whole(path);
		return;
	}
	if (j->copy.output)
		buf_printf(path, "%s/", j->copy.output);
	redact_file_name(j->redact, path);
	len = path->len;
	buf_addstr(path, ".pmr");
	for (unsigned n = 2; !j->copy.overwrite && !access(buf_str(path), F_OK); n++) {
		path->len = len;
		buf_printf(path, ".%u.pmr", n);
	}
	memory_whole(path);
}

static int redact_one(struct redact_job *j, const char *file, struct error *e)
{
	struct rewrite_rules rules = { .history = "redacted", .redact = j->redact };
	struct rewrite_result result;
	SCOPED(buf_release) struct buf path = BUF_INIT;
	struct outfile out = { .fd = -1 };
	SCOPED(spool_close) struct spool in = { .fd = -1 };
	int err = spool_open(&in, file, SPOOL_TWICE, e);

	if (!err)
		err = redact_look(j->redact, &in, e);
	name_output(j, &path);
	if (!err)
		err = outfile_open(&out, buf_str(&path), j->copy.overwrite | OUTFILE_BINARY, j->copy.files.path,
				   (size_t)j->copy.files.n, e);
	if (!err)
		err = rewrite_all(&rules, 1, rewrite_spool, &in, outfile_write, &out, &result, e);
	/* Write the map first: without it even its owner could not interpret the pseudonyms. */
	if (!err)
		err = redact_save(j->redact, e);
	err = outfile_end(&out, err, e);
	if (!err) {
		cmd_complain(spec.name, "%s: %llu snapshot%s", buf_str(&path),
			     (unsigned long long)result.snapshots_out, plural(result.snapshots_out));
		j->damaged |= cmd_copied(spec.name, file, &result) != EXIT_GOOD;
	}
	return err;
}

static int run(void *input, const struct options_common *common)
{
	struct redact_job *j = input;
	struct error e = { 0 };
	int err = 0;

	j->directory = j->copy.output && cmd_copy_is_directory(j->copy.output);
	if (j->copy.files.n > 1 && j->copy.output && !j->directory)
		err = error_set(&e, ENOTDIR, "'%s' is not a directory; several files need one as output",
				j->copy.output);
	if (!err)
		err = cmd_copy_map(&j->copy, j->options.map, &e);
	if (!err)
		err = redact_new(&j->redact, &j->options, &e);
	for (int i = 0; i < j->copy.files.n && !err; i++)
		err = redact_one(j, j->copy.files.path[i], &e);
	redact_free(j->redact);
	if (err)
		return cmd_fail(spec.name, &e);
	return j->damaged ? EXIT_DAMAGED : EXIT_GOOD;
}

int cmd_redact(int argc, char **argv)
{
	struct redact_job j = { .copy.names_itself = true };

	return cmd_run(&spec, argc, argv, &j, run);
}
