/* Shared by options.c and options_parse.c. */
#pragma once

#include <argp.h>

/* --help, --version, --color; its input is the struct options_common. */
const struct argp *options_common_of(const struct options_spec *spec);
