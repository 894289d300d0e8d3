/* pmrep info: what was recorded, on which machine, how well, and what the file reveals. */
#include "report/cmd.h"

#include <errno.h>
#include <unistd.h>

#include "common/options_table.h"
#include "report/info/info.h"
#include "report/machine/pci.h"

static const char brief[] =
	"Usage: pmrep info [OPTION...] FILE...\n"
	"Print what was recorded, on which machine, how well, and what the file reveals.\n\n"
	"Values that identify the machine, a person or the time of the recording are marked\n"
	"[machine], [person] or [time]; what could not be recorded is listed, with the reason.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep info host.pmr\n"
	"  pmrep info --format=json host.pmr | jq .topology\n"
	"  pmrep info --pci --all vera.pmr\n"
	"  pmrec -o - sleep 1 | pmrep info -\n";

struct info {
	struct cmd_files files; /* first */
	enum cmd_format format;
	bool all, pci;
};

#define OPTIONS_INTO struct info
static const struct option_row rows[] = {
	{ "all", 0, NULL, "one-time values and all events too", FLAG(all) },
	{ "pci", 0, NULL,
	  "only the PCI root ports and where they belong; with --all, also the PMUs and devices of each", FLAG(pci) },
	{ "format", 0, "text|json", "text (default) or json: one object per file, with everything", WORD(format) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep info",
	.rows = rows,
	.operands = cmd_files,
	.operands_doc = "FILE...",
	.brief = brief,
	.paged = options_always_paged,
};

static int info_file(const void *input, const char *path, const struct options_common *common)
{
	const struct info *i = input;
	SCOPED(buf_release) struct buf out = BUF_INIT;
	struct error e = { 0 };
	SCOPED(json_scoped) struct json *j = NULL;
	SCOPED(scan_release) struct scan s = { 0 };

	if (scan_path(&s, path, SCAN_VALUES | SCAN_TIMES | SCAN_INDEX, &e))
		return cmd_fail(spec.name, &e);
	if (i->pci && i->format != CMD_JSON) {
		const char *none;

		if (info_pci_text(pm_reader_model(s.reader), i->all, &out, &none) == -EINVAL || none) {
			cmd_complain(spec.name, "%s: %s", path,
				     none ? none : "the recorded table of root ports is malformed");
			return none ? EXIT_NEGATIVE : EXIT_TROUBLE;
		}
	} else if (i->format == CMD_JSON) {
		j = i->pci ? info_pci_json(pm_reader_model(s.reader)) : info_json(path, &s);
		json_print(j, 0, &out);
		buf_addch(&out, '\n');
	} else {
		info_text(path, &s, i->all, cmd_width(STDOUT_FILENO), options_use_color(common, STDOUT_FILENO), &out);
	}
	cmd_write(&out);
	return cmd_judge_file(spec.name, path, scan_damaged(&s));
}

int cmd_info(int argc, char **argv)
{
	return cmd_run_each(&spec, argc, argv, &(struct info){ 0 }, info_file);
}
