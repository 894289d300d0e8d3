/* The words of a command line, in order, each tied to the option that it names. */
#pragma once

#include <stddef.h>

#include "common/error.h"
#include "common/options_known.h"

struct option_word {
	const struct option_row *option; /* NULL: taken back by --no-NAME */
	void *into;
	char *value; /* NULL: none */
};

struct option_words {
	struct option_word *word;
	size_t n;
	char **operand; /* up to NULL; the array is the caller's to free, the texts are argv's */
	int n_operands;
};

/* Reads argv[1..] by the rules of options_parse(). 0 or -errno with the text in *e; release `words` in any case. */
int options_read(const struct options_spec *spec, const struct known_options *known, int argc, char **argv,
		 struct option_words *words, struct error *e);
void option_words_release(struct option_words *words);
