/* The options of `pmrep stat`. */
#pragma once

#include "common/options.h"
#include "report/export/exporter.h"
#include "report/input/outfile.h"
#include "report/pipeline/pipeline.h"
#include "report/stat/stat.h"

struct stat_options {
	struct pipeline_config pipeline;
	struct export_config export;
	struct stat_config stat;
	const struct sink_ops *tidy; /* --format: our own rows instead of perf's */
	const char *out;             /* NULL: stdout */
	unsigned out_flags;          /* outfile_flags */
	int log_fd;                  /* --log-fd; -1: none */
	int cache_level;             /* of --per-cache=L2; 0: the last */
	unsigned td_level;
	bool follow, strict, quiet, csv, json;
	struct vendor_files *vendor; /* owned; of --metrics-file */
	char **file;                 /* borrowed of the command line */
	int n_files;
};

extern const struct options_spec stat_spec;

/* The defaults, before the parser sees the command line: perf's, and what perf's configuration files say
 * under [stat]. A line about a file that cannot be understood goes to `notes`. */
void stat_options_init(struct stat_options *o, struct buf *notes);
void stat_options_release(struct stat_options *o);

/* Takes the [stat] section of the text of such a file. 0, or -EINVAL with the key in *e. */
int stat_config_read(struct stat_config *c, const char *text, struct error *e);
