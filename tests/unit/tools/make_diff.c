/* make_diff FILE [KEY=VALUE...]: a recording with known truth for pmrep diff (tests/unit/lib/diff_world.h). */
#include <stdio.h>

#include "tests/unit/lib/diff_world.h"

int main(int argc, char **argv)
{
	struct builder b;

	if (argc < 2 || !diff_world(&b, (size_t)argc - 2, argv + 2))
		return 2;
	return builder_save(&b, argv[1]);
}
