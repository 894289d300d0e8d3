/*
 * turbostat's command lines given to pmrep show, with a recording in the place of its command; and the table of
 * letters beside the options that show has.
 */
#include "common/options_table.h"
#include "report/export/exporter.h"
#include "report/cmd_show.c"
#include "tests/unit/lib/test.h"

#define WORDS 12

struct example {
	const char *word[WORDS];
	const char *error; /* part of the message; NULL: understood */
};

static const struct example examples[] = {
	{ { "--show", "sysfs", "--quiet", "x.pmr" } },
	{ { "-o", "ts.out", "x.pmr" } },
	{ { "--quiet", "--hide", "sysfs,IRQ,SMI,CoreTmp,PkgTmp,GFX%rc6,GFXMHz,PkgWatt,CorWatt,GFXWatt", "x.pmr" } },
	{ { "--quiet", "--cpu", "0-3", "--show", "CPU", "x.pmr" } },
	{ { "--quiet", "--cpu", "0-3", "--show", "CPU", "--add", "msr0x199,u32,raw,PRF_CTRL", "x.pmr" } },
	{ { "--cpu", "1,2,8,14..17,21-44", "x.pmr" } },
	{ { "--cpu", "core", "x.pmr" } },
	{ { "-cpu", "package", "x.pmr" } },
	{ { "--enable", "Time_Of_Day_Seconds", "x.pmr" } },
	{ { "-enable", "all", "x.pmr" } },
	{ { "--interval", "5", "x.pmr" } },
	{ { "-interval", "5", "x.pmr" } },
	{ { "-i", "0.5", "x.pmr" } },
	{ { "-num_iter=3", "x.pmr" } },
	{ { "--num_iterations", "3", "x.pmr" } },
	{ { "-header_it", "10", "x.pmr" } },
	{ { "--Summary", "x.pmr" } },
	{ { "-SJq", "x.pmr" } },
	{ { "-Sum", "x.pmr" } },
	{ { "--Joules", "x.pmr" } },
	{ { "--list", "x.pmr" } },
	{ { "-TCC", "100", "x.pmr" } },
	{ { "-T", "100", "x.pmr" } },
	{ { "--debug", "x.pmr" } },
	{ { "--no-msr", "-P", "x.pmr" } },
	{ { "-M", "--no-perf", "x.pmr" } },
	{ { "--force", "x.pmr" } },
	{ { "--IPC", "x.pmr" } },
	{ { "--out", "ts.out", "x.pmr" } },
	{ { "--Dump", "x.pmr" } },
	{ { "-I", "x.pmr" }, "--show=IPC" },
	{ { "-x", ",", "x.pmr" }, "--format=csv" },
	{ { "-A", "x.pmr" }, "--per-cpu" },
	{ { "-e" }, "needs a value" },
	{ { "--per-socket", "x.pmr" } },
	{ { "--interval-clear", "x.pmr" } },
	{ { "--sources=perf", "x.pmr" }, "belongs to pmrec" },
};

static void turbostat(void **state)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		char *argv[WORDS + 2] = { (char *)"show" };
		struct options_common common = { 0 };
		struct show_options o = { .per = PM_KINDS };
		struct error e = { 0 };
		int argc = 1, r;

		for (; examples[i].word[argc - 1]; argc++)
			argv[argc] = (char *)examples[i].word[argc - 1];
		r = options_parse(&show_spec, argc, argv, &o, &common, &e);
		if (!examples[i].error && (r || o.n_files != 1 || strcmp(o.file[0], "x.pmr")))
			fail_msg("line %zu: %d '%s'", i, r, e.text);
		if (examples[i].error && (r != -EINVAL || !strstr(e.text, examples[i].error)))
			fail_msg("line %zu: %d '%s' instead of '%s'", i, r, e.text, examples[i].error);
		selection_release(&o.pipeline.selection);
		cpulist_release(&o.pipeline.sheet.cpus);
		vendor_files_free(o.vendor);
		for (size_t k = 0; k < o.n_added; k++)
			add_release(&o.added[k]);
		free(o.added);
		options_common_release(&common);
	}
}

/* The option's row cannot be made from the table of formats, which only pmrep has. */
static void formats_are_listed(void **state)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	const struct option_row *row = show_spec.rows;

	while (!row->name || strcmp(row->name, "format"))
		row++;
	for (size_t i = 0; exporters[i]; i++)
		buf_printf(&all, "%s%s", i ? "|" : "", exporters[i]->name);
	assert_string_equal(row->argument, buf_str(&all));
}

UNIT_TESTS(cmocka_unit_test(turbostat), cmocka_unit_test(formats_are_listed))
