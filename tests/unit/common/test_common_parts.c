/* Small parts that have no test of their own: random bytes where the kernel is old, sockets of PCI root complexes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include <cmocka.h>

#include "common/pci_map.h"
#include "common/random.h"

/* ---- random bytes ---- */

#define INSECURE 4 /* Linux 5.6 */

static unsigned known; /* flags that this kernel has, a bit each; bit 7: the call itself */
static unsigned asked;

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags);

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags)
{
	asked++;
	if (!(known & 128) || flags & ~known) {
		errno = known & 128 ? EINVAL : ENOSYS;
		return -1;
	}
	memset(to, (int)flags, n);
	return (ssize_t)n;
}

static void random_bytes_come_from_any_kernel(void **state)
{
	uint8_t a[16] = { 0 }, b[16] = { 0 };

	known = 128 | INSECURE | GRND_NONBLOCK;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(a[0], INSECURE);
	assert_int_equal(a[15], INSECURE);
	assert_int_equal(asked, 1);
	known = 128 | GRND_NONBLOCK;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(a[15], GRND_NONBLOCK);
	assert_int_equal(asked, 3);
	/* /dev/urandom. */
	known = 0;
	assert_int_equal(random_bytes(a, sizeof(a)), 0);
	assert_int_equal(random_bytes(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* ---- sockets ---- */

static int socket_of(const int ports[][2], size_t n_ports, const char *const *cpus, size_t n, size_t which, int node)
{
	struct pci_map m = { .state = PCI_KNOWN };
	int socket;

	for (size_t i = 0; i < n_ports; i++)
		assert_int_equal(
			pci_map_add_port(&m, &(struct pci_port){ .socket = ports[i][0], .node = ports[i][1] }), 0);
	socket = pci_map_socket(&m, cpus, n, which, node);
	pci_map_release(&m);
	return socket;
}

static void nodes_decide_where_they_differ(void **state)
{
	static const int two[][2] = { { 0, 0 }, { 0, 0 }, { 1, 1 }, { 7, 2 } };
	static const char *const none[] = { "" };

	assert_int_equal(socket_of(two, 4, none, 1, 0, 0), 0);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 1), 1);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 2), 7);
	assert_int_equal(socket_of(two, 4, none, 1, 0, 3), -1);
	assert_int_equal(socket_of(two, 4, none, 1, 0, -1), -1);
}

/* All ports on one node: in the order of their CPUs, if there are as many. */
static void else_the_order_of_cpus(void **state)
{
	static const int one_node[][2] = { { 5, 0 }, { 2, 0 }, { 5, 0 } };
	static const char *const cpus[] = { "72-143", "0-71", "0-71", "72-143" }, *const three[] = { "0", "8", "16" },
				 *const unknown[] = { "0-71", "", "72-143" };

	for (int node = -1; node <= 0; node++) {
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 0, node), 5);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 1, node), 2);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 2, node), 2);
		assert_int_equal(socket_of(one_node, 3, cpus, 4, 3, node), 5);
		assert_int_equal(socket_of(one_node, 3, three, 3, 0, node), -1);
		assert_int_equal(socket_of(one_node, 3, unknown, 3, 1, node), -1);
		assert_int_equal(socket_of(one_node, 3, unknown, 3, 2, node), 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_bytes_come_from_any_kernel),
		cmocka_unit_test(nodes_decide_where_they_differ),
		cmocka_unit_test(else_the_order_of_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
