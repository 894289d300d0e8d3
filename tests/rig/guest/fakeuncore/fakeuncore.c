// SPDX-License-Identifier: GPL-2.0
/*
 * fakeuncore - the uncore PMUs of a Tegra410 or a Grace, without one.
 *
 * What user space can see of the real drivers is the same: names, cpumask, associated_cpus, identifier, peer,
 * events/, format/, the errors of perf_event_open() and what a group, a filter or a CPU that goes offline does. The
 * counters advance while they run, at the rates of events.def, so that a recording can be held against them.
 *
 * Which share of its events a filter selects depends on the bits, not on their number: bit i of a mask weighs i + 1.
 * The rates of instances other than 0 differ, see per_instance(). rates.py has the same arithmetic a second time.
 *
 * Parameters: set=t410|grace; peer=gpu|cpu, what NVLink-C2C connects to; names=current|chiplet|generic, as kernels of
 * different age call the same PMUs; counters=N, of the PMUs that have programmable ones, the cycle counter included;
 * idle=TEXT, PMUs with TEXT in their names never count; and, to be written while events are open, revoke=NAME: the
 * PMU goes away, its events read end-of-file as those of an unregistered PMU do.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/bitops.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/topology.h>

static char *set = "t410";
module_param(set, charp, 0444);
static char *peer = "gpu";
module_param(peer, charp, 0444);
static char *names = "current";
module_param(names, charp, 0444);
static char *idle = "";
module_param(idle, charp, 0444);
static int counters = 7;
module_param(counters, int, 0444);

#define MAX_COUNTERS   32
#define ADDRESS_SLOTS  8
#define ROOT_COMPLEXES 6
#define CYCLE_EVENT    (1ULL << 32)

#define BDF_ENABLE     BIT_ULL(24)
#define ADDRESS_ENABLE BIT_ULL(11)

enum table { T_ucf, T_pcie, T_target, T_latency, T_link, T_mcf, T_mcf_pcie, T_mcf_c2c, T_mcf_cnvlink, T_scf };
enum differs { COUNT, CYCLES, OUTSTANDING };

struct event_row {
	enum table table;
	const char *name; /* NULL: counted, but there is no file */
	u64 id;
	u32 rate_per_us;
	enum differs differs;
};

struct format_row {
	enum table table;
	const char *name;
	const char *bits;
};

static const struct event_row event_rows[] = {
#define EVENT(table, name, id, rate, differs) { T_##table, #name, id, rate, differs },
#define UNNAMED(table, id, rate, differs)     { T_##table, NULL, id, rate, differs },
#define FORMAT(table, name, bits)
#include "events.def"
#undef EVENT
#undef UNNAMED
#undef FORMAT
};

static const struct format_row format_rows[] = {
#define EVENT(table, name, id, rate, differs)
#define UNNAMED(table, id, rate, differs)
#define FORMAT(table, name, bits) { T_##table, #name, bits },
#include "events.def"
#undef EVENT
#undef UNNAMED
#undef FORMAT
};

/* PROGRAMMABLE counters and one for cycles; a counter of its own for every event id is FIXED. */
enum kind { PROGRAMMABLE, PCIE, TARGET, FIXED };
enum peer_kind { NO_PEER, PEER_OF_PARAMETER, PEER_CPU, PEER_CXL };

struct model {
	const char *name;
	const char *chiplet_name;
	const char *identifier;
	enum kind kind;
	enum table events;
	enum table extra_format;
	bool per_root_complex;
	u64 ids;         /* of FIXED: ids from here on are refused */
	u64 cycles;      /* the id that counts cycles, exempt from filters */
	u64 source_mask; /* filters of config1: all of these bits where none is given */
	u64 target_mask;
	enum peer_kind peer;
};

/* clang-format off */
static const struct model t410[] = {
	{ .name = "nvidia_ucf_pmu_%u", .identifier = "2cf2036b", .kind = PROGRAMMABLE, .events = T_ucf,
	  .cycles = CYCLE_EVENT, .source_mask = 0x7, .target_mask = 0xf00 },
	{ .name = "nvidia_pcie_pmu_%u_rc_%u", .chiplet_name = "nvidia_pcie_pmu_%u_chiplet_%u",
	  .identifier = "1030136b", .kind = PCIE, .events = T_pcie, .per_root_complex = true, .cycles = CYCLE_EVENT },
	{ .name = "nvidia_pcie_tgt_pmu_%u_rc_%u", .chiplet_name = "nvidia_pcie_tgt_pmu_%u_chiplet_%u",
	  .identifier = "1070036b", .kind = TARGET, .events = T_target, .per_root_complex = true, .cycles = 4 },
	{ .name = "nvidia_cmem_latency_pmu_%u", .identifier = "NVDA2021", .kind = FIXED, .events = T_latency,
	  .ids = 3 },
	{ .name = "nvidia_nvlink_c2c_pmu_%u", .identifier = "NVDA2023", .kind = FIXED, .events = T_link, .ids = 9,
	  .source_mask = 0x3, .peer = PEER_OF_PARAMETER },
	{ .name = "nvidia_nvclink_pmu_%u", .identifier = "NVDA2022", .kind = FIXED, .events = T_link, .ids = 9,
	  .peer = PEER_CPU },
	{ .name = "nvidia_nvdlink_pmu_%u", .identifier = "NVDA2020", .kind = FIXED, .events = T_link, .ids = 9,
	  .peer = PEER_CXL },
	{ }
};

static const struct model grace[] = {
	{ .name = "nvidia_scf_pmu_%u", .identifier = "2cf0036b", .events = T_scf, .cycles = CYCLE_EVENT },
	{ .name = "nvidia_pcie_pmu_%u", .identifier = "1030036b", .events = T_mcf, .extra_format = T_mcf_pcie,
	  .cycles = CYCLE_EVENT, .source_mask = 0x3ff },
	{ .name = "nvidia_nvlink_c2c1_pmu_%u", .identifier = "1040036b", .events = T_mcf, .extra_format = T_mcf_c2c,
	  .cycles = CYCLE_EVENT, .source_mask = 0x3 },
	{ .name = "nvidia_nvlink_c2c0_pmu_%u", .identifier = "1050036b", .events = T_mcf, .extra_format = T_mcf_c2c,
	  .cycles = CYCLE_EVENT, .source_mask = 0x3 },
	{ .name = "nvidia_cnvlink_pmu_%u", .identifier = "1060036b", .events = T_mcf, .extra_format = T_mcf_cnvlink,
	  .cycles = CYCLE_EVENT, .source_mask = 0xf },
	{ }
};
/* clang-format on */

struct text_attribute {
	struct device_attribute attribute;
	char text[32];
};

struct uncore {
	struct pmu pmu;
	const struct model *model;
	char name[48];
	int socket, root_complex;
	int counters, cycle_counter;
	bool idle, revoked;
	cpumask_t associated, active;
	unsigned long used;
	struct perf_event *events[MAX_COUNTERS];
	struct {
		u64 base, mask;
		int users;
	} slots[ADDRESS_SLOTS];
	struct attribute_group event_group, format_group;
	const struct attribute_group *groups[6];
	struct hlist_node node;
	struct list_head link;
	bool registered;
};
#define to_uncore(p) container_of(p, struct uncore, pmu)

static LIST_HEAD(all);
static int hotplug_state;

/* sysfs */

static struct uncore *of_device(struct device *dev)
{
	return to_uncore((struct pmu *)dev_get_drvdata(dev));
}

static bool peer_is_cpu(const struct uncore *u)
{
	return u->model->peer == PEER_CPU || (u->model->peer == PEER_OF_PARAMETER && !strcmp(peer, "cpu"));
}

static ssize_t text_show(struct device *dev, struct device_attribute *attribute, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attribute, struct text_attribute, attribute)->text);
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attribute, char *page)
{
	return cpumap_print_to_pagebuf(true, page, &of_device(dev)->active);
}

static ssize_t associated_cpus_show(struct device *dev, struct device_attribute *attribute, char *page)
{
	return cpumap_print_to_pagebuf(true, page, &of_device(dev)->associated);
}

static ssize_t identifier_show(struct device *dev, struct device_attribute *attribute, char *page)
{
	return sysfs_emit(page, "%s\n", of_device(dev)->model->identifier);
}

static ssize_t peer_show(struct device *dev, struct device_attribute *attribute, char *page)
{
	struct uncore *u = of_device(dev);

	if (u->model->peer == PEER_CXL)
		return sysfs_emit(page, "nr_cxlmem=1\n");
	return sysfs_emit(page, peer_is_cpu(u) ? "nr_cpu=1\n" : "nr_gpu=2\n");
}

static DEVICE_ATTR_RO(cpumask);
static DEVICE_ATTR_RO(associated_cpus);
static DEVICE_ATTR_RO(identifier);
static DEVICE_ATTR_RO(peer);

static struct attribute *common_attributes[] = { &dev_attr_cpumask.attr, &dev_attr_associated_cpus.attr,
						 &dev_attr_identifier.attr, NULL };
static struct attribute *peer_attributes[] = { &dev_attr_peer.attr, NULL };
static const struct attribute_group common_group = { .attrs = common_attributes };
static const struct attribute_group peer_group = { .attrs = peer_attributes };

static struct attribute *text_attribute_new(const char *name)
{
	struct text_attribute *a = kzalloc(sizeof(*a), GFP_KERNEL);

	if (!a)
		return NULL;
	sysfs_attr_init(&a->attribute.attr);
	a->attribute.attr.name = name;
	a->attribute.attr.mode = 0444;
	a->attribute.show = text_show;
	return &a->attribute.attr;
}

/* Whether the driver has a file for the event; it can be opened all the same. */
static bool event_listed(const struct uncore *u, const struct event_row *row)
{
	if (!row->name)
		return false;
	if (!strcmp(names, "generic") && u->model->kind != FIXED)
		return row->id == u->model->cycles;
	if (u->model->peer == PEER_CXL)
		return row->id < 3;
	if (peer_is_cpu(u))
		return !strstr(row->name, "_wr_");
	return true;
}

static bool format_listed(const struct uncore *u, const struct format_row *row)
{
	bool own = row->table == u->model->events || (u->model->extra_format && row->table == u->model->extra_format);

	return own &&
	       (strcmp(row->name, "gpu_mask") || (u->model->peer && u->model->peer != PEER_CXL && !peer_is_cpu(u)));
}

static int attributes_new(struct uncore *u)
{
	int i, n;

	u->event_group.name = "events";
	u->event_group.attrs = kcalloc(ARRAY_SIZE(event_rows) + 1, sizeof(struct attribute *), GFP_KERNEL);
	u->format_group.name = "format";
	u->format_group.attrs = kcalloc(ARRAY_SIZE(format_rows) + 1, sizeof(struct attribute *), GFP_KERNEL);
	if (!u->event_group.attrs || !u->format_group.attrs)
		return -ENOMEM;
	for (i = n = 0; i < ARRAY_SIZE(event_rows); i++) {
		struct attribute *a;

		if (event_rows[i].table != u->model->events || !event_listed(u, &event_rows[i]))
			continue;
		a = text_attribute_new(event_rows[i].name);
		if (!a)
			return -ENOMEM;
		sprintf(container_of(a, struct text_attribute, attribute.attr)->text, "event=0x%llx",
			event_rows[i].id);
		u->event_group.attrs[n++] = a;
	}
	for (i = n = 0; i < ARRAY_SIZE(format_rows); i++) {
		struct attribute *a;

		if (!format_listed(u, &format_rows[i]))
			continue;
		a = text_attribute_new(format_rows[i].name);
		if (!a)
			return -ENOMEM;
		strscpy(container_of(a, struct text_attribute, attribute.attr)->text, format_rows[i].bits, 32);
		u->format_group.attrs[n++] = a;
	}
	return 0;
}

static void attributes_free(struct attribute **attrs)
{
	int i;

	for (i = 0; attrs && attrs[i]; i++)
		kfree(container_of(attrs[i], struct text_attribute, attribute.attr));
	kfree(attrs);
}

/* What an event asks for */

static u64 event_id(const struct uncore *u, const struct perf_event *event)
{
	switch (u->model->kind) {
	case TARGET:
		return event->attr.config & 0x7;
	case FIXED:
		return event->attr.config & (u->model->ids == 3 ? 0x3 : 0xff);
	default:
		return event->attr.config;
	}
}

static bool counts_cycles(const struct uncore *u, const struct perf_event *event)
{
	return event_id(u, event) == u->model->cycles;
}

/* The source filter of PCIE: nothing given means that of a leader with a BDF, else all root ports. */
static u64 pcie_filter(const struct perf_event *event)
{
	u64 filter = event->attr.config1 & 0x1ffffff;

	if (filter)
		return filter;
	if (event->group_leader != event && (pcie_filter(event->group_leader) & BDF_ENABLE))
		return pcie_filter(event->group_leader);
	return 0xff;
}

/* 0: none. */
static u64 pcie_bdf(u64 filter)
{
	return filter & BDF_ENABLE ? filter >> 8 : 0;
}

static int pcie_valid(struct uncore *u, struct perf_event *event)
{
	u64 own = pcie_filter(event), leader = pcie_filter(event->group_leader);
	int first;

	if (counts_cycles(u, event))
		return 0;
	if ((own & 0xff) && pcie_bdf(own)) {
		pr_err_ratelimited("RP and BDF filters are mutually exclusive\n");
		return -EINVAL;
	}
	if (pcie_bdf(own) != pcie_bdf(leader))
		return -EINVAL;
	/* One BDF for all counters: what runs right now decides. */
	first = find_first_bit(&u->used, u->cycle_counter);
	if (first < u->cycle_counter && pcie_bdf(pcie_filter(u->events[first]->group_leader)) != pcie_bdf(leader))
		return -EINVAL;
	return 0;
}

static int target_slot(const struct uncore *u, const struct perf_event *event)
{
	int i;

	for (i = 0; i < ADDRESS_SLOTS; i++)
		if (u->slots[i].users && u->slots[i].base == event->attr.config1 &&
		    u->slots[i].mask == event->attr.config2)
			return i;
	for (i = 0; i < ADDRESS_SLOTS; i++)
		if (!u->slots[i].users)
			return i;
	return -EINVAL;
}

static bool has_address(const struct uncore *u, const struct perf_event *event)
{
	return u->model->kind == TARGET && (event->attr.config & ADDRESS_ENABLE) && !counts_cycles(u, event);
}

static int counter_take(struct uncore *u, unsigned long *used, struct perf_event *event)
{
	int last = u->model->kind == FIXED ? u->counters : u->cycle_counter, counter, err = 0;

	if (u->model->kind != FIXED && counts_cycles(u, event))
		return test_and_set_bit(u->cycle_counter, used) ? -EAGAIN : u->cycle_counter;
	counter = find_first_zero_bit(used, last);
	if (counter >= last)
		return -EAGAIN;
	if (u->model->kind == PCIE)
		err = pcie_valid(u, event);
	else if (has_address(u, event))
		err = min(0, target_slot(u, event));
	if (err)
		return err;
	__set_bit(counter, used);
	return counter;
}

static bool member_fits(struct uncore *u, unsigned long *used, struct perf_event *event)
{
	if (is_software_event(event))
		return true;
	return event->pmu == &u->pmu && counter_take(u, used, event) >= 0;
}

static bool group_fits(struct uncore *u, struct perf_event *event)
{
	struct perf_event *sibling, *leader = event->group_leader;
	unsigned long used = 0;

	if (leader == event)
		return true;
	if (!member_fits(u, &used, leader))
		return false;
	for_each_sibling_event(sibling, leader) if (!member_fits(u, &used, sibling)) return false;
	return member_fits(u, &used, event);
}

static int uncore_event_init(struct perf_event *event)
{
	struct uncore *u = to_uncore(event->pmu);

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (u->revoked)
		return -ENODEV;
	if (u->model->kind == FIXED && event_id(u, event) >= u->model->ids)
		return -ENOENT;
	if (is_sampling_event(event))
		return -EOPNOTSUPP;
	if (event->attach_state & PERF_ATTACH_TASK)
		return u->model->events == T_latency ? -EOPNOTSUPP : -EINVAL;
	if (event->cpu < 0 || !cpumask_test_cpu(event->cpu, &u->associated))
		return -EINVAL;
	event->cpu = cpumask_first(&u->active);
	if (event->cpu >= nr_cpu_ids || !group_fits(u, event))
		return -EINVAL;
	event->hw.idx = -1;
	return 0;
}

/* Counting */

static u64 times(u64 value, u32 numerator, u32 denominator)
{
	return mul_u64_u32_div(value, numerator, denominator);
}

static u32 weight(u64 mask)
{
	u32 sum = 0;
	int i;

	for (i = 0; i < 64; i++)
		if (mask & BIT_ULL(i))
			sum += i + 1;
	return sum;
}

static u64 masked(u64 count, u64 selected, u64 mask)
{
	int shift = __ffs64(mask);

	selected &= mask;
	return times(count, weight((selected ? selected : mask) >> shift), weight(mask >> shift));
}

static u64 per_instance(const struct uncore *u, u64 count, enum differs differs)
{
	int rc = max(u->root_complex, 0);

	if (differs == CYCLES)
		return times(count, 8 + u->socket, 8);
	count = times(count, 16 + 4 * u->socket + rc, 16);
	if (differs == OUTSTANDING)
		count = times(count, 4 + u->socket + rc, 4);
	return count;
}

static u64 count_after(const struct uncore *u, const struct perf_event *event, u64 ns)
{
	const struct event_row *row = event_rows, *end = event_rows + ARRAY_SIZE(event_rows);
	u64 id = event_id(u, event), count, filter;

	while (row < end && (row->table != u->model->events || row->id != id))
		row++;
	if (row == end || u->idle)
		return 0;
	count = per_instance(u, times(ns, row->rate_per_us, 1000), row->differs);
	if (row->id == u->model->cycles)
		return count;
	switch (u->model->kind) {
	case PCIE:
		filter = pcie_filter(event);
		if (pcie_bdf(filter)) {
			u32 bdf = filter >> 8 & 0xffff;

			count = times(count, 1 + ((bdf >> 8) + (bdf & 0xff)) % 31, 32);
		} else {
			/* A BDF that is not enabled and no root port: nothing is selected. */
			count = filter & 0xff ? masked(count, filter, 0xff) : 0;
		}
		return masked(count, event->attr.config2, 0x1f);
	case TARGET:
		if (has_address(u, event))
			return times(count, (event->attr.config1 >> 16 & 0x7) + 1,
				     64 + hweight64(event->attr.config2));
		return masked(count, event->attr.config >> 3, 0xff);
	default:
		if (u->model->source_mask && !peer_is_cpu(u))
			count = masked(count, event->attr.config1, u->model->source_mask);
		if (u->model->target_mask)
			count = masked(count, event->attr.config1, u->model->target_mask);
		return count;
	}
}

/*
 * How long the event has run by perf's own clock: up to the last change of its state, and since then. A count that
 * follows this clock, and not that of the moment, has no part in how slow an emulated CPU starts and stops things.
 */
static u64 ran_ns(const struct perf_event *event)
{
	u64 ns = event->total_time_running;

	if (event->ctx && event->state == PERF_EVENT_STATE_ACTIVE && event->ctx->time > event->tstamp)
		ns += event->ctx->time - event->tstamp;
	return ns;
}

static void uncore_read(struct perf_event *event)
{
	u64 now = count_after(to_uncore(event->pmu), event, ran_ns(event));

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void uncore_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void uncore_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	uncore_read(event);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int uncore_add(struct perf_event *event, int flags)
{
	struct uncore *u = to_uncore(event->pmu);
	int counter = counter_take(u, &u->used, event), slot;

	if (counter < 0)
		return counter;
	if (has_address(u, event)) {
		slot = target_slot(u, event);
		u->slots[slot].base = event->attr.config1;
		u->slots[slot].mask = event->attr.config2;
		u->slots[slot].users++;
	}
	u->events[counter] = event;
	event->hw.idx = counter;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		uncore_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	return 0;
}

static void uncore_del(struct perf_event *event, int flags)
{
	struct uncore *u = to_uncore(event->pmu);

	uncore_stop(event, PERF_EF_UPDATE);
	if (has_address(u, event))
		u->slots[target_slot(u, event)].users--;
	u->events[event->hw.idx] = NULL;
	__clear_bit(event->hw.idx, &u->used);
	perf_event_update_userpage(event);
}

/* A PMU goes away: end-of-file is what newer kernels answer for the events of an unregistered PMU. */
static int revoke_set(const char *text, const struct kernel_param *parameter)
{
	struct perf_event *leaders[MAX_COUNTERS];
	struct uncore *u;
	int i, n = 0;

	list_for_each_entry(u, &all, link) if (sysfs_streq(text, u->name)) break;
	if (list_entry_is_head(u, &all, link))
		return -ENOENT;
	u->revoked = true;
	for (i = 0; i < u->counters; i++)
		if (u->events[i] && u->events[i]->group_leader == u->events[i])
			leaders[n++] = u->events[i];
	for (i = 0; i < n; i++) {
		perf_event_disable(leaders[i]);
		WRITE_ONCE(leaders[i]->state, PERF_EVENT_STATE_ERROR);
	}
	return 0;
}
static const struct kernel_param_ops revoke_ops = { .set = revoke_set };
module_param_cb(revoke, &revoke_ops, NULL, 0200);

/* CPUs that come and go */

static int cpu_came(unsigned int cpu, struct hlist_node *node)
{
	struct uncore *u = hlist_entry_safe(node, struct uncore, node);

	if (cpumask_test_cpu(cpu, &u->associated) && cpumask_empty(&u->active))
		cpumask_set_cpu(cpu, &u->active);
	return 0;
}

static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct uncore *u = hlist_entry_safe(node, struct uncore, node);
	unsigned int heir;

	if (!cpumask_test_and_clear_cpu(cpu, &u->active))
		return 0;
	for_each_cpu_and(heir, &u->associated, cpu_online_mask) if (heir != cpu)
	{
		perf_pmu_migrate_context(&u->pmu, cpu, heir);
		cpumask_set_cpu(heir, &u->active);
		break;
	}
	return 0;
}

/* One PMU */

static void uncore_name(struct uncore *u)
{
	static int unknown;
	const struct model *m = u->model;

	if (!strcmp(names, "generic") && m->kind != FIXED)
		snprintf(u->name, sizeof(u->name), "nvidia_uncore_pmu_%u", unknown++);
	else if (!strcmp(names, "chiplet") && m->chiplet_name)
		snprintf(u->name, sizeof(u->name), m->chiplet_name, u->socket, u->root_complex);
	else
		snprintf(u->name, sizeof(u->name), m->name, u->socket, u->root_complex);
}

static void uncore_free(struct uncore *u)
{
	if (u->registered)
		perf_pmu_unregister(&u->pmu);
	cpuhp_state_remove_instance_nocalls(hotplug_state, &u->node);
	list_del(&u->link);
	attributes_free(u->event_group.attrs);
	attributes_free(u->format_group.attrs);
	kfree(u);
}

/* 0 as well where there is no such socket. */
static int uncore_new(const struct model *model, int socket, int root_complex)
{
	struct uncore *u = kzalloc(sizeof(*u), GFP_KERNEL);
	int cpu, err;

	if (!u)
		return -ENOMEM;
	for_each_possible_cpu(cpu) if (cpu_to_node(cpu) == socket) cpumask_set_cpu(cpu, &u->associated);
	if (cpumask_empty(&u->associated)) {
		kfree(u);
		return 0;
	}
	u->model = model;
	u->socket = socket;
	u->root_complex = root_complex;
	u->counters = model->kind == FIXED ? MAX_COUNTERS : clamp(counters, 2, MAX_COUNTERS);
	u->cycle_counter = u->counters - 1;
	uncore_name(u);
	u->idle = *idle && strstr(u->name, idle);
	err = attributes_new(u);
	if (err) {
		attributes_free(u->event_group.attrs);
		attributes_free(u->format_group.attrs);
		kfree(u);
		return err;
	}
	u->groups[0] = &u->event_group;
	u->groups[1] = &u->format_group;
	u->groups[2] = &common_group;
	u->groups[3] = model->peer ? &peer_group : NULL;
	list_add_tail(&u->link, &all);
	u->pmu = (struct pmu){
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.event_init = uncore_event_init,
		.add = uncore_add,
		.del = uncore_del,
		.start = uncore_start,
		.stop = uncore_stop,
		.read = uncore_read,
		.attr_groups = u->groups,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	};
	err = cpuhp_state_add_instance(hotplug_state, &u->node);
	if (err)
		return err;
	err = perf_pmu_register(&u->pmu, u->name, -1);
	u->registered = !err;
	return err;
}

static void all_free(void)
{
	struct uncore *u, *next;

	list_for_each_entry_safe(u, next, &all, link) uncore_free(u);
	cpuhp_remove_multi_state(hotplug_state);
}

static int __init fakeuncore_init(void)
{
	const struct model *models = strcmp(set, "grace") ? t410 : grace, *m;
	int socket, rc, err = 0;

	hotplug_state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/fakeuncore:online", cpu_came, cpu_goes);
	if (hotplug_state < 0)
		return hotplug_state;
	for (socket = 0; socket < nr_node_ids && !err; socket++)
		for (m = models; m->name && !err; m++)
			for (rc = m->per_root_complex ? 0 : -1;
			     rc < (m->per_root_complex ? ROOT_COMPLEXES : 0) && !err; rc++)
				err = uncore_new(m, socket, rc);
	if (err)
		all_free();
	return err;
}

static void __exit fakeuncore_exit(void)
{
	all_free();
}

module_init(fakeuncore_init);
module_exit(fakeuncore_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Uncore PMUs with known rates, for tests");
