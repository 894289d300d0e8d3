/* The msr source on registers that the test makes up, on copies of machines. */
#include <limits.h>

#include "common/catalog/msr.h"
#include "record/plan/machine.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/planned.h"
#include "tests/unit/lib/catalog_msr.h"
#include "tests/unit/lib/test.h"

static struct planned here;
static bool hypervisor; /* said to be there */

/* Registers answer 1000 x address + CPU, but for what a test says. */
static struct {
	uint32_t only;   /* if not 0, the only register that there is */
	uint32_t zero;   /* answers 0 on every CPU */
	uint32_t broken; /* fails with EIO from now on */
	uint32_t away;   /* CPU that is offline; PM_NONE: none */
	int refuse;      /* what opening says */
} fake;

/* The CPU + 1 of each descriptor. */
static uint32_t device[1024];

int __real_root_open(const struct root *r, const char *format, ...);
ssize_t __real_pread(int fd, void *buf, size_t n, off_t at);
int __wrap_root_open(const struct root *r, const char *format, ...);
ssize_t __wrap_pread(int fd, void *buf, size_t n, off_t at);

int __wrap_root_open(const struct root *r, const char *format, ...)
{
	bool msr = !strcmp(format, "/dev/cpu/%u/msr");
	char path[PATH_MAX];
	va_list ap;
	int fd;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	if (msr && fake.refuse)
		return fake.refuse;
	fd = msr ? open("/dev/null", O_RDONLY | O_CLOEXEC) : __real_root_open(r, "%s", path);
	if (fd >= 0)
		device[fd] = msr ? (uint32_t)strtoul(path + strlen("/dev/cpu/"), NULL, 10) + 1 : 0;
	return fd;
}

ssize_t __wrap_pread(int fd, void *buf, size_t n, off_t at)
{
	uint32_t address = (uint32_t)at, cpu = fd >= 0 ? device[fd] - 1 : PM_NONE;

	if (cpu == PM_NONE)
		return __real_pread(fd, buf, n, at);
	if (cpu == fake.away || (fake.only && address != fake.only) || address == fake.broken ||
	    address >= 0xc0000000) {
		errno = cpu == fake.away ? ENXIO : EIO;
		return -1;
	}
	*(uint64_t *)buf = address == fake.zero ? 0 : 1000ull * address + cpu;
	return sizeof(uint64_t);
}

static void start(const char *kind, const char *cpus)
{
	struct error e = { 0 };

	here.options = (struct record_options){ .privacy = (char *)"default", .cpus = (char *)cpus };
	planned_begin(&here, kind, "msr");
	if (hypervisor)
		assert_int_equal(pm_map_set(&here.model.header, PM_HEADER_HYPERVISOR, pm_text("test")), 0);
	for (size_t i = 0; i < here.n_sources; i++)
		if (!strcmp(here.source[i].ops->name, "msr"))
			here.plan.source = &here.source[i];
	assert_int_equal(here.plan.source->ops->plan(here.plan.source, &here.plan, &e), 0);
}

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.away = PM_NONE;
	hypervisor = false;
	return 0;
}

static int teardown(void **state)
{
	planned_end(&here);
	return 0;
}

static void read_unit(struct unit *u, uint64_t *v, uint16_t *status)
{
	bool missing = false;
	struct cells c = { .v = v,
			   .status = status,
			   .step = 1,
			   .any_missing = &missing,
			   .n = pm_model_group(&here.model, u->group)->n_counters };

	memset(status, 0, c.n * sizeof(*status));
	assert_int_equal(u->read(u, &c), 0);
}

/* What a snapshot has for a counter in the place that is read on `cpu`; *status says why there is none. */
static uint64_t value_of(const char *name, uint32_t cpu, uint16_t *status)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, name);

	assert_non_null(c);
	for (struct unit *u = here.plan.units; u; u = u->next) {
		const struct pm_group *g = pm_model_group(&here.model, u->group);
		uint64_t v[64];
		uint16_t why[64];

		if (u->cpu != cpu)
			continue;
		for (uint32_t k = 0; k < g->n_counters; k++) {
			if (g->counter[k] != c->id)
				continue;
			read_unit(u, v, why);
			*status = why[k];
			return v[k];
		}
	}
	*status = 9999;
	return 0;
}

static unsigned units_of(const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, name);
	unsigned n = 0;

	for (struct unit *u = here.plan.units; u && c; u = u->next) {
		const struct pm_group *g = pm_model_group(&here.model, u->group);

		for (uint32_t k = 0; k < g->n_counters; k++)
			n += g->counter[k] == c->id;
	}
	return n;
}

static enum pm_kind kind_of(const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&here.model, name);

	for (uint32_t i = 0; i < here.model.n_groups; i++)
		if (here.model.group[i].counter[0] <= c->id &&
		    c->id < here.model.group[i].counter[0] + here.model.group[i].n_counters)
			return here.model.instance[here.model.group[i].instance[0] - 1].kind;
	return PM_KINDS;
}

static const struct pm_probe *probe(uint16_t reason)
{
	for (uint32_t i = 0; i < here.model.n_probes; i++)
		if (here.model.probe[i].reason == reason && !strcmp(here.model.probe[i].source, "msr"))
			return &here.model.probe[i];
	return NULL;
}

/* 15 CPUs of 8 cores, 4 dies, 2 packages: each register once for what it belongs to. */
static void reads_each_register_once(void **state)
{
	uint16_t status;

	start("server", NULL);
	assert_int_equal(units_of("msr.aperf"), 15);
	assert_int_equal(units_of("msr.core_c6_res"), 8);
	/* Intel's package registers belong to a die where a package has several. */
	assert_int_equal(units_of("msr.pkg_energy_status"), 4);
	assert_int_equal(kind_of("msr.pkg_energy_status"), PM_DIE);
	assert_int_equal(units_of("msr.platform_energy_status"), 1);
	assert_int_equal(value_of("msr.aperf", 9, &status), 0xe8 * 1000 + 9);
	assert_int_equal(status, PM_OK);
	assert_int_equal(value_of("msr.core_c6_res", 5, &status), 0x3fd * 1000 + 5);
	/* CPU 13 is the sibling of CPU 5. */
	value_of("msr.core_c6_res", 13, &status);
	assert_int_equal(status, 9999);
	assert_int_equal(pm_model_counter_named(&here.model, "msr.pkg_energy_status")->width, 32);
	/* What cannot be read is no counter, and the reason is in the file. */
	assert_null(pm_model_counter_named(&here.model, "msr.amd_core_energy"));
	assert_int_equal(pm_model_config(&here.model, "msr.amd_core_energy", 0)->reason, pm_reason_errno(EIO));
}

static void keeps_one_time_values_of_start_and_end(void **state)
{
	const struct pm_config *c;
	unsigned n = 0;

	start("hybrid", NULL);
	c = pm_model_config(&here.model, "msr.platform_info", 0);
	assert_int_equal(c->kind, PM_PACKAGE);
	assert_int_equal(c->value.u64, 0xce * 1000);
	here.plan.time_ns += 1000;
	fake.broken = 0x1fc;
	here.plan.source->ops->finish(here.plan.source, &here.plan);
	for (uint32_t i = 0; i < here.model.n_configs; i++)
		n += !strcmp(here.model.config[i].name, "msr.power_ctl");
	assert_int_equal(n, 2);
	assert_int_equal(pm_model_config(&here.model, "msr.power_ctl", 0)->reason, pm_reason_errno(EIO));
	/* No hypervisor: a 0 is a 0. */
	assert_null(probe(PM_REASON_SUSPECT));
}

static void suspects_zeros_of_hypervisors(void **state)
{
	fake.zero = 0x3fd;
	hypervisor = true;
	start("hybrid", NULL);
	here.plan.source->ops->finish(here.plan.source, &here.plan);
	assert_non_null(probe(PM_REASON_SUSPECT));
	assert_string_equal(said(&probe(PM_REASON_SUSPECT)->what), "msr.core_c6_res");
}

static void loses_only_the_cell_that_fails(void **state)
{
	uint16_t status;

	start("hybrid", NULL);
	fake.broken = 0xe7;
	value_of("msr.mperf", 3, &status);
	assert_int_equal(status, pm_reason_errno(EIO));
	assert_int_equal(value_of("msr.aperf", 3, &status), 0xe8 * 1000 + 3);
	assert_int_equal(status, PM_OK);
	fake.away = 3;
	value_of("msr.aperf", 3, &status);
	assert_int_equal(status, PM_REASON_OFFLINE);
}

static void another_cpu_takes_over(void **state)
{
	uint16_t status;
	uint32_t instance = 0, group = 0;

	start("server", NULL);
	for (struct unit *u = here.plan.units; u; u = u->next)
		if (u->cpu == 0 && pm_model_group(&here.model, u->group)->n_instances == 4)
			group = u->group, instance = u->instance;
	assert_true(group);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "1-14\n");
	assert_int_equal(topology_refresh(&here.plan), 1);
	fake.away = 0;
	/* Files that are open are not opened again: it may be refused by now. */
	fake.refuse = -EACCES;
	here.plan.source->ops->update(here.plan.source, &here.plan, 0, false);
	fake.refuse = 0;
	/* CPU 8 shares the core, CPU 1 the die. */
	assert_int_equal(value_of("msr.core_c6_res", 8, &status), 0x3fd * 1000 + 8);
	assert_int_equal(value_of("msr.pkg_energy_status", 1, &status), 0x611 * 1000 + 1);
	assert_int_equal(status, PM_OK);
	for (struct unit *u = here.plan.units; u; u = u->next)
		if (u->cpu == 1 && u->group == group)
			assert_int_equal(u->instance, instance);
}

static void says_why_there_is_nothing(void **state)
{
	static const struct {
		int err;
		uint16_t reason;
		const char *hint;
	} row[] = {
		{ -ENOENT, PM_REASON_NOT_SUPPORTED, "modprobe msr" },
		{ -EPERM, PM_REASON_NO_PERMISSION, "cap_sys_rawio" },
		{ -EACCES, PM_REASON_NO_PERMISSION, "cap_sys_rawio" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (i)
			teardown(state);
		fake.refuse = row[i].err;
		start("server", NULL);
		assert_null(here.plan.units);
		assert_int_equal(here.model.n_probes, 1);
		assert_int_equal(here.model.probe[0].reason, row[i].reason);
		assert_non_null(strstr(said(&here.model.probe[0].hint), row[i].hint));
	}
}

/* What helps where the files cannot be opened. */
static const char *helps(int err)
{
	fake.refuse = err;
	if (here.model.n_probes) {
		planned_forget(&here);
		root_release(&here.root);
	}
	start("server", NULL);
	return said(&here.model.probe[0].hint);
}

static void explains_locks_and_containers(void **state)
{
	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	assert_non_null(strstr(helps(-EPERM), "locked down"));
	sysroot_put(here.dir, "/.dockerenv", " ");
	assert_non_null(strstr(helps(-EPERM), "--device /dev/cpu"));
	assert_non_null(strstr(helps(-ENOENT), "on the host"));
	sysroot_put(here.dir, "/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	assert_null(strstr(helps(-EPERM), "locked down"));
}

static void catalog_is_whole(void **state)
{
	unsigned counters[CATALOG_MSR_SCOPES] = { 0 };

	for (const struct catalog_msr *r = catalog_msrs; r->address; r++) {
		assert_true(r->scope < CATALOG_MSR_SCOPES && r->use && r->use <= CATALOG_MSR_BOTH);
		assert_memory_equal(r->counter.name, "msr.", 4);
		assert_string_equal(r->counter.name + 4, r->counter.key);
		assert_ptr_equal(catalog_msr_find(r->counter.name), r);
		counters[r->scope] += r->use & CATALOG_MSR_COUNTER;
		for (const struct catalog_msr *q = r + 1; q->address; q++) {
			assert_int_not_equal(r->address, q->address);
			assert_string_not_equal(r->counter.name, q->counter.name);
		}
	}
	for (int i = 0; i < CATALOG_MSR_SCOPES; i++)
		assert_in_range(counters[i], 1, 64);
	assert_null(catalog_msr_find("nothing"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TESTS(TEST(reads_each_register_once), TEST(keeps_one_time_values_of_start_and_end),
	   TEST(suspects_zeros_of_hypervisors), TEST(loses_only_the_cell_that_fails), TEST(another_cpu_takes_over),
	   TEST(says_why_there_is_nothing), TEST(explains_locks_and_containers), cmocka_unit_test(catalog_is_whole))
