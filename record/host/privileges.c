#include "record/host/privileges.h"

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/sandbox.h"
#include "record/host/opener.h"

/* The system calls of the threads that sample, write and supervise. This program makes no others. */

/* Frequent calls first: older kernels walk the list each time. */
static const struct sandbox_call allowed[] = {
	/* clang-format off */
	{ SYS_read }, { SYS_pread64 }, { SYS_futex }, { SYS_clock_nanosleep }, { SYS_ioctl }, { SYS_clock_gettime },
	{ SYS_write }, { SYS_ppoll }, { SYS_lseek }, { SYS_sched_getaffinity }, { SYS_sched_setaffinity },
	{ SYS_sched_yield }, { SYS_getcpu },
	/* files: those of the machine, and the next one of a rotation */
	{ SYS_readv }, { SYS_writev }, { SYS_pwrite64 }, { SYS_openat }, { SYS_openat2 }, { SYS_close },
	{ SYS_fstat }, { SYS_newfstatat }, { SYS_statx }, { SYS_fstatfs }, { SYS_statfs }, { SYS_faccessat },
	{ SYS_faccessat2 }, { SYS_readlinkat }, { SYS_getdents64 }, { SYS_fcntl }, { SYS_flock }, { SYS_ftruncate },
	{ SYS_fallocate }, { SYS_fsync }, { SYS_fdatasync }, { SYS_sync }, { SYS_unlinkat }, { SYS_fchmod },
	{ SYS_dup }, { SYS_dup3 }, { SYS_pipe2 }, { SYS_eventfd2 }, { SYS_epoll_pwait }, { SYS_epoll_ctl },
	{ SYS_epoll_create1 }, { SYS_getcwd },
	/* events */
	{ SYS_perf_event_open }, { SYS_bpf }, { SYS_pidfd_open },
	/* memory */
	{ SYS_munmap }, { SYS_mremap }, { SYS_madvise }, { SYS_brk }, { SYS_mlock },
	/* threads, times, limits */
	{ SYS_set_robust_list }, { SYS_rseq }, { SYS_gettid }, { SYS_getpid }, { SYS_getppid }, { SYS_getpgid },
	{ SYS_tgkill }, { SYS_exit }, { SYS_exit_group }, { SYS_restart_syscall }, { SYS_membarrier },
	{ SYS_nanosleep }, { SYS_clock_getres }, { SYS_gettimeofday }, { SYS_getrusage }, { SYS_times },
	{ SYS_sysinfo }, { SYS_uname }, { SYS_getrandom }, { SYS_prlimit64 }, { SYS_getrlimit }, { SYS_setrlimit },
	{ SYS_setpriority }, { SYS_getpriority }, { SYS_sched_getscheduler },
	{ SYS_sched_setparam }, { SYS_sched_getparam }, { SYS_sched_setattr }, { SYS_sched_getattr },
	{ SYS_sched_get_priority_max }, { SYS_sched_get_priority_min }, { SYS_prctl }, { SYS_capget },
	{ SYS_capset }, { SYS_getuid }, { SYS_geteuid }, { SYS_getgid }, { SYS_getegid },
	/* signals, and the command */
	{ SYS_rt_sigaction }, { SYS_rt_sigprocmask }, { SYS_rt_sigreturn }, { SYS_rt_sigpending },
	{ SYS_rt_sigtimedwait }, { SYS_rt_sigsuspend }, { SYS_sigaltstack }, { SYS_signalfd4 }, { SYS_kill },
	{ SYS_wait4 }, { SYS_waitid },
	/* sockets that are open */
	{ SYS_sendmsg }, { SYS_recvmsg }, { SYS_sendto }, { SYS_recvfrom }, { SYS_accept4 }, { SYS_getsockopt },
	{ SYS_setsockopt },
#ifdef SYS_poll
	/* newer architectures have these under other names */
	{ SYS_poll }, { SYS_open }, { SYS_stat }, { SYS_lstat }, { SYS_access }, { SYS_readlink }, { SYS_unlink },
	{ SYS_dup2 }, { SYS_pipe }, { SYS_getpgrp }, { SYS_epoll_wait }, { SYS_time }, { SYS_arch_prctl },
	{ SYS_getdents },
#endif
#if SANDBOX_SANITIZED
	{ SYS_clone }, { SYS_ptrace }, { SYS_mmap }, { SYS_mprotect }, { SYS_process_vm_readv }, { SYS_personality },
	{ SYS_socket }, { SYS_connect },
#endif
	/* memory that never becomes code, and nothing that outlives it */
	{ SYS_mmap, 2, PROT_EXEC, 0 }, { SYS_mprotect, 2, PROT_EXEC, 0 },
#ifdef SYS_clone
	{ SYS_clone, 0, CLONE_VM, CLONE_VM },
#endif
	/* clang-format on */
};

bool privileges_elevated(void)
{
	return getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid();
}

static uint64_t get_set(cap_flag_t set)
{
	cap_t caps = cap_get_proc();
	uint64_t bits = 0;

	for (cap_value_t c = 0; caps && c < cap_max_bits() && c < 64; c++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (!cap_get_flag(caps, c, set, &value) && value == CAP_SET)
			bits |= (uint64_t)1 << c;
	}
	cap_free(caps);
	return bits;
}

uint64_t privileges_permitted(void)
{
	return get_set(CAP_PERMITTED);
}

/* Makes effective = permitted, and says whether that is more than before. */
static bool fill_effective(cap_t caps)
{
	bool more = false;

	for (cap_value_t c = 0; c < cap_max_bits(); c++) {
		cap_flag_value_t permitted = CAP_CLEAR, effective = CAP_CLEAR;

		if (cap_get_flag(caps, c, CAP_PERMITTED, &permitted) || permitted != CAP_SET ||
		    cap_get_flag(caps, c, CAP_EFFECTIVE, &effective) || effective == CAP_SET)
			continue;
		more = !cap_set_flag(caps, CAP_EFFECTIVE, 1, &c, CAP_SET) || more;
	}
	return more;
}

int privileges_effective(bool on)
{
	cap_t caps = cap_get_proc();
	int err = 0;

	if (!caps)
		return -errno;
	if (on)
		fill_effective(caps);
	else
		cap_clear_flag(caps, CAP_EFFECTIVE);
	if (cap_set_proc(caps))
		err = -errno;
	cap_free(caps);
	return err;
}

static void drop(void)
{
	cap_t none = cap_init();

	if (none)
		cap_set_proc(none);
	cap_free(none);
}

bool privileges_become_caller(void)
{
	cap_t caps;
	bool changed;

	/* Until the opener has them, this process may have more rights than the caller. */
	if (privileges_elevated())
		return false;
	/* Ask the kernel once, even if files of an emulated machine are opened by the thousand. */
	caps = cap_get_proc();
	changed = caps && fill_effective(caps) && !cap_set_proc(caps);
	cap_free(caps);
	return changed;
}

void privileges_become_self(bool changed)
{
	if (changed)
		privileges_effective(false);
}

int privileges_for_child(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (!privileges_elevated())
		return privileges_effective(true); /* the command has what the caller has */
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	drop();
	return 0;
}

bool privileges_has(const char *name)
{
	cap_value_t cap;

	if (cap_from_name(name, &cap) || cap >= 64)
		return false;
	return opener_has(cap) || privileges_permitted() >> cap & 1;
}

/* The locked-memory limit does not apply to those with CAP_IPC_LOCK: that right is dropped, so lift the limit for the
 * kernel's rings. */
static void lift_memory_limit(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t has = privileges_permitted();

	if (has >> CAP_IPC_LOCK & 1 && has >> CAP_SYS_RESOURCE & 1 && !privileges_effective(true))
		setrlimit(RLIMIT_MEMLOCK, &none);
}

void privileges_confine(void)
{
	lift_memory_limit();
	drop();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)sandbox_calls(allowed, sizeof(allowed) / sizeof(*allowed), false);
}

bool privileges_tell(struct buf *out)
{
	bool bare = !(get_set(CAP_PERMITTED) | get_set(CAP_EFFECTIVE) | get_set(CAP_INHERITABLE));
	bool final = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, filtered = prctl(PR_GET_SECCOMP) == 2;

	buf_printf(out, "%s, %s, %s", bare ? "no capabilities" : "capabilities are kept",
		   final ? "no new privileges" : "new privileges are possible",
		   filtered ? "system calls filtered" : "system calls are not filtered");
	return bare && final && filtered;
}

void privileges_hurry(void)
{
	if (opener_hurry(gettid()))
		setpriority(PRIO_PROCESS, 0, -20);
}
