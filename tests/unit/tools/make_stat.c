/* make_stat KIND FILE: a recording with known truth for pmrep stat (tests/unit/lib/stat_worlds.h). */
#include <stdio.h>

#include "tests/unit/lib/stat_worlds.h"

int main(int argc, char **argv)
{
	struct builder b;
	FILE *f;

	if (argc != 3 || !stat_world(&b, argv[1]))
		return 2;
	f = fopen(argv[2], "wb");
	if (!f || fwrite(b.file.data, 1, b.file.len, f) != b.file.len || fclose(f))
		return 1;
	builder_release(&b);
	return 0;
}
