/* Random bytes for ids and names, which must differ and need not be secret. */
#pragma once

#include <stddef.h>

/* Never waits: a machine that has just booted may gather entropy for minutes. 0 or -errno. */
int random_bytes(void *out, size_t n);
