/* dictionary.bin, which belongs to the format: it never changes, and another one would have another codec number. */
#include "format/compress.h"

/* clang-format off */
__asm__(".section .rodata\n"
	".global pm_dictionary\n"
	".global pm_dictionary_end\n"
	".balign 16\n"
	"pm_dictionary:\n"
	".incbin \"" PM_DICTIONARY "\"\n"
	"pm_dictionary_end:\n"
	".previous\n");
/* clang-format on */
