/*
 * LD_PRELOAD: makes an unmodified program see the CPUs of the profile in $FAKE_PROFILE.
 *
 *  - CPUID is answered from the profile. Where the processor can make the instruction fault, it does so; else the
 *    program has to be a copy whose cpuid instructions are ud2, which is as long (tests/rig/patch_cpuid.py makes it).
 *  - So is rdtsc, which patch_cpuid.py makes hlt: the clock of the host is no input.
 *  - Moving to a CPU that this machine lacks succeeds, and CPUID then answers for that CPU.
 *  - Raising the limit of open files never fails: turbostat insists.
 *
 * The program must be dynamically linked and without handlers of its own for SIGSEGV and SIGILL.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "profile.h"

static struct profile profile;
static struct sigaction before[NSIG];
static __thread int moved_to = -1; /* the CPU that the program believes to be on */

static int here(void)
{
	unsigned cpu = 0;

	if (moved_to >= 0)
		return moved_to;
	syscall(SYS_getcpu, &cpu, NULL, NULL);
	return (int)cpu;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)reg[REG_RIP];
	uint32_t out[4];

	(void)info;
	if (code[0] == 0xf4) {
		uint64_t tsc = profile_tsc(&profile);

		reg[REG_RAX] = (uint32_t)tsc;
		reg[REG_RDX] = (long long)(tsc >> 32);
		reg[REG_RIP] += 2;
		return;
	}
	if (code[0] != 0x0f || (code[1] != 0xa2 && code[1] != 0x0b)) {
		/* A real fault: it happens again, to whoever was responsible before. */
		sigaction(signal, &before[signal], NULL);
		return;
	}
	profile_cpuid(&profile, (unsigned)here(), (uint32_t)reg[REG_RAX], (uint32_t)reg[REG_RCX], out);
	reg[REG_RAX] = out[0];
	reg[REG_RBX] = out[1];
	reg[REG_RCX] = out[2];
	reg[REG_RDX] = out[3];
	reg[REG_RIP] += 2;
}

static void load(const char *path)
{
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "cpu", 3) || !strncmp(line, "tsc", 3))
			profile_line(&profile, line);
	}
	if (f)
		fclose(f);
}

__attribute__((constructor)) static void start(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	load(getenv("FAKE_PROFILE"));
	if (!profile.cpus)
		return;
	sigaction(SIGSEGV, &action, &before[SIGSEGV]);
	sigaction(SIGILL, &action, &before[SIGILL]);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0ul);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (!syscall(SYS_prlimit64, 0, resource, limit, NULL))
		return 0;
	return errno == EPERM ? 0 : -1;
}

/* The name that programs with 64-bit offsets call. */
int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) __attribute__((alias("setrlimit")));

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
	int first = 0;

	while ((size_t)first < size * 8 && !CPU_ISSET_S(first, size, mask))
		first++;
	moved_to = CPU_COUNT_S(size, mask) == 1 ? first : -1;
	if (syscall(SYS_sched_setaffinity, pid, size, mask) >= 0)
		return 0;
	return errno == EINVAL && profile.cpus ? 0 : -1;
}

int sched_getcpu(void)
{
	return here();
}
