/* Whether BPF programs can count on this machine, and why not. */
#pragma once

#include "record/host/root.h"

/* Loads a program that does nothing. 0, or -errno with cause and cure in *e. */
int bpf_check(const struct root *root, struct error *e);
/* Does all but the last step of attaching to a program, as -b does. 0, or -errno with cause and cure in *e. */
int bpf_check_attach(struct error *e);
/* Puts the sentence for a failure to attach to a program into *e; returns the -errno. */
int bpf_attach_refused(int err, struct error *e);
