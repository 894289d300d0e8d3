/* The filter of system calls: what sampling has no use for ends the process that asks for it. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "record/host/privileges.c"
#include "tests/unit/lib/test.h"

enum { NO_FILTER = 77 };

static const struct {
	const char *name;
	long number, argument[3];
} forbidden[] = {
	{ "execve", SYS_execve, { 0 } },
	{ "execveat", SYS_execveat, { -1 } },
	{ "clone without shared memory", SYS_clone, { SIGCHLD } },
	{ "ptrace", SYS_ptrace, { -1 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 0 } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0 } },
	{ "socket", SYS_socket, { -1 } },
	{ "connect", SYS_connect, { -1 } },
	{ "bind", SYS_bind, { -1 } },
	{ "listen", SYS_listen, { -1 } },
	{ "mount", SYS_mount, { 0 } },
	{ "umount2", SYS_umount2, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0 } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "setns", SYS_setns, { -1 } },
	{ "unshare", SYS_unshare, { 0 } },
	{ "setuid", SYS_setuid, { 0 } },
	{ "setgid", SYS_setgid, { 0 } },
	{ "setresuid", SYS_setresuid, { 0 } },
	{ "setgroups", SYS_setgroups, { -1 } },
	{ "init_module", SYS_init_module, { 0 } },
	{ "finit_module", SYS_finit_module, { -1 } },
	{ "delete_module", SYS_delete_module, { 0 } },
	{ "kexec_load", SYS_kexec_load, { -1 } },
	{ "reboot", SYS_reboot, { 0 } },
	{ "swapon", SYS_swapon, { 0 } },
	{ "keyctl", SYS_keyctl, { -1 } },
	{ "add_key", SYS_add_key, { 0 } },
	{ "userfaultfd", SYS_userfaultfd, { -1 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0 } },
	{ "renameat2", SYS_renameat2, { -1 } },
	{ "linkat", SYS_linkat, { -1 } },
	{ "mkdirat", SYS_mkdirat, { -1 } },
	{ "mknodat", SYS_mknodat, { -1 } },
	{ "fchownat", SYS_fchownat, { -1 } },
	{ "memory that can be run", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC } },
	{ "memory that becomes such", SYS_mprotect, { 0, 4096, PROT_READ | PROT_EXEC } },
};

static int confined(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			       sandbox_calls(allowed, sizeof(allowed) / sizeof(*allowed), true) ?
		       -1 :
		       0;
}

/* What a process ends with that makes the call under the filter. */
static int status_of(long number, const long argument[3])
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (confined())
			_exit(NO_FILTER);
		syscall(number, argument[0], argument[1], argument[2], 0, 0, 0);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_forbidden_calls_end_the_process(void **state)
{
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		int status = status_of(forbidden[i].number, forbidden[i].argument);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
		/* Those need some of them themselves. */
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			continue;
#endif
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
			skip();
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: status %#x", forbidden[i].name, status);
	}
}

static void test_what_sampling_needs_is_there(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		char byte;
		int end[2];

		if (confined())
			_exit(NO_FILTER);
		if (pipe(end) || write(end[1], "x", 1) != 1 || read(end[0], &byte, 1) != 1 || access("/proc", F_OK) ||
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTER)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

UNIT_TESTS(cmocka_unit_test(test_forbidden_calls_end_the_process),
	   cmocka_unit_test(test_what_sampling_needs_is_there))
