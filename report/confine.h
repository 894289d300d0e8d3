/* What a command still may do once it knows its words: read the files they name, and make the one they say. */
#ifndef REPORT_CONFINE_H
#define REPORT_CONFINE_H

#include <stdint.h>

/* For good; argv[0] is the command's name. Where the kernel lacks the means, as far as it goes. */
void confine(int argc, char **argv);

/* All of this process, from here on, in bytes; 0: no limit. What asks for more gets ENOMEM. Nothing with sanitizers,
 * whose own memory is beyond all limits. */
void confine_memory(uint64_t most);
uint64_t confine_memory_limit(void);

#endif
