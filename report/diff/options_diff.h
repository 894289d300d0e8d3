/* The options of `pmrep diff`. */
#ifndef REPORT_OPTIONS_DIFF_H
#define REPORT_OPTIONS_DIFF_H

#include "common/options.h"
#include "report/diff/diff.h"

extern const struct options_spec diff_spec;

void diff_options_init(struct diff_options *o);
void diff_options_release(struct diff_options *o);
/*
 * Words behind --base and --new belong to them, up to the next option: makes "--base=A" "--base=B" of "--base A B",
 * because options are parsed without regard to the operands around them. The result is to be freed with
 * diff_words_free(). 0 or -ENOMEM.
 */
int diff_words(int argc, char **argv, int *new_argc, char ***new_argv);
void diff_words_free(char **argv);

#endif
