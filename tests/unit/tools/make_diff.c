/* make_diff FILE [KEY=VALUE...]: a recording with known truth for pmrep diff (tests/unit/lib/diff_world.h). */
#include <stdio.h>

#include "tests/unit/lib/diff_world.h"

int main(int argc, char **argv)
{
	struct builder b;
	FILE *f;

	if (argc < 2 || !diff_world(&b, (size_t)argc - 2, argv + 2))
		return 2;
	f = fopen(argv[1], "wb");
	if (!f || fwrite(b.file.data, 1, b.file.len, f) != b.file.len || fclose(f))
		return 1;
	builder_release(&b);
	return 0;
}
