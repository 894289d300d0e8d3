/* Confines a command to the files that it reads and writes. */
#pragma once

#include <stdint.h>

/* Permanent, and as far as the kernel has the means; argv[0] is the command's name. */
void confine(int argc, char **argv);

/* Limits the memory of this process, in bytes; 0: no limit. Allocations beyond it fail with ENOMEM. No effect with
 * sanitizers, which need more. */
void confine_memory(uint64_t most);
