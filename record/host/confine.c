/* The system calls of the threads that sample, write and supervise. This program makes no others. */
#include "record/host/privileges.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/sandbox.h"

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
	{ SYS_setpriority }, { SYS_getpriority }, { SYS_sched_setscheduler }, { SYS_sched_getscheduler },
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

int privileges_filter(bool kill)
{
	return sandbox_calls(allowed, sizeof(allowed) / sizeof(*allowed), kill);
}
