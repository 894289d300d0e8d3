#include "record/host/privileges.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/buf.h"
#include "record/host/opener.h"

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

/* Makes effective = permitted, or empty. */
static int set_effective(bool on)
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

int privileges_raise(void)
{
	return set_effective(true);
}

int privileges_lower(void)
{
	return set_effective(false);
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
		privileges_lower();
}

int privileges_for_child(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (!privileges_elevated())
		return privileges_raise(); /* the command has what the caller has */
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

	if (has >> CAP_IPC_LOCK & 1 && has >> CAP_SYS_RESOURCE & 1 && !privileges_raise())
		setrlimit(RLIMIT_MEMLOCK, &none);
}

void privileges_confine(void)
{
	lift_memory_limit();
	drop();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)privileges_filter(false);
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
	if (opener_hurry(gettid(), 0))
		setpriority(PRIO_PROCESS, 0, -20);
}
