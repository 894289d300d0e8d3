/* Says what a file is, if it is not a recording. */
#include <stdbool.h>
#include <string.h>

#include "format/reader_private.h"

static const struct {
	const char *magic;
	size_t len, at;
	const char *name;
} magics[] = {
	{ "\x50\x05\x26", 3, 4, "a PCP archive (its reporter is also called pmrep: /usr/bin/pmrep of package pcp)" },
	{ "PERFILE2", 8, 0, "a perf.data file" },
	{ "2ELIFREP", 8, 0, "a perf.data file" },
	{ "\x1f\x8b", 2, 0, "a gzip file" },
	{ "\x28\xb5\x2f\xfd", 4, 0, "a zstd file" },
	{ "\xfd"
	  "7zXZ\0",
	  6, 0, "an xz file" },
	{ "BZh", 3, 0, "a bzip2 file" },
	{ "PK\3\4", 4, 0, "a zip file" },
	{ "\x7f"
	  "ELF",
	  4, 0, "a program (ELF)" },
	{ "#!", 2, 0, "a script" },
	{ "\x75\x21", 2, 0, "a sysstat file" },
	{ "\x21\x75", 2, 0, "a sysstat file" },
	{ "\x17\x08\x44tracing", 10, 0, "a trace.dat file" },
	{ "SQLite format 3", 15, 0, "an SQLite database" },
	{ "%PDF-", 5, 0, "a PDF file" },
	{ "\x89PNG", 4, 0, "a picture" },
	{ "<!DOCTYPE", 9, 0, "an HTML page" },
	{ "<html", 5, 0, "an HTML page" },
};

bool sniff_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i] < 9 || (head[i] > 13 && head[i] < 32) || head[i] == 127)
			return false;
	return true;
}

const char *sniff(const uint8_t *head, size_t len)
{
	if (!len)
		return "empty";
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (len >= magics[i].at + magics[i].len &&
		    !memcmp(head + magics[i].at, magics[i].magic, magics[i].len))
			return magics[i].name;
	return sniff_text(head, len) ? "a text file" : NULL;
}
