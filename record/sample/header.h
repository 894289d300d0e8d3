/* The part of the header that follows from pmrec's options. */
#pragma once

#include "record/plan/plan.h"

/* Call it after machine_describe() and the sources' plans; `argv` is pmrec's. 0 or -errno. */
int header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv, struct error *e);
