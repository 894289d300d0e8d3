/* The options of `pmrep show`. */
#pragma once

#include "common/options.h"
#include "report/export/exporter.h"
#include "report/input/outfile.h"
#include "report/pipeline/pipeline.h"

#define SHOW_WIDTH_UNSAID UINT32_MAX /* of export.width: that of the terminal */

struct show_options {
	struct pipeline_config pipeline;
	struct export_config export;
	unsigned form;                 /* --format: index of exporters */
	const struct sink_ops *format; /* this one */
	const char *out;               /* NULL or "-": stdout */
	const char *when;              /* NULL, or an expression that is waited for */
	const char *output_dir;        /* NULL, or where each recording gets a file */
	unsigned overwrite;            /* OUTFILE_OVERWRITE or 0 */
	enum pm_kind per;              /* --per-LEVEL; PM_KINDS: none was requested */
	bool spark, list, follow, strict, dump, quiet;
	struct vendor_files *vendor; /* owned; pipeline.bind points to it */
	char **file;                 /* borrowed of the command line */
	int n_files;
};

extern const struct options_spec show_spec;

/* The defaults, before spec.parser sees the command line. */
void show_options_init(struct show_options *o);
void show_options_release(struct show_options *o);
