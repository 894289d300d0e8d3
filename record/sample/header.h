/* What a recording says about how it was made: the part of the header that pmrec knows from its options. */
#ifndef RECORD_HEADER_H
#define RECORD_HEADER_H

#include "record/plan/plan.h"

/* After machine_describe() and the sources' plans; `argv`: how pmrec was called. 0 or -errno. */
int header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv, struct error *e);

#endif
