#include "record/host/cputype.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

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

/* Gives a CPU a type, which is added if new. 0 or -ENOMEM. */
static int set_type(struct pm_topology *t, struct pm_cpu *cpu, const char *name)
{
	uint32_t i = 0;

	while (i < t->n_types && strcmp(t->type[i], name))
		i++;
	if (i == t->n_types) {
		if (array_room(&t->type, i, sizeof(*t->type)) || !(t->type[i] = strdup(name)))
			return -ENOMEM;
		t->n_types++;
	}
	cpu->type = i;
	return 0;
}

static int read_hybrid(const struct root *r, struct pm_topology *t)
{
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	int err = 0;

	for (size_t i = 0; i < sizeof(hybrid_pmu) / sizeof(hybrid_pmu[0]); i++) {
		if (root_cpulist(r, &cpus, "/sys/devices/%s/cpus", hybrid_pmu[i]))
			continue;
		for (uint32_t k = 0; k < t->n && !err; k++)
			if (cpulist_has(&cpus, t->cpu[k].cpu))
				err = set_type(t, &t->cpu[k], hybrid_pmu[i]);
	}
	return err;
}

static int read_midrs(const struct root *r, struct pm_topology *t)
{
	char name[32];
	int err = 0;

	for (uint32_t k = 0; k < t->n && !err; k++) {
		uint64_t midr = t->cpu[k].online ? cputype_midr(r, t->cpu[k].cpu) : 0;

		if (!t->cpu[k].online)
			continue;
		/* Only Arm machines have it, and then on every CPU. */
		if (!midr)
			break;
		cputype_name(midr, name, sizeof(name));
		err = set_type(t, &t->cpu[k], name);
	}
	return err;
}

static int keep_offline(const struct pm_topology *before, struct pm_topology *t)
{
	int err = 0;

	for (uint32_t k = 0; k < t->n && !err; k++) {
		const struct pm_cpu *old = pm_topology_cpu(before, t->cpu[k].cpu);

		if (t->cpu[k].online)
			continue;
		t->cpu[k].type = PM_NONE;
		if (old && old->type < before->n_types)
			err = set_type(t, &t->cpu[k], before->type[old->type]);
	}
	return err;
}

int cputype_read(const struct root *r, const struct pm_topology *before, struct pm_topology *t, struct error *e)
{
	int err = read_hybrid(r, t);

	if (!err && !t->n_types)
		err = read_midrs(r, t);
	if (!err && before)
		err = keep_offline(before, t);
	if (err)
		return error_sys(e, -err, "types of CPUs");
	/* A single kind is no distinction, unless this is a hybrid whose other kind is offline. */
	if (t->n_types == 1 && !root_exists(r, "/sys/devices/%s", hybrid_pmu[0])) {
		free(t->type[0]);
		free(t->type);
		t->type = NULL;
		t->n_types = 0;
		for (uint32_t k = 0; k < t->n; k++)
			t->cpu[k].type = PM_NONE;
	}
	return 0;
}
