/* The options of `pmrep diff`. */
#pragma once

#include "common/options.h"
#include "report/diff/diff.h"

extern const struct options_spec diff_spec;

void diff_options_init(struct diff_options *o);
void diff_options_release(struct diff_options *o);
/*
 * Words after --base and --new belong to them, up to the next option: rewrites "--base A B" to "--base=A" "--base=B",
 * because the parser separates options from operands. Free the result with diff_words_free(). 0 or -ENOMEM.
 */
int diff_words(int argc, char **argv, int *new_argc, char ***new_argv);
void diff_words_free(char **argv);
