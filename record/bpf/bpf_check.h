/* Whether this machine lets BPF programs count, and if not, why. */
#ifndef RECORD_BPF_CHECK_H
#define RECORD_BPF_CHECK_H

#include "common/error.h"
#include "record/host/root.h"

/* Loads a program that does nothing. 0, or -errno with cause and cure in *e. */
int bpf_check(const struct root *root, struct error *e);
/* Attaches, but for the last step, to a program that does nothing, as -b does to others. 0, or -errno with cause and
 * cure in *e. */
int bpf_check_attach(struct error *e);
/* The sentence for a program that the kernel does not attach to another one, with this -errno; returns it. */
int bpf_attach_refused(int err, struct error *e);

#endif
