#include "record/host/privileges.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the program has rights that its caller lacks (file capabilities, setuid). */
static bool is_elevated(void)
{
	return getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid();
}

/* Effective = permitted, or nothing. */
static int set_effective(bool on)
{
	cap_t caps = cap_get_proc();
	int err = 0;

	if (!caps)
		return -errno;
	cap_clear_flag(caps, CAP_EFFECTIVE);
	for (cap_value_t c = 0; on && c < cap_max_bits(); c++) {
		cap_flag_value_t permitted = CAP_CLEAR;

		if (!cap_get_flag(caps, c, CAP_PERMITTED, &permitted) && permitted == CAP_SET)
			cap_set_flag(caps, CAP_EFFECTIVE, 1, &c, CAP_SET);
	}
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

void privileges_drop(void)
{
	cap_t none = cap_init();

	if (none)
		cap_set_proc(none);
	cap_free(none);
}

void privileges_drop_reader(void)
{
	if (!privileges_raise())
		setpriority(PRIO_PROCESS, 0, -20);
	privileges_drop();
}

void privileges_drop_opener(void)
{
	static const cap_value_t reach = CAP_DAC_OVERRIDE;
	cap_flag_value_t permitted = CAP_CLEAR;
	cap_t caps = cap_get_proc(), few = cap_init();

	if (is_elevated()) {
		/* The kernel takes these for one thread; setegid() of the C library would take all threads along. */
		setfsgid(getgid());
		setfsuid(getuid());
	} else if (caps && few && !cap_get_flag(caps, reach, CAP_PERMITTED, &permitted) && permitted == CAP_SET) {
		cap_set_flag(few, CAP_PERMITTED, 1, &reach, CAP_SET);
		cap_set_flag(few, CAP_EFFECTIVE, 1, &reach, CAP_SET);
	}
	if (few)
		cap_set_proc(few);
	cap_free(few);
	cap_free(caps);
}

int privileges_become_caller(void)
{
	if (!is_elevated())
		return privileges_raise();
	if (privileges_lower())
		return -errno;
	return setegid(getgid()) || seteuid(getuid()) ? -errno : 0;
}

int privileges_become_self(void)
{
	uid_t real, effective, saved;
	gid_t greal, geffective, gsaved;

	if (is_elevated()) {
		if (getresuid(&real, &effective, &saved) || getresgid(&greal, &geffective, &gsaved))
			return -errno;
		if (seteuid(saved) || setegid(gsaved))
			return -errno;
	}
	return privileges_lower();
}

int privileges_for_child(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (!is_elevated())
		return privileges_raise(); /* what the caller has, the command has */
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	privileges_drop();
	return 0;
}

bool privileges_has(const char *name)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t caps = cap_get_proc();
	cap_value_t cap;
	bool has;

	has = caps && !cap_from_name(name, &cap) && !cap_get_flag(caps, cap, CAP_PERMITTED, &value) &&
	      value == CAP_SET;
	if (caps)
		cap_free(caps);
	return has;
}
