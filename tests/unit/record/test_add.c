/* --add: what it takes, what it refuses, and the counters that come of it on copies of machines. */
#include "common/add.h"
#include "format/limits.h"
#include "record/plan/machine.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/planned.h"
#include "tests/unit/lib/test.h"

static struct planned here;

static void takes_locations_and_attributes(void **state)
{
	static const struct {
		const char *text;
		struct add is;
	} row[] = {
		/* The example of turbostat's manual page. */
		{ "msr0x199,u32,raw,PRF_CTRL",
		  { ADD_MSR, .format = ADD_RAW, .width = 32, .name = "PRF_CTRL", .address = 0x199 } },
		{ "msr16", { ADD_MSR, .width = 64, .name = "M0X10", .address = 16 } },
		{ "msr0x3fd,u32,percent,core",
		  { ADD_MSR, ADD_CORE, ADD_PERCENT, 32, .name = "M0x3fd%", .address = 0x3fd } },
		{ "package,Mine,usec,/sys/x/y,delta",
		  { ADD_PATH, ADD_PACKAGE, .width = 64, .type = "usec", .name = "Mine",
		    .text = (char *)"/sys/x/y" } },
		{ "/sys/x/y", { ADD_PATH, .width = 64, .name = "y", .text = (char *)"/sys/x/y" } },
		{ "/sys/x/y,average",
		  { ADD_PATH, .format = ADD_AVERAGE, .width = 64, .name = "y", .text = (char *)"/sys/x/y" } },
		{ "msr0x10,name=cycle", { ADD_MSR, .width = 64, .name = "cycle", .address = 0x10 } },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct add *is = &row[i].is;
		struct error e = { 0 };
		struct add a;

		if (add_parse(&a, row[i].text, &e))
			fail_msg("%s", e.text);
		assert_int_equal(a.location, is->location);
		assert_int_equal(a.scope, is->scope);
		assert_int_equal(a.format, is->format);
		assert_int_equal(a.width, is->width);
		assert_string_equal(a.type ? a.type : "", is->type ? is->type : "");
		assert_string_equal(a.name, is->name);
		assert_string_equal(a.text ? a.text : "", is->text ? is->text : "");
		assert_int_equal(a.address, is->address);
		add_release(&a);
	}
}

static void refuses_with_the_nearest_word(void **state)
{
	static const struct {
		const char *text, *says;
	} row[] = {
		{ "", "no location" },
		{ "cpu,u64,delta", "no location" },
		{ "msr0x10,detla", "did you mean 'delta'" },
		{ "msr0x10,packge", "did you mean 'package'" },
		{ "msr0x1g", "is not a register" },
		{ "msr0x100000000", "is not a register" },
		{ "msr0x10,A,B", "two names" },
		{ "msr0x10,msr0x11", "two locations" },
		{ "msr0x10,name=", "1 to 63" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct error e = { 0 };
		struct add a;

		assert_int_equal(add_parse(&a, row[i].text, &e), -EINVAL);
		if (!strstr(e.text, row[i].says))
			fail_msg("'%s' does not say '%s'", e.text, row[i].says);
	}
}

static void start(const char *kind, struct add *added, size_t n)
{
	struct error e = { 0 };

	here.options = (struct record_options){ .privacy = (char *)"default", .added = added, .n_added = n };
	planned_begin(&here, kind, "add");
	assert_int_equal(plan_sources(&here.plan, here.source, here.n_sources, &e), 0);
}

static int teardown(void **state)
{
	for (size_t i = 0; i < here.options.n_added; i++)
		add_release(&here.options.added[i]);
	planned_end(&here);
	return 0;
}

/* Value k of the only unit. */
static uint64_t value(uint32_t k, uint32_t n)
{
	uint64_t v[64];
	uint16_t status[64] = { 0 };
	bool missing;
	struct cells c = { .v = v, .status = status, .step = 1, .n = n, .any_missing = &missing };

	assert_non_null(here.plan.units);
	assert_null(here.plan.units->next);
	assert_int_equal(pm_group_values(pm_model_group(&here.model, here.plan.units->group)), n);
	assert_int_equal(here.plan.units->read(here.plan.units, &c), 0);
	assert_int_equal(status[k], 0);
	return v[k];
}

static void reads_files_by_scope(void **state)
{
	static struct add a;
	const struct pm_counter *c;

	assert_int_equal(
		add_parse(&a, "/sys/devices/system/cpu/cpu0/cpuidle/state1/time,core,usec,percent,C1T", NULL), 0);
	start("server", &a, 1);
	/* State 1 of CPU c has time 1000c + 102; 8 cores. */
	assert_int_equal(value(3, 8), 3102);
	c = pm_model_counter_named(&here.model, "add.c1t");
	assert_string_equal(c->display, "C1T");
	assert_string_equal(pm_map_text(&c->attrs, PM_COUNTER_ADDED, ""), "core");
	assert_string_equal(pm_map_text(&c->attrs, PM_COUNTER_ADD_FORMAT, ""), "percent");
	assert_string_equal(pm_map_text(&c->attrs, PM_COUNTER_ADD_TYPE, ""), "usec");
	assert_int_equal(c->aggregation, PM_AGG_MEAN);
}

static void reads_other_files_for_each_place(void **state)
{
	static struct add a;

	assert_int_equal(add_parse(&a, "/sys/class/thermal/thermal_zone0/temp,package,raw", NULL), 0);
	start("server", &a, 1);
	assert_int_equal(value(0, 2), 55000);
	assert_int_equal(value(1, 2), 55000);
	assert_int_equal(pm_model_counter_named(&here.model, "add.temp")->semantics, PM_BITFIELD);
}

static void what_is_not_there_is_a_column_with_a_reason(void **state)
{
	static struct add a[2];
	const struct pm_counter *c;

	assert_int_equal(add_parse(&a[0], "/sys/nothing,HERE", NULL), 0);
	assert_int_equal(add_parse(&a[1], "msr0x10,TSC", NULL), 0);
	start("server", a, 2);
	assert_null(here.plan.units);
	assert_int_equal(here.model.n_probes, 2);
	assert_string_equal(said(&here.model.probe[1].hint), "modprobe msr");
	c = pm_model_counter_named(&here.model, "add.here");
	assert_int_equal(pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0), PM_REASON_NOT_SUPPORTED);
	assert_non_null(pm_model_counter_named(&here.model, "add.tsc"));
}

/* Register 0x10 of a CPU is 0xf00000000 + 256 times the CPU; there is no other. */
static void put_registers(uint32_t cpu)
{
	char path[64], full[96];
	uint64_t v = 0xf00000000 + 256 * cpu;
	FILE *f;

	snprintf(path, sizeof(path), "/dev/cpu/%u/msr", cpu);
	sysroot_put(here.dir, path, "%s", "");
	snprintf(full, sizeof(full), "%s%s", here.dir, path);
	f = fopen(full, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0x10, SEEK_SET), 0);
	assert_int_equal(fwrite(&v, sizeof(v), 1, f), 1);
	fclose(f);
}

/* -1: the unit says that there is none. */
static int64_t read_of(struct unit *u)
{
	uint16_t status = 0;
	uint64_t v = 0;
	bool missing;
	struct cells c = { .v = &v, .status = &status, .step = 1, .n = 1, .any_missing = &missing };

	assert_int_equal(u->read(u, &c), 0);
	return status ? -1 : (int64_t)v;
}

static unsigned units_there(void)
{
	unsigned n = 0;

	for (struct unit *u = here.plan.units; u; u = u->next)
		n++;
	return n;
}

static void update(uint32_t cpu, bool online)
{
	for (size_t i = 0; i < here.n_sources; i++)
		if (here.source[i].wanted) {
			here.plan.source = &here.source[i];
			here.source[i].ops->update(&here.source[i], &here.plan, cpu, online);
		}
}

/* Where packages have several dies such a register is one for each; a die that was not there gets its place when one
 * of its CPUs comes. */
static void registers_are_read_where_they_count(void **state)
{
	static struct add a[2];
	const struct pm_counter *c;
	struct unit *u;
	size_t bytes;

	sysroot_make(here.dir, "server");
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-3,8-11\n");
	for (uint32_t i = 0; i < 16; i++)
		put_registers(i);
	assert_int_equal(add_parse(&a[0], "msr0x10,package,u32,raw,P", NULL), 0);
	assert_int_equal(add_parse(&a[1], "msr0x18,cpu,Z", NULL), 0);
	start("server", a, 2);
	assert_int_equal(units_there(), 2);
	u = here.plan.units;
	assert_int_equal(u->cpu, 0);
	assert_int_equal(read_of(u), 0);
	u = u->next;
	assert_int_equal(u->cpu, 2);
	assert_int_equal(read_of(u), 256 * 2);
	c = pm_model_counter_named(&here.model, "add.p");
	assert_int_equal(c->width, 32);
	assert_int_equal(c->semantics, PM_BITFIELD);
	assert_int_equal(pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0), 0);
	assert_int_equal(here.model.instance[here.model.group[0].instance[0] - 1].kind, PM_DIE);
	/* What cannot be read anywhere is a column that says so, also later. */
	assert_int_equal(pm_map_u64(&pm_model_counter_named(&here.model, "add.z")->attrs, PM_COUNTER_PERF_INVALID, 0),
			 PM_REASON_ERRNO + EIO);
	sysroot_put(here.dir, "/sys/devices/system/cpu/online", "0-14\n");
	assert_int_equal(topology_refresh(&here.plan), 1);
	update(1, true);
	assert_int_equal(units_there(), 2);
	/* Without room for its group it is tried again. */
	assert_true(topology_instance(&here.plan, PM_DIE, 5) > 0);
	here.plan.sampling = true;
	bytes = here.model.index.bytes;
	here.model.index.bytes = PM_MAX_MODEL;
	update(5, true);
	assert_int_equal(units_there(), 2);
	here.model.index.bytes = bytes;
	update(5, true);
	assert_int_equal(units_there(), 3);
	assert_int_equal(read_of(u->next), 256 * 5);
	assert_int_equal(u->next->cpu, 5);
	update(4, true);
	assert_int_equal(units_there(), 3);
	assert_int_equal(pm_model_group(&here.model, u->next->group)->counter[0], c->id);
}

UNIT_TESTS(cmocka_unit_test(takes_locations_and_attributes), cmocka_unit_test(refuses_with_the_nearest_word),
	   cmocka_unit_test_teardown(reads_files_by_scope, teardown),
	   cmocka_unit_test_teardown(reads_other_files_for_each_place, teardown),
	   cmocka_unit_test_teardown(what_is_not_there_is_a_column_with_a_reason, teardown),
	   cmocka_unit_test_teardown(registers_are_read_where_they_count, teardown))
