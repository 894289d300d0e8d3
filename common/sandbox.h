/*
 * Takes rights away from this process for good: files with Landlock, system calls with seccomp, as far as the kernel
 * has them.
 *
 *   sandbox_init -> sandbox_read, sandbox_make ... -> sandbox_enter
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this build has sanitizers, which make system calls of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

struct sandbox {
	int rules;        /* descriptor, -1: the kernel has no Landlock */
	uint64_t handled; /* rights that this kernel knows */
};

void sandbox_init(struct sandbox *s);
/* Permits reading the file, or all below the folder. Ignores what does not exist. */
void sandbox_read(struct sandbox *s, const char *path);
/* Permits creating, writing, renaming and removing files in this folder; with `read`, also reading below it. */
void sandbox_make(struct sandbox *s, const char *folder, bool read);
/* Forbids opening anything else, to this thread and those it starts. Sets no_new_privs and releases *s. 0; -ENOSYS on
 * a kernel without Landlock, or with sanitizers, which open files at the end; or another -errno. */
int sandbox_enter(struct sandbox *s);

/* A system call that is allowed if the bits `mask` of an argument are `value`; mask 0: with any arguments. */
struct sandbox_call {
	int number; /* SYS_ */
	uint8_t argument;
	uint32_t mask, value;
};
/* Allows these calls only; put frequent ones first. Others fail with EPERM, or with `kill` end the process. Needs
 * no_new_privs. clone3() fails with ENOSYS, because a filter cannot see its flags, which are in memory. 0; -ENOSYS on
 * other architectures; or another -errno. */
int sandbox_calls(const struct sandbox_call *allowed, size_t n, bool kill);
