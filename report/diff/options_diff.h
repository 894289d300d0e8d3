/* The options of `pmrep diff`. */
#pragma once

#include "common/options.h"
#include "report/diff/diff.h"

extern const struct options_spec diff_spec;

void diff_options_init(struct diff_options *o);
void diff_options_release(struct diff_options *o);
