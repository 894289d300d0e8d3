/* Lists of options. */
#pragma once

#include "common/buf.h"

struct option_row;

/* For people: an entry for each option, under the headings of the rows. */
void options_put_help(struct buf *out, const struct option_row *row);
/* For completion and manual pages, a line for each long name that help lists: "--name", or "--name=" if it needs an
 * argument; that argument; the letters, such as "-c -C"; the help, empty for another name of the option before it.
 * TABs separate them. */
void options_put_list(struct buf *out, const struct option_row *row);
