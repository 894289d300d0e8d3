#include "record/host/cpuid.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/process.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define SUBLEAVES_MAX 32
#define TEXT_MAX      (256u << 10)
#define HYPERVISOR    0x40000000u
#define EXTENDED      0x80000000u

/* How many subleaves a leaf has. */
enum subleaves {
	ONE,     /* 0 alone */
	COUNTED, /* eax of subleaf 0 is the highest */
	LEVELS,  /* until a level of type 0 (topology) */
	CACHES,  /* until a cache of type 0 */
};

static const struct {
	uint32_t leaf;
	enum subleaves kind;
} wanted[] = {
	{ 0x00000000, ONE }, { 0x00000001, ONE },     { 0x00000004, CACHES }, { 0x00000005, ONE },
	{ 0x00000006, ONE }, { 0x00000007, COUNTED }, { 0x0000000a, ONE },    { 0x0000000b, LEVELS },
	{ 0x00000015, ONE }, { 0x00000016, ONE },     { 0x0000001a, ONE },    { 0x0000001f, LEVELS },
	{ HYPERVISOR, ONE }, { EXTENDED, ONE },       { 0x80000001, ONE },    { 0x80000002, ONE },
	{ 0x80000003, ONE }, { 0x80000004, ONE },     { 0x80000007, ONE },    { 0x80000008, ONE },
	{ 0x8000001e, ONE }, { 0x80000022, ONE },     { 0x80000026, LEVELS },
};

/* The way in which one CPU is asked. */
struct asker {
	int (*ask)(struct asker *a, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *regs);
	int fd;
	const char *text;
};

static int ask_here(struct asker *a, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *r)
{
#if defined(__x86_64__) || defined(__i386__)
	__cpuid_count(leaf, subleaf, r->eax, r->ebx, r->ecx, r->edx);
	return 0;
#else
	return -ENOSYS;
#endif
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The cpuid driver takes the file offset as a register pair: leaf below, subleaf above. */
static int ask_device(struct asker *a, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *r)
{
	uint8_t raw[16];
	ssize_t n = pread(a->fd, raw, sizeof(raw), (off_t)((uint64_t)subleaf << 32 | leaf));

	if (n != sizeof(raw))
		return n < 0 ? -errno : -EIO;
	*r = (struct cpuid_regs){ le32(raw), le32(raw + 4), le32(raw + 8), le32(raw + 12) };
	return 0;
}

/* A plain file cannot act like the driver: copied trees have the text that `cpuid -r` prints for one CPU. */
static int ask_text(struct asker *a, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *r)
{
	for (const char *line = a->text; line; line = strchr(line, '\n')) {
		unsigned l, s;

		line += *line == '\n';
		if (sscanf(line, " 0x%x 0x%x: eax=0x%x ebx=0x%x ecx=0x%x edx=0x%x", &l, &s, &r->eax, &r->ebx, &r->ecx,
			   &r->edx) == 6 &&
		    l == leaf && s == subleaf)
			return 0;
	}
	*r = (struct cpuid_regs){ 0 };
	return -ENOENT;
}

/* NULL without the leaf. */
static const struct cpuid_regs *cpuid_get(const struct cpuid_cpu *c, uint32_t leaf, uint32_t subleaf)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->leaf[i].leaf == leaf && c->leaf[i].subleaf == subleaf)
			return &c->leaf[i].regs;
	return NULL;
}

/* Whether the leaf exists: the highest leaf of its range is part of this CPU's answers so far. */
static bool has_leaf(const struct cpuid_cpu *c, uint32_t leaf)
{
	const struct cpuid_regs *first;

	if (leaf == 0 || leaf == EXTENDED)
		return true;
	if (leaf == HYPERVISOR) {
		first = cpuid_get(c, 1, 0);
		return first && first->ecx >> 31;
	}
	first = cpuid_get(c, leaf & EXTENDED, 0);
	return first && leaf <= first->eax && (first->eax & EXTENDED) == (leaf & EXTENDED);
}

/* Whether the answer marks the end rather than a subleaf. */
static bool is_end(enum subleaves kind, const struct cpuid_regs *r)
{
	return kind == LEVELS ? !(r->ecx >> 8 & 0xff) : kind == CACHES && !(r->eax & 0x1f);
}

static int walk_leaf(struct asker *a, struct cpuid_cpu *c, uint32_t leaf, enum subleaves kind)
{
	uint32_t last = kind == ONE ? 0 : SUBLEAVES_MAX - 1;
	struct cpuid_regs r;

	for (uint32_t s = 0; s <= last; s++) {
		int err = a->ask(a, leaf, s, &r);

		if (err || (s && is_end(kind, &r)))
			return err;
		if (kind == COUNTED && s == 0)
			last = r.eax < SUBLEAVES_MAX ? r.eax : SUBLEAVES_MAX - 1;
		memory_room(&c->leaf, c->n, sizeof(*c->leaf));
		c->leaf[c->n++] = (struct cpuid_leaf){ leaf, s, r };
		if (is_end(kind, &r))
			break;
	}
	return 0;
}

static int walk(struct asker *a, struct cpuid_cpu *c, bool brief)
{
	int err;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!has_leaf(c, wanted[i].leaf) || (brief && wanted[i].kind != ONE))
			continue;
		err = walk_leaf(a, c, wanted[i].leaf, wanted[i].kind);
		/* A dump may lack a leaf, but not the first. */
		if (err && (err != -ENOENT || i == 0))
			return err;
	}
	return 0;
}

static bool is_text(const uint8_t *p, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++)
		if (!isprint(p[i]) && !isspace(p[i]))
			return false;
	return n > 0;
}

static int collect_file(const struct root *r, struct cpuid_cpu *c, bool brief)
{
	struct asker a = { .ask = ask_device };
	SCOPED(buf_release) struct buf text = BUF_INIT;
	uint8_t start[16];
	ssize_t n;
	int err = 0;

	a.fd = root_open(r, "/dev/cpu/%u/cpuid", c->cpu);
	if (a.fd < 0)
		return a.fd;
	n = pread(a.fd, start, sizeof(start), 0);
	if (is_text(start, n)) {
		n = root_read(r, &text, TEXT_MAX, "/dev/cpu/%u/cpuid", c->cpu);
		err = n < 0 ? (int)n : 0;
		a.ask = ask_text;
		a.text = buf_str(&text);
	}
	if (!err)
		err = walk(&a, c, brief);
	close(a.fd);
	return err;
}

static void collect_here(struct cpuid_cpu *c, size_t n, bool brief)
{
	struct asker a = { .ask = ask_here, .fd = -1 };
	struct affinity before;
	int err = affinity_save(&before);

	for (size_t i = 0; i < n; i++) {
		c[i].err = err ? err : affinity_pin(c[i].cpu);
		if (!c[i].err)
			c[i].err = walk(&a, &c[i], brief);
	}
	affinity_restore(&before);
}

struct cpuid_cpu *cpuid_collect(const struct root *r, const struct cpulist *cpus, bool brief)
{
	struct cpuid_cpu *c;
	bool none = true;

	if (r->emulated && !root_exists(r, "/dev/cpu"))
		return NULL;
	c = memory_new(cpus->n, sizeof(*c));
	for (size_t i = 0; i < cpus->n; i++)
		c[i].cpu = cpus->cpu[i];
	if (r->emulated)
		for (size_t i = 0; i < cpus->n; i++)
			c[i].err = collect_file(r, &c[i], brief);
	else
		collect_here(c, cpus->n, brief);
	for (size_t i = 0; i < cpus->n; i++)
		none = none && c[i].err;
	/* A tree without dev/cpu and a machine without the instruction have nothing to report. */
	if (none && cpus->n && (c[0].err == -ENOENT || c[0].err == -ENOSYS)) {
		cpuid_free(c, cpus->n);
		return NULL;
	}
	return c;
}

void cpuid_free(struct cpuid_cpu *c, size_t n)
{
	for (size_t i = 0; i < n && c; i++)
		free(c[i].leaf);
	free(c);
}

/* Appends the text in a register; unprintable characters are dropped. */
static void add_text(char *out, uint32_t reg)
{
	size_t n = strlen(out);

	for (int i = 0; i < 4; i++, reg >>= 8)
		if (isprint((int)(reg & 0xff)))
			out[n++] = (char)(reg & 0xff);
	out[n] = '\0';
}

bool cpuid_vendor(const struct cpuid_cpu *c, char vendor[static 13])
{
	const struct cpuid_regs *r = cpuid_get(c, 0, 0);

	vendor[0] = '\0';
	if (!r)
		return false;
	add_text(vendor, r->ebx);
	add_text(vendor, r->edx);
	add_text(vendor, r->ecx);
	return vendor[0] != '\0';
}

bool cpuid_brand(const struct cpuid_cpu *c, char brand[static 49])
{
	size_t len, blanks;

	brand[0] = '\0';
	for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; leaf++) {
		const struct cpuid_regs *r = cpuid_get(c, leaf, 0);

		if (!r)
			return false;
		add_text(brand, r->eax);
		add_text(brand, r->ebx);
		add_text(brand, r->ecx);
		add_text(brand, r->edx);
	}
	blanks = strspn(brand, " ");
	memmove(brand, brand + blanks, strlen(brand) - blanks + 1);
	for (len = strlen(brand); len > 0 && brand[len - 1] == ' ';)
		brand[--len] = '\0';
	return len > 0;
}

bool cpuid_name(const struct cpuid_cpu *c, char *name, size_t size)
{
	const struct cpuid_regs *r = cpuid_get(c, 1, 0);
	unsigned family, model, stepping;
	char vendor[13];

	if (!r || !cpuid_vendor(c, vendor))
		return false;
	stepping = r->eax & 0xf;
	model = r->eax >> 4 & 0xf;
	family = r->eax >> 8 & 0xf;
	if (family == 6 || family == 15)
		model |= (r->eax >> 16 & 0xf) << 4;
	if (family == 15)
		family += r->eax >> 20 & 0xff;
	snprintf(name, size, "%s-%u-%X-%X", vendor, family, model, stepping);
	return true;
}

static const struct {
	const char *signature, *name;
} hypervisor[] = {
	{ "KVMKVMKVM", "kvm" },           { "Linux KVM Hv", "kvm" },       { "TCGTCGTCGTCG", "tcg" },
	{ "Microsoft Hv", "hyperv" },     { "VMwareVMware", "vmware" },    { "XenVMMXenVMM", "xen" },
	{ "bhyve bhyve ", "bhyve" },      { "ACRNACRNACRN", "acrn" },      { " QNXQVMBSQG ", "qnx" },
	{ "VBoxVBoxVBox", "virtualbox" }, { "prl hyperv  ", "parallels" }, { " lrpepyh  vr", "parallels" },
};

bool cpuid_hypervisor(const struct cpuid_cpu *c, char name[static 13])
{
	const struct cpuid_regs *r = cpuid_get(c, HYPERVISOR, 0);

	name[0] = '\0';
	if (!r)
		return false;
	add_text(name, r->ebx);
	add_text(name, r->ecx);
	add_text(name, r->edx);
	for (size_t i = 0; i < sizeof(hypervisor) / sizeof(hypervisor[0]); i++)
		if (!strcmp(hypervisor[i].signature, name))
			strcpy(name, hypervisor[i].name);
	if (!name[0])
		strcpy(name, "unknown");
	return true;
}

const char *cpuid_for_vendor(const char *own)
{
	const char *other = secure_getenv("PERF_CPUID");

	return other && *other ? other : own;
}

/* Core PMUs of hybrid x86 processors; each lists its CPUs. */
static const char *const hybrid_pmu[] = { "cpu_core", "cpu_atom", "cpu_lowpower" };

static const struct {
	uint16_t implementer, part;
	const char *name;
} arm_part[] = {
	{ 0x41, 0xd03, "cortex-a53" },  { 0x41, 0xd04, "cortex-a35" },   { 0x41, 0xd05, "cortex-a55" },
	{ 0x41, 0xd07, "cortex-a57" },  { 0x41, 0xd08, "cortex-a72" },   { 0x41, 0xd09, "cortex-a73" },
	{ 0x41, 0xd0a, "cortex-a75" },  { 0x41, 0xd0b, "cortex-a76" },   { 0x41, 0xd0c, "neoverse-n1" },
	{ 0x41, 0xd0d, "cortex-a77" },  { 0x41, 0xd0e, "cortex-a76ae" }, { 0x41, 0xd40, "neoverse-v1" },
	{ 0x41, 0xd41, "cortex-a78" },  { 0x41, 0xd42, "cortex-a78ae" }, { 0x41, 0xd44, "cortex-x1" },
	{ 0x41, 0xd46, "cortex-a510" }, { 0x41, 0xd47, "cortex-a710" },  { 0x41, 0xd48, "cortex-x2" },
	{ 0x41, 0xd49, "neoverse-n2" }, { 0x41, 0xd4b, "cortex-a78c" },  { 0x41, 0xd4d, "cortex-a715" },
	{ 0x41, 0xd4e, "cortex-x3" },   { 0x41, 0xd4f, "neoverse-v2" },  { 0x41, 0xd80, "cortex-a520" },
	{ 0x41, 0xd81, "cortex-a720" }, { 0x41, 0xd82, "cortex-x4" },    { 0x41, 0xd84, "neoverse-v3" },
	{ 0x41, 0xd8e, "neoverse-n3" }, { 0x4e, 0x004, "carmel" },       { 0x4e, 0x010, "olympus" },
	{ 0x43, 0x0a1, "thunderx" },    { 0x43, 0x0af, "thunderx2" },    { 0x46, 0x001, "a64fx" },
	{ 0x48, 0xd01, "tsv110" },      { 0x51, 0x001, "oryon" },        { 0x61, 0x022, "icestorm" },
	{ 0x61, 0x023, "firestorm" },   { 0x61, 0x032, "blizzard" },     { 0x61, 0x033, "avalanche" },
	{ 0xc0, 0xac3, "ampere-1" },    { 0xc0, 0xac4, "ampere-1a" },
};

void cputype_name(uint64_t midr, char *name, size_t size)
{
	unsigned implementer = (unsigned)(midr >> 24) & 0xff, part = (unsigned)(midr >> 4) & 0xfff;

	for (size_t i = 0; i < sizeof(arm_part) / sizeof(arm_part[0]); i++) {
		if (arm_part[i].implementer != implementer || arm_part[i].part != part)
			continue;
		snprintf(name, size, "%s", arm_part[i].name);
		return;
	}
	snprintf(name, size, "midr-%02x-%03x", implementer, part);
}

uint64_t cputype_midr(const struct root *r, uint32_t cpu)
{
	uint64_t midr;

	if (root_u64(r, &midr, "/sys/devices/system/cpu/cpu%u/regs/identification/midr_el1", cpu))
		return 0;
	return midr;
}

uint64_t cputype_chip(const struct root *r, char soc[static 32])
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(r, &names, "/sys/devices/system/cpu");
	uint64_t midr = 0;

	/* CPU 0 may be offline. */
	for (int i = 0; i < n && !midr; i++)
		if (!strncmp(names[i], "cpu", 3) && names[i][3] >= '0' && names[i][3] <= '9')
			midr = cputype_midr(r, (uint32_t)strtoul(names[i] + 3, NULL, 10));
	soc[0] = '\0';
	root_line(r, soc, 32, "/sys/devices/soc0/soc_id");
	return midr & 0xff00fff0;
}

/* Gives a CPU a type, which is added if new. */
static void set_type(struct pm_topology *t, struct pm_cpu *cpu, const char *name)
{
	uint32_t i = 0;

	while (i < t->n_types && strcmp(t->type[i], name))
		i++;
	if (i == t->n_types) {
		memory_room(&t->type, i, sizeof(*t->type));
		t->type[t->n_types++] = memory_text(name);
	}
	cpu->type = i;
}

static void read_hybrid(const struct root *r, struct pm_topology *t)
{
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };

	for (size_t i = 0; i < sizeof(hybrid_pmu) / sizeof(hybrid_pmu[0]); i++) {
		if (root_cpulist(r, &cpus, "/sys/devices/%s/cpus", hybrid_pmu[i]))
			continue;
		for (uint32_t k = 0; k < t->n; k++)
			if (cpulist_has(&cpus, t->cpu[k].cpu))
				set_type(t, &t->cpu[k], hybrid_pmu[i]);
	}
}

static void read_midrs(const struct root *r, struct pm_topology *t)
{
	char name[32];

	for (uint32_t k = 0; k < t->n; k++) {
		uint64_t midr = t->cpu[k].online ? cputype_midr(r, t->cpu[k].cpu) : 0;

		if (!t->cpu[k].online)
			continue;
		/* Only Arm machines have it, and then on every CPU. */
		if (!midr)
			break;
		cputype_name(midr, name, sizeof(name));
		set_type(t, &t->cpu[k], name);
	}
}

static void keep_offline(const struct pm_topology *before, struct pm_topology *t)
{
	for (uint32_t k = 0; k < t->n; k++) {
		const struct pm_cpu *old = pm_topology_cpu(before, t->cpu[k].cpu);

		if (t->cpu[k].online)
			continue;
		t->cpu[k].type = PM_NONE;
		if (old && old->type < before->n_types)
			set_type(t, &t->cpu[k], before->type[old->type]);
	}
}

void cputype_read(const struct root *r, const struct pm_topology *before, struct pm_topology *t)
{
	read_hybrid(r, t);
	if (!t->n_types)
		read_midrs(r, t);
	if (before)
		keep_offline(before, t);
	/* A single kind is no distinction, unless this is a hybrid whose other kind is offline. */
	if (t->n_types == 1 && !root_exists(r, "/sys/devices/%s", hybrid_pmu[0])) {
		free(t->type[0]);
		free(t->type);
		t->type = NULL;
		t->n_types = 0;
		for (uint32_t k = 0; k < t->n; k++)
			t->cpu[k].type = PM_NONE;
	}
}
