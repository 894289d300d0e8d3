/* Whether BPF programs can count on this machine, and why not. */
#pragma once

#include "common/error.h"

/* Loads a program that does nothing, and makes a map. 0, or -errno with cause and cure in *e. */
int bpf_check(struct error *e);
/* Attaches to a program of its own that never runs, as -b does to others. 0, or -errno with cause and cure in *e. */
int bpf_check_attach(struct error *e);
/* Puts the sentence for a failure to attach to a program into *e; returns the -errno. */
int bpf_attach_refused(int err, struct error *e);
