/* dictionary.bin is part of the format: it never changes, and another dictionary would get another codec number. */
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
