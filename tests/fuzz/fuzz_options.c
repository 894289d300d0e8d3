/*
 * Command lines: NUL-separated words, the first byte chooses the program. Whatever is rewritten must rewrite to
 * itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 64

/* clang-format off */
static const struct argp_option options[] = {
	{ "all-cpus", 'a', NULL, 0, "" },     { "cpu", 'C', "LIST", 0, "" },
	{ "detailed", 'd', NULL, 0, "" },     { "interval", 'i', "SEC", 0, "" },
	{ "interval-count", 'n', "N", 0, "" }, { "num_iterations", 0, NULL, OPTION_ALIAS },
	{ "no-inherit", 1001, NULL, 0, "" },  { "inherit-all", 1002, NULL, 0, "" },
	{ "report", 1003, "WHAT", OPTION_ARG_OPTIONAL, "" }, { NULL, 'z', "VALUE", 0, "" },
	{ NULL, 'y', NULL, 0, "" },
	{ 0 },
};
/* clang-format on */
static const struct argp argp = { .options = options };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options_spec spec = { .name = "fuzz", .argp = &argp };
	char *text, *argv[WORDS + 2], **once = NULL, **twice = NULL;
	int argc = 0, n1 = 0, n2 = 0;
	struct error e = { 0 };

	if (!size)
		return 0;
	spec.column = (enum options_column)(data[0] % OPTIONS_COLUMNS);
	spec.command = data[0] & 0x80;
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	argv[argc++] = (char *)"fuzz";
	for (size_t at = 0; at < size && argc <= WORDS; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	if (!options_rewrite(&spec, argc, argv, &n1, &once, &e)) {
		if (options_rewrite(&spec, n1, once, &n2, &twice, &e) || n1 != n2)
			abort();
		for (int i = 0; i < n1; i++)
			if (strcmp(once[i], twice[i]))
				abort();
		options_argv_free(twice);
		options_argv_free(once);
	}
	free(text);
	return 0;
}
