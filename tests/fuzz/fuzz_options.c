/*
 * Command lines: NUL-separated words, the first byte chooses the program. What was understood must be understood the same
 * when it is said again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/options_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 64

struct operands {
	int n;
	char **word;
};

static int take(void *into, int n, char **operand, struct error *e)
{
	*(struct operands *)into = (struct operands){ n, operand };
	return 0;
}

static const struct option_row rows[] = {
	{ "all-cpus", 'a', NULL, "", NOTHING },
	{ "cpu", 'C', "LIST", "", NOTHING },
	{ "detailed", 'd', NULL, "", NOTHING },
	{ "interval", 'i', "SEC", "", NOTHING },
	{ "interval-count", 'n', "N", "", NOTHING },
	{ "num_iterations" },
	{ "no-inherit", 0, NULL, "", NOTHING },
	{ "inherit-all", 0, NULL, "", NOTHING },
	{ "report", 0, "WHAT", "", NOTHING, .optional = true },
	{ "base", 0, "FILE...", "", NOTHING, .many = true },
	{ 0 },
};

static size_t count(char *const *word)
{
	size_t n = 0;

	while (word[n])
		n++;
	return n;
}

/* The words of one reading, once more. */
static void say_again(struct options_spec *spec, struct options_common *once, const struct operands *operands)
{
	size_t n = count(once->said), argc = 0;
	char **argv = calloc(n + (size_t)operands->n + 3, sizeof(*argv));
	struct options_common twice = { 0 };
	struct operands again = { 0 };
	struct error e = { 0 };

	if (!argv)
		abort();
	argv[argc++] = (char *)"fuzz";
	memcpy(argv + argc, once->said, n * sizeof(*argv));
	argc += n;
	/* Behind an option that takes operands, "--" does not end them. */
	if (!n || strncmp(once->said[n - 1], "--base=", 7) || !operands->n) {
		argv[argc++] = (char *)"--";
		memcpy(argv + argc, operands->word, (size_t)operands->n * sizeof(*argv));
		argc += (size_t)operands->n;
		if (options_parse(spec, (int)argc, argv, &again, &twice, &e) || count(twice.said) != n ||
		    again.n != operands->n)
			abort();
		for (size_t i = 0; i < n; i++)
			if (strcmp(once->said[i], twice.said[i]))
				abort();
	}
	options_common_release(&twice);
	free(argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options_spec spec = { .name = "fuzz", .rows = rows, .operands = take };
	struct options_common common = { 0 };
	struct operands operands = { 0 };
	char *text, *argv[WORDS + 2];
	struct error e = { 0 };
	int argc = 0;

	if (!size)
		return 0;
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
	if (!options_parse(&spec, argc, argv, &operands, &common, &e))
		say_again(&spec, &common, &operands);
	options_common_release(&common);
	free(text);
	return 0;
}
