#include "common/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* ---- files ---- */

/* The kernel's interface, which older headers lack. The numbers are the same on all architectures. */
#define CALL_CREATE   444
#define CALL_ADD      445
#define CALL_RESTRICT 446
#define ASK_VERSION   1u
#define RULE_PATH     1

enum {
	MAY_EXECUTE = 1 << 0,
	MAY_WRITE = 1 << 1,
	MAY_READ = 1 << 2,
	MAY_LIST = 1 << 3,
	MAY_REMOVE_FILE = 1 << 5,
	MAY_MAKE_FILE = 1 << 8,
	ALL_OF_1 = (1 << 13) - 1, /* all rights of version 1 */
	MAY_REFER = 1 << 13,      /* since version 2: rename between directories */
	MAY_TRUNCATE = 1 << 14,   /* since 3 */
};

void sandbox_init(struct sandbox *s)
{
	long version = !SANDBOX_SANITIZED && ARCHITECTURE != 0 ? syscall(CALL_CREATE, NULL, 0, ASK_VERSION) : -1;

	s->handled = ALL_OF_1 | (version >= 2 ? MAY_REFER : 0) | (version >= 3 ? MAY_TRUNCATE : 0);
	s->rules = version > 0 ? (int)syscall(CALL_CREATE, &s->handled, sizeof(s->handled), 0) : -1;
}

static void allow(const struct sandbox *s, const char *path, uint64_t rights)
{
	struct __attribute__((packed)) {
		uint64_t rights;
		int32_t fd;
	} rule = { rights, -1 };
	struct stat st;

	if (s->rules < 0)
		return;
	rule.fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.fd < 0)
		return;
	if (!fstat(rule.fd, &st) && !S_ISDIR(st.st_mode))
		rule.rights &= MAY_READ | MAY_WRITE | MAY_TRUNCATE;
	rule.rights &= s->handled;
	(void)syscall(CALL_ADD, s->rules, RULE_PATH, &rule, 0);
	close(rule.fd);
}

void sandbox_read(struct sandbox *s, const char *path)
{
	allow(s, path, MAY_READ | MAY_LIST);
}

void sandbox_make(struct sandbox *s, const char *folder, bool read)
{
	allow(s, folder, MAY_WRITE | MAY_TRUNCATE | MAY_REMOVE_FILE | MAY_MAKE_FILE | (read ? MAY_READ : 0));
}

int sandbox_enter(struct sandbox *s)
{
	int err = s->rules < 0 ? -ENOSYS : 0;

	if (!SANDBOX_SANITIZED && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && syscall(CALL_RESTRICT, s->rules, 0))
		err = -errno;
	if (s->rules >= 0)
		close(s->rules);
	s->rules = -1;
	return err;
}

/* ---- system calls ---- */

#define WORD(member) (uint32_t) offsetof(struct seccomp_data, member)

static struct sock_filter *put_call(struct sock_filter *c, const struct sandbox_call *call, uint32_t refuse)
{
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0, call->mask ? 5 : 1);
	if (call->mask) {
		*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(args) + 8u * call->argument);
		*c++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask);
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1);
	}
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (call->mask)
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	return c;
}

int sandbox_calls(const struct sandbox_call *allowed, size_t n, bool kill)
{
	const uint32_t refuse = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter *code = calloc(8 + 6 * n, sizeof(*code)), *c = code;
	struct sock_fprog program = { .filter = code };
	int err = 0;

	if (!code)
		return -ENOMEM;
	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(arch));
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(nr));
	for (size_t i = 0; i < n; i++)
		c = put_call(c, &allowed[i], refuse);
	*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
	program.len = (unsigned short)(c - code);
	if (!ARCHITECTURE)
		err = -ENOSYS;
	else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err = -errno;
	free(code);
	return err;
}
