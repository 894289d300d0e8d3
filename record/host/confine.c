/* The filter of system calls: what threads need that sample, write and look after both. Whatever else is asked of the
 * kernel was not asked by this program. Assembled here, so that it is the same in every build. */
#include "record/host/privileges.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* What sanitizers do when the program ends, and where they keep their memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Often used ones first: older kernels walk the list each time. */
static const int allowed[] = {
	/* clang-format off */
	SYS_read, SYS_pread64, SYS_futex, SYS_clock_nanosleep, SYS_ioctl, SYS_clock_gettime, SYS_write, SYS_ppoll,
	SYS_lseek, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_yield, SYS_getcpu,
	/* files: those of the machine, and the next one of a rotation */
	SYS_readv, SYS_writev, SYS_pwrite64, SYS_openat, SYS_openat2, SYS_close, SYS_fstat, SYS_newfstatat, SYS_statx,
	SYS_fstatfs, SYS_statfs, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_fcntl, SYS_flock,
	SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_sync, SYS_unlinkat, SYS_fchmod, SYS_dup, SYS_dup3,
	SYS_pipe2, SYS_eventfd2, SYS_epoll_pwait, SYS_epoll_ctl, SYS_epoll_create1, SYS_getcwd,
	/* events */
	SYS_perf_event_open, SYS_bpf, SYS_pidfd_open,
	/* memory */
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mlock,
	/* threads, times, limits */
	SYS_set_robust_list, SYS_rseq, SYS_gettid, SYS_getpid, SYS_getppid, SYS_getpgid, SYS_tgkill, SYS_exit,
	SYS_exit_group, SYS_restart_syscall, SYS_membarrier, SYS_nanosleep, SYS_clock_getres, SYS_gettimeofday,
	SYS_getrusage, SYS_times, SYS_sysinfo, SYS_uname, SYS_getrandom, SYS_prlimit64, SYS_getrlimit, SYS_setrlimit,
	SYS_setpriority, SYS_getpriority, SYS_sched_setscheduler, SYS_sched_getscheduler, SYS_sched_setparam,
	SYS_sched_getparam, SYS_sched_setattr, SYS_sched_getattr, SYS_sched_get_priority_max,
	SYS_sched_get_priority_min, SYS_prctl, SYS_capget, SYS_capset, SYS_getuid, SYS_geteuid, SYS_getgid,
	SYS_getegid,
	/* signals, and the command */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait,
	SYS_rt_sigsuspend, SYS_sigaltstack, SYS_signalfd4, SYS_kill, SYS_wait4, SYS_waitid,
	/* sockets that are open */
	SYS_sendmsg, SYS_recvmsg, SYS_sendto, SYS_recvfrom, SYS_accept4, SYS_getsockopt, SYS_setsockopt,
#ifdef SYS_poll
	/* what newer architectures have under other names */
	SYS_poll, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_dup2, SYS_pipe, SYS_getpgrp,
	SYS_epoll_wait, SYS_time, SYS_arch_prctl, SYS_getdents,
#endif
#if SANITIZED
	SYS_clone, SYS_ptrace, SYS_mmap, SYS_mprotect, SYS_process_vm_readv, SYS_personality, SYS_socket, SYS_connect,
#endif
	/* clang-format on */
};

/* Allowed as far as an argument goes: bits of `mask` in it have to be `value`. */
static const struct {
	int number;
	unsigned argument;
	uint32_t mask, value;
} partly[] = {
	{ SYS_mmap, 2, PROT_EXEC, 0 },
	{ SYS_mprotect, 2, PROT_EXEC, 0 },
#ifdef SYS_clone
	{ SYS_clone, 0, CLONE_VM, CLONE_VM }, /* and nothing that outlives this memory */
#endif
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORD(member) (uint32_t) offsetof(struct seccomp_data, member)

int privileges_filter(bool kill)
{
	struct sock_filter code[8 + 2 * COUNT(allowed) + 6 * COUNT(partly) + 4], *c = code;
	const uint32_t refuse = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	struct sock_fprog program = { .filter = code };

	if (!ARCHITECTURE)
		return -ENOSYS;
	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(arch));
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(nr));
	for (size_t i = 0; i < COUNT(allowed); i++) {
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < COUNT(partly); i++) {
		uint32_t low = WORD(args) + 8 * partly[i].argument;

		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)partly[i].number, 0, 5);
		*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low);
		*c++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, partly[i].mask);
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, partly[i].value, 0, 1);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	}
	/* Its flags lie in memory, which a filter cannot see; the C library then takes clone(). */
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	program.len = (unsigned short)(c - code);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}
