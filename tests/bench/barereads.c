/*
 * The bare loop that a recorder cannot do without: at absolute deadlines, one pread of every place. What it costs is
 * the machine's share; the benchmarks subtract it from both sides.
 *
 *   barereads PERIOD_NS COUNT < lines of "OFFSET SIZE TIMES PATH"
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct place {
	int fd;
	off_t offset;
	size_t size;
	unsigned times;
};

static size_t load(struct place **places)
{
	unsigned long long offset;
	size_t n = 0, size;
	unsigned times;
	char path[512];

	while (scanf("%llu %zu %u %511s", &offset, &size, &times, path) == 4) {
		struct place *grown = realloc(*places, (n + 1) * sizeof(*grown));

		if (!grown)
			return 0;
		*places = grown;
		grown[n] = (struct place){
			.fd = open(path, O_RDONLY), .offset = (off_t)offset, .size = size, .times = times
		};
		if (grown[n].fd < 0) {
			fprintf(stderr, "barereads: %s: %s\n", path, strerror(errno));
			return 0;
		}
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	static char text[65536];
	struct place *place = NULL;
	struct timespec next;
	size_t n;

	if (argc != 3 || !(n = load(&place)))
		return 2;
	prctl(PR_SET_TIMERSLACK, 1UL);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t left = strtoull(argv[2], NULL, 10); left; left--) {
		uint64_t ns = (uint64_t)next.tv_nsec + strtoull(argv[1], NULL, 10);

		next.tv_sec += (time_t)(ns / 1000000000);
		next.tv_nsec = (long)(ns % 1000000000);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < place[i].times; k++)
				if (pread(place[i].fd, text, place[i].size, place[i].offset) < 0 && errno != EIO)
					return 1;
	}
	free(place);
	return 0;
}
