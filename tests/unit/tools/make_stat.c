/* make_stat KIND FILE: a recording with known truth for pmrep stat (tests/unit/lib/stat_worlds.h). */
#include <stdio.h>

#include "tests/unit/lib/stat_worlds.h"

int main(int argc, char **argv)
{
	struct builder b;

	if (argc != 3 || !stat_world(&b, argv[1]))
		return 2;
	return builder_save(&b, argv[2]);
}
