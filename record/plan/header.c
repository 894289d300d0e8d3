#include "record/plan/header.h"

#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/parse.h"
#include "record/host/clocks.h"
#include "record/host/cpuid.h"
#include "record/plan/topology.h"

#define HEAD_MAX 8192 /* bytes of a long text file: its first lines are enough */

/* Adds a text to the header, unless it is empty or privacy excludes it. */
static void config_text(struct plan *p, uint32_t key, const char *text)
{
	if (text[0] && plan_may_record(p->options, key))
		plan_set(&p->model->header, key, pm_text(text));
}

/* Files whose first line is the header's text, in order of preference. */
static const struct {
	uint32_t key;
	const char *path;
} text_file[] = {
	{ PM_HEADER_ARCH, "/proc/sys/kernel/arch" },
	{ PM_HEADER_KERNEL, "/proc/sys/kernel/osrelease" },
	{ PM_HEADER_SMT, "/sys/devices/system/cpu/smt/control" },
	{ PM_HEADER_MICROCODE, "/sys/devices/system/cpu/cpu0/microcode/version" },
	{ PM_HEADER_HOST, "/proc/sys/kernel/hostname" },
	{ PM_HEADER_BOOT_ID, "/proc/sys/kernel/random/boot_id" },
	{ PM_HEADER_MACHINE_ID, "/etc/machine-id" },
	{ PM_HEADER_CMDLINE, "/proc/cmdline" },
	{ PM_HEADER_HYPERVISOR, "/sys/hypervisor/type" },
	{ PM_HEADER_PRODUCT, "/sys/firmware/devicetree/base/model" }, /* where there is no DMI */
};

static void text_files(struct plan *p)
{
	char line[2048];

	for (size_t i = 0; i < sizeof(text_file) / sizeof(text_file[0]); i++)
		if (!pm_map_get(&p->model->header, text_file[i].key) &&
		    !root_line(p->root, line, sizeof(line), "%s", text_file[i].path))
			config_text(p, text_file[i].key, line);
}

/* The firmware's table of persistent memory, which formulas ask for (#has_pmem). If it cannot be read, there is none:
 * events were chosen on that basis. */
static void persistent_memory(struct plan *p)
{
	plan_fact(p, pm_u64(root_exists(p->root, "/sys/firmware/acpi/tables/NFIT")), "machine.has_pmem");
}

static void dmi(struct plan *p)
{
	static const char *const file[2][3] = { { "sys_vendor", "product_name", "product_version" },
						{ "bios_vendor", "bios_version", "bios_date" } };
	static const uint32_t key[2] = { PM_HEADER_PRODUCT, PM_HEADER_BIOS };
	char text[400], line[128];

	for (int k = 0; k < 2; k++) {
		text[0] = '\0';
		for (int i = 0; i < 3; i++) {
			size_t n = strlen(text);

			if (!root_line(p->root, line, sizeof(line), "/sys/class/dmi/id/%s", file[k][i]) && line[0])
				snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", line);
		}
		config_text(p, key[k], text);
	}
}

/* Reads the beginning of a file of any length. */
static int read_head(const struct root *r, const char *path, char *text, size_t size)
{
	SCOPED(fd_close) int fd = root_open(r, "%s", path);
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	for (size_t len = 0; len < size - 1; len += (size_t)n, text[len] = '\0') {
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			break;
	}
	return 0;
}

/* The value of a line "key : value" or "key=value", without quotes. */
static bool find_line(const char *text, const char *key, const char *separator, char *value, size_t size)
{
	size_t len = strlen(key), n;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at;

		line += *line == '\n';
		if (strncmp(line, key, len))
			continue;
		at = line + len + strspn(line + len, " \t");
		if (strncmp(at, separator, strlen(separator)))
			continue;
		at += strlen(separator);
		at += strspn(at, " \t\"'");
		n = strcspn(at, "\n");
		while (n && strchr(" \t\"'\r", at[n - 1]))
			n--;
		snprintf(value, size, "%.*s", (int)n, at);
		return n > 0;
	}
	return false;
}

static void os_and_memory(struct plan *p)
{
	char text[HEAD_MAX], value[256];
	uint64_t kib;

	if (read_head(p->root, "/etc/os-release", text, sizeof(text)))
		read_head(p->root, "/usr/lib/os-release", text, sizeof(text));
	if (find_line(text, "PRETTY_NAME", "=", value, sizeof(value)))
		config_text(p, PM_HEADER_OS, value);
	read_head(p->root, "/proc/meminfo", text, sizeof(text));
	if (find_line(text, "MemTotal", ":", value, sizeof(value)) &&
	    !parse_u64_span(value, strcspn(value, " "), 10, &kib))
		plan_set(&p->model->header, PM_HEADER_MEMORY, pm_u64(kib * 1024));
}

static void kernel_switches(struct plan *p)
{
	char line[64];
	int64_t level;
	uint64_t v;
	SCOPED(fd_close) int fd = -1;
	int32_t us;

	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/perf_event_paranoid") &&
	    !parse_s64(line, &level))
		plan_set(&p->model->header, PM_HEADER_PARANOID, level < 0 ? pm_s64(level) : pm_u64((uint64_t)level));
	if (!root_u64(p->root, &v, "/proc/sys/kernel/nmi_watchdog"))
		plan_set(&p->model->header, PM_HEADER_NMI_WATCHDOG, pm_u64(v));
	if (p->options->tcc_celsius)
		plan_fact(p, pm_u64(p->options->tcc_celsius), "tcc_celsius");
	/* Opening it requests nothing, so nothing changes; the number is what others requested. */
	fd = root_open(p->root, "/dev/cpu_dma_latency");
	if (fd >= 0 && read(fd, &us, sizeof(us)) == sizeof(us))
		plan_fact(p, pm_s64(us), "cpu_dma_latency_us");
}

static struct pm_value regs_value(const struct cpuid_regs *r)
{
	const uint32_t reg[4] = { r->eax, r->ebx, r->ecx, r->edx };
	uint8_t raw[16];

	for (int i = 0; i < 16; i++)
		raw[i] = (uint8_t)(reg[i / 4] >> (8 * (i % 4)));
	return pm_bytes(raw, sizeof(raw));
}

static void cpuid_config(struct plan *p, const struct cpuid_cpu *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c[i].err)
			plan_config_missing(p, PM_CPU, c[i].cpu, pm_reason_errno(c[i].err), "cpuid.00000000.0");
		for (uint32_t k = 0; k < c[i].n; k++)
			plan_config(p, PM_CPU, c[i].cpu, regs_value(&c[i].leaf[k].regs), "cpuid.%08x.%u",
				    c[i].leaf[k].leaf, c[i].leaf[k].subleaf);
	}
}

static void cpuid_header(struct plan *p, const struct cpuid_cpu *c, size_t n)
{
	char vendor[13], brand[49], name[64], hypervisor[13];
	size_t i = 0;

	while (i < n && c[i].err)
		i++;
	if (i == n)
		return;
	if (cpuid_vendor(&c[i], vendor))
		config_text(p, PM_HEADER_CPU_VENDOR, vendor);
	if (cpuid_brand(&c[i], brand))
		config_text(p, PM_HEADER_CPU_MODEL, brand);
	if (cpuid_name(&c[i], name, sizeof(name)))
		config_text(p, PM_HEADER_CPU_ID, name);
	if (cpuid_hypervisor(&c[i], hypervisor))
		config_text(p, PM_HEADER_HYPERVISOR, hypervisor);
}

static void describe_x86(struct plan *p)
{
	uint32_t here = (uint32_t)sched_getcpu();
	/* To visit the others costs more than to count a short command. */
	struct cpulist one = { .cpu = &here, .n = 1 };
	const struct cpulist *cpus = p->options->perf.brief && !p->root->emulated ? &one : &p->cpus;
	struct cpuid_cpu *c = cpuid_collect(p->root, cpus, p->options->perf.brief);

	if (!c)
		return;
	cpuid_header(p, c, cpus->n);
	cpuid_config(p, c, cpus->n);
	cpuid_free(c, cpus->n);
}

/* What MIDR_EL1 says. */
static void put_midr(struct plan *p, uint64_t v)
{
	char text[64], name[32];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)v);
	config_text(p, PM_HEADER_CPU_ID, text);
	snprintf(text, sizeof(text), "0x%02x", (unsigned)(v >> 24) & 0xff);
	cputype_name(v, name, sizeof(name));
	config_text(p, PM_HEADER_CPU_VENDOR, text);
	config_text(p, PM_HEADER_CPU_MODEL, name);
}

static void describe_arm(struct plan *p)
{
	static const char *const file[] = { "midr_el1", "revidr_el1", "smidr_el1" };
	uint64_t v;

	if (!p->cpus.n || !root_exists(p->root, "/sys/devices/system/cpu/cpu%u/regs", p->cpus.cpu[0]))
		return;
	for (size_t k = 0; k < sizeof(file) / sizeof(file[0]); k++)
		for (size_t i = 0; i < p->cpus.n; i++)
			if (!root_u64(p->root, &v, "/sys/devices/system/cpu/cpu%u/regs/identification/%s",
				      p->cpus.cpu[i], file[k]))
				plan_config(p, PM_CPU, p->cpus.cpu[i], pm_u64(v), "arm64.%s", file[k]);
	v = cputype_midr(p->root, p->cpus.cpu[0]);
	if (v)
		put_midr(p, v);
}

/* The values of up to four lines of /proc/cpuinfo, and the numbers that they are (UINT64_MAX: none). */
static bool find_lines(const char *text, const char *const line[4], char value[4][128], uint64_t number[4])
{
	for (size_t i = 0; i < 4 && line[i]; i++) {
		if (!find_line(text, line[i], ":", value[i], sizeof(value[i])))
			return false;
		if (parse_u64(value[i], &number[i]))
			number[i] = UINT64_MAX;
	}
	return true;
}

/* What cpuid_name() would say of an x86 processor, and what MIDR or perf say of others. */
static void put_identity(struct plan *p, const char *text)
{
	static const char *const x86[4] = { "vendor_id", "cpu family", "model", "stepping" };
	static const char *const arm[4] = { "CPU implementer", "CPU variant", "CPU part", "CPU revision" };
	static const char *const riscv[4] = { "mvendorid", "marchid", "mimpid" };
	const char *pvr = strstr(text, "(pvr ");
	char value[4][128], id[128] = "";
	unsigned version, revision;
	uint64_t n[4];

	if (find_lines(text, arm, value, n) && (n[0] | n[1] | n[2] | n[3]) != UINT64_MAX)
		put_midr(p, n[0] << 24 | n[1] << 20 | 0xf << 16 | n[2] << 4 | n[3]);
	else if (find_lines(text, x86, value, n) && (n[1] | n[2] | n[3]) != UINT64_MAX)
		snprintf(id, sizeof(id), "%.32s-%u-%X-%X", value[0], (unsigned)n[1], (unsigned)n[2], (unsigned)n[3]);
	else if (find_lines(text, riscv, value, n))
		snprintf(id, sizeof(id), "%.32s-%.32s-%.32s", value[0], value[1], value[2]);
	else if (pvr && sscanf(pvr, "(pvr %x %x)", &version, &revision) == 2)
		snprintf(id, sizeof(id), "0x%04x%04x", version & 0xffff, revision & 0xffff);
	config_text(p, PM_HEADER_CPU_ID, id);
}

/* The machine of s390x, which its processor is named after (arch/s390/kernel, setup_elf_platform()). */
static void put_ibm_z(struct plan *p, const char *text)
{
	static const struct {
		unsigned type;
		const char *name;
	} z[] = { { 0x2817, "z196" }, { 0x2827, "zEC12" }, { 0x2964, "z13" }, { 0x3906, "z14" },
		  { 0x8561, "z15" },  { 0x3931, "z16" },   { 0x9175, "z17" } };
	const char *at = strstr(text, "machine = ");
	unsigned type, of = 0;
	char name[64];

	if (!at || sscanf(at, "machine = %x", &type) != 1)
		return;
	/* The small machine of a generation has the next number or a near one. */
	while (of < sizeof(z) / sizeof(z[0]) && (type < z[of].type || type > z[of].type + 1))
		of++;
	snprintf(name, sizeof(name), "IBM %s%stype %04X", of < sizeof(z) / sizeof(z[0]) ? z[of].name : "",
		 of < sizeof(z) / sizeof(z[0]) ? ", " : "", type & 0xffff);
	config_text(p, PM_HEADER_CPU_MODEL, name);
}

/* Adds what CPUID and MIDR did not say, from the kernel's text for people. */
static void from_cpuinfo(struct plan *p)
{
	static const struct {
		uint32_t key;
		const char *line;
	} row[] = {
		{ PM_HEADER_CPU_VENDOR, "vendor_id" }, { PM_HEADER_CPU_VENDOR, "mvendorid" }, /* riscv */
		{ PM_HEADER_CPU_MODEL, "model name" }, { PM_HEADER_CPU_MODEL, "Model Name" }, /* loongarch */
		{ PM_HEADER_CPU_MODEL, "cpu model" },  { PM_HEADER_CPU_MODEL, "cpu" }, /* mips; powerpc, sparc */
		{ PM_HEADER_CPU_MODEL, "uarch" },      { PM_HEADER_CPU_MODEL, "isa" }, /* riscv */
		{ PM_HEADER_MICROCODE, "microcode" },
	};
	/* Before 6.1 no file of /proc names the architecture. */
	static const struct {
		const char *text, *arch;
	} arch[] = { { "CPU architecture: 7", "arm" },   { "CPU implementer", "aarch64" }, { "IBM/S390", "s390x" },
		     { "vendor_id", "x86_64" },          { "isa\t\t: rv64", "riscv64" },   { "(pvr ", "ppc64" },
		     { "Loongson-64bit", "loongarch64" } };
	char text[HEAD_MAX], value[128];

	if (read_head(p->root, "/proc/cpuinfo", text, sizeof(text)))
		return;
	if (!pm_map_get(&p->model->header, PM_HEADER_CPU_ID))
		put_identity(p, text);
	if (strstr(text, "IBM/S390"))
		put_ibm_z(p, text);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!pm_map_get(&p->model->header, row[i].key) &&
		    find_line(text, row[i].line, ":", value, sizeof(value))) {
			/* "POWER9 (raw), altivec supported" */
			if (!strcmp(row[i].line, "cpu"))
				value[strcspn(value, ",")] = '\0';
			config_text(p, row[i].key, value);
		}
	for (size_t i = 0; i < sizeof(arch) / sizeof(arch[0]); i++)
		if (!pm_map_get(&p->model->header, PM_HEADER_ARCH) && strstr(text, arch[i].text))
			config_text(p, PM_HEADER_ARCH, arch[i].arch);
}

static void from_uname(struct plan *p)
{
	struct utsname u;

	if (p->root->emulated || uname(&u))
		return;
	if (!pm_map_get(&p->model->header, PM_HEADER_ARCH))
		config_text(p, PM_HEADER_ARCH, u.machine);
	if (!pm_map_get(&p->model->header, PM_HEADER_KERNEL))
		config_text(p, PM_HEADER_KERNEL, u.release);
}

int machine_describe(struct plan *p, struct error *e)
{
	void (*const step[])(struct plan *) = { dmi,          os_and_memory, /* the others are brief */
						text_files,   kernel_switches, describe_x86,     describe_arm,
						from_cpuinfo, from_uname,      persistent_memory };
	struct pm_topology t;
	int err;

	err = topology_read(p, NULL, &t, e);
	if (err)
		return err;
	memory_must(pm_model_set_topology(p->model, &t));
	pm_topology_release(&t);
	for (size_t i = p->options->perf.brief ? 2 : 0; i < sizeof(step) / sizeof(step[0]); i++)
		step[i](p);
	return 0;
}

/* What the user typed to have it in the file is not a secret of the machine. */
static bool may_put(const struct record_options *o, uint32_t key)
{
	if ((key == PM_HEADER_COMMAND || key == PM_HEADER_LABELS) && strcmp(o->privacy, "strict"))
		return true;
	return plan_may_record(o, key);
}

/* Adds a value if privacy permits it and it is not there yet. */
static void put_key(struct plan *p, uint32_t key, struct pm_value v)
{
	if (may_put(p->options, key) && !pm_map_get(&p->model->header, key))
		plan_set(&p->model->header, key, v);
	else
		pm_value_release(&v);
}

static struct pm_value texts(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list && list[n])
		n++;
	v = plan_array(n);
	for (uint32_t i = 0; i < n; i++)
		v.array.item[i] = pm_text(list[i]);
	return v;
}

static struct pm_value labels(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list[n])
		n++;
	v = plan_array(n);
	for (uint32_t i = 0; i < n; i++) {
		size_t key = strcspn(list[i], "=");
		struct pm_value pair = plan_array(2);

		pair.array.item[0] = pm_text_n(list[i], key);
		pair.array.item[1] = pm_text(list[i] + key + 1);
		v.array.item[i] = pair;
	}
	return v;
}

static struct pm_value source_names(const struct plan *p, const struct source *s, size_t n)
{
	struct pm_value v = plan_array((uint32_t)n);

	v.array.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct unit *u = p->units;

		while (u && u->source != &s[i])
			u = u->next;
		if (u)
			v.array.item[v.array.n++] = pm_text(s[i].ops->name);
	}
	return v;
}

static const char *target(const struct record_options *o)
{
	switch (o->target) {
	case TARGET_COMMAND:
		return "command";
	case TARGET_TASKS:
		return o->perf.pids ? "pid" : o->perf.tids ? "tid" : "system";
	case TARGET_SYSTEM:
		break;
	}
	if (o->perf.n_cgroups || o->perf.each_cgroup)
		return "cgroup";
	return o->cpus ? "cpu" : "system";
}

/* From /etc/passwd only: what name services load does not belong in a program with capabilities. */
static char *user_name(void)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *row = NULL;
	char *name;

	while (f && (row = fgetpwent(f)) && row->pw_uid != getuid())
		;
	name = row ? memory_text(row->pw_name) : memory_format("%u", (unsigned)getuid());
	if (f)
		fclose(f);
	return name;
}

static void put_people(struct plan *p, char *const *argv)
{
	const struct record_options *o = p->options;
	struct utsname host;
	char *user;

	if (!o->root && !uname(&host))
		put_key(p, PM_HEADER_HOST, pm_text(host.nodename));
	if (o->run.command) {
		put_key(p, PM_HEADER_COMMAND, pm_text(o->run.command[0]));
		if (o->run.command[1])
			put_key(p, PM_HEADER_ARGUMENTS, texts(o->run.command + 1));
	}
	if (o->output.labels)
		put_key(p, PM_HEADER_LABELS, labels(o->output.labels));
	user = user_name();
	put_key(p, PM_HEADER_USER, pm_text(user));
	free(user);
	put_key(p, PM_HEADER_PMREC_ARGS, texts(argv));
}

void header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv)
{
	const struct record_options *o = p->options;
	SCOPED(buf_release) struct buf cpus = BUF_INIT;

	put_key(p, PM_HEADER_TOOL, pm_text("pmrec " PM_VERSION));
	put_key(p, PM_HEADER_INTERVAL, pm_u64(o->sample.interval_ns));
	put_key(p, PM_HEADER_TICK_HZ, pm_u64((uint64_t)sysconf(_SC_CLK_TCK)));
	put_key(p, PM_HEADER_PAGE_SIZE, pm_u64((uint64_t)sysconf(_SC_PAGESIZE)));
	put_key(p, PM_HEADER_TARGET, pm_text(target(o)));
	put_key(p, PM_HEADER_PRIVACY, pm_text(o->privacy));
	put_key(p, PM_HEADER_SOURCES, source_names(p, s, n));
	put_key(p, PM_HEADER_LITTLE_ENDIAN, pm_bool(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
	if (p->root->emulated)
		put_key(p, PM_HEADER_EMULATED, pm_bool(true));
	if (o->perf.no_scale)
		put_key(p, PM_HEADER_SCALED, pm_bool(false));
	if (o->run.runs != 1)
		put_key(p, PM_HEADER_RUNS, pm_u64(o->run.runs == UINT32_MAX ? 0 : o->run.runs));
	if (clocks_counter_name() && !p->root->emulated) {
		put_key(p, PM_HEADER_CLOCK_COUNTER, pm_text(clocks_counter_name()));
		if (clocks_counter_hz())
			put_key(p, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(clocks_counter_hz()));
	}
	if (o->cpus) {
		cpulist_print(&p->cpus, &cpus);
		/* As typed, if that is how lists are written. */
		put_key(p, PM_HEADER_CPUS,
			pm_text(o->cpus[strspn(o->cpus, "0123456789,-")] ? buf_str(&cpus) : o->cpus));
	}
	put_people(p, argv);
}
