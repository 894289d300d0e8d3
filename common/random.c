#include "common/random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef GRND_INSECURE
#define GRND_INSECURE 4 /* Linux 5.6 */
#endif

int random_bytes(void *out, size_t n)
{
	ssize_t got = getrandom(out, n, GRND_INSECURE);
	int fd;

	if (got != (ssize_t)n)
		got = getrandom(out, n, GRND_NONBLOCK);
	if (got == (ssize_t)n)
		return 0;
	/* On kernels without getrandom() this never blocks. */
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, out, n);
	close(fd);
	return got == (ssize_t)n ? 0 : -EIO;
}
