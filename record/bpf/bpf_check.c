#include "record/bpf/bpf_check.h"

#include <errno.h>
#include <string.h>

#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"
#include "record/host/privileges.h"

static int load_nothing(enum bpf_attach_type attach, int target, int btf, struct error *e)
{
	struct bpf_program p = { .name = "pmrec_nothing", .btf = btf, .function = BTF_FUNCTION };
	struct bpf_code c = { 0 };

	code_exit(&c);
	p.type = target ? BPF_PROG_TYPE_TRACING : BPF_PROG_TYPE_RAW_TRACEPOINT;
	p.attach = target ? attach : 0;
	p.target = target;
	p.target_type = target ? BTF_FUNCTION : 0;
	return bpf_program_load(&p, &c, e);
}

/* As much as the counters of a machine may need. Only kernels that count it as locked memory refuse it. */
static int map_much(void)
{
	return bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_much",
						    .type = BPF_MAP_TYPE_ARRAY,
						    .key_size = 4,
						    .value_size = 1024,
						    .entries = 1024 });
}

static int refused(int err, struct error *e)
{
	if (err == -ENOSYS)
		return error_set(e, ENOSYS, "this kernel has no BPF (CONFIG_BPF_SYSCALL), or a container hides it");
	if (err != -EPERM && err != -EACCES)
		return err;
	if (!privileges_has("cap_sys_admin") && !(privileges_has("cap_bpf") && privileges_has("cap_perfmon")))
		return error_set(e, EPERM,
				 "counting with BPF needs CAP_BPF and CAP_PERFMON; run pmrec as root, or setcap "
				 "cap_bpf,cap_perfmon=ep \"$(command -v pmrec)\"");
	return error_set(e, EPERM,
			 "BPF is refused although no capability is missing; run pmrec outside the container, "
			 "or with --security-opt seccomp=unconfined");
}

int bpf_check(struct error *e)
{
	SCOPED(fd_close) int fd = load_nothing(0, 0, 0, e);
	SCOPED(fd_close) int map = fd < 0 ? -1 : map_much();

	if (fd < 0)
		return refused(fd, e);
	return map == -EPERM ?
		       error_set(
			       e, EPERM,
			       "this kernel, older than Linux 5.11, counts the memory of BPF as locked; run pmrec as "
			       "root, raise `ulimit -l`, or add cap_sys_resource to the capabilities of pmrec") :
		       0;
}

int bpf_attach_refused(int err, struct error *e)
{
	switch (err) {
	case -EPERM:
		return error_set(e, EPERM,
				 "this kernel lets nobody attach to BPF programs, not even root; some virtual "
				 "machines have such kernels, and only another kernel helps");
	case -BPF_NOT_SUPPORTED:
	case -ENOTSUP:
		return error_set(e, ENOTSUP,
				 "this kernel cannot attach to BPF programs on this processor; a newer "
				 "kernel may (arm64: Linux 6.0)");
	default:
		return err;
	}
}

int bpf_check_attach(struct error *e)
{
	SCOPED(fd_close) int btf = btf_function("nothing"), target = -1, fd = -1, link = -1;

	if (btf < 0)
		return error_sys(e, -btf, "BTF");
	target = load_nothing(0, 0, btf, e);
	if (target < 0)
		return target;
	fd = load_nothing(BPF_TRACE_FENTRY, target, 0, e);
	if (fd < 0)
		return bpf_attach_refused(fd, e);
	link = bpf_program_attach(fd, NULL);
	if (link >= 0)
		return 0;
	error_sys(e, -link, "attaching to a BPF program");
	return bpf_attach_refused(link, e);
}
