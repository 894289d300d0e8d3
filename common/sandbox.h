/*
 * Taking rights away from the process itself, for good, where the kernel has the means: files by Landlock, system calls
 * by seccomp. Both go on without where it lacks them.
 *
 *   sandbox_init -> sandbox_read, sandbox_make ... -> sandbox_enter
 */
#ifndef COMMON_SANDBOX_H
#define COMMON_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether sanitizers are in this build, which make system calls of their own. */
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
/* The file, or all below the folder, may be read from then on. What is not there is passed over. */
void sandbox_read(struct sandbox *s, const char *path);
/* In this folder files may be made, written, renamed and taken away; with `read` those below it be read, too. */
void sandbox_make(struct sandbox *s, const char *folder, bool read);
/* From here on nothing else can be opened, by all threads to come. Takes no_new_privs, and releases *s. 0; -ENOSYS: not on
 * this kernel, or with sanitizers, which open files at the end; other -errno. */
int sandbox_enter(struct sandbox *s);

/* A system call that is allowed, as far as `mask` of an argument has `value`; mask 0: whatever its arguments. */
struct sandbox_call {
	int number; /* SYS_ */
	uint8_t argument;
	uint32_t mask, value;
};
/* Nothing but these from here on, often used ones first: others fail with EPERM, or with `kill` end the process. Needs
 * no_new_privs. clone3() is said not to be there: its flags lie in memory, which a filter cannot see. 0; -ENOSYS: not on
 * this architecture; other -errno. */
int sandbox_calls(const struct sandbox_call *allowed, size_t n, bool kill);

#endif
