/* The command line of pmrec. */
#pragma once

#include "common/options.h"
#include "record/plan/plan.h"

struct record_cmdline {
	struct record_options options;
	struct options_common common;
};

/* As options_parse(): 0, 1 (common.text is to be printed) or -errno. The strings live until the release. */
int record_cmdline_parse(struct record_cmdline *c, int argc, char **argv, struct error *e);
void record_cmdline_release(struct record_cmdline *c);
