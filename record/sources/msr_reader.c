#include "record/sources/msr_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/perf_open.h"
#include "record/plan/plan.h"
#include "record/plan/topology.h"

static int device_read(void *ctx, uint32_t cpu, uint32_t address, uint64_t *value)
{
	const struct msr_devices *d = ctx;
	ssize_t n;

	if (cpu >= d->n || d->fd[cpu] < 0)
		return -ENODEV;
	do {
		n = pread(d->fd[cpu], value, sizeof(*value), address);
	} while (n < 0 && errno == EINTR);
	if (n == sizeof(*value))
		return 0;
	return n < 0 ? -errno : -EIO;
}

static void device_close(void *ctx, uint32_t cpu)
{
	struct msr_devices *d = ctx;

	if (cpu >= d->n || d->fd[cpu] < 0)
		return;
	close(d->fd[cpu]);
	d->fd[cpu] = -1;
}

static int device_open(void *ctx, uint32_t cpu)
{
	struct msr_devices *d = ctx;
	int fd;

	if (cpu >= d->n)
		d->fd = memory_resize(d->fd, cpu + 1, sizeof(*d->fd));
	while (d->n <= cpu)
		d->fd[d->n++] = -1;
	device_close(d, cpu);
	fd = root_open(d->root, "/dev/cpu/%u/msr", cpu);
	if (fd == -EMFILE) {
		perf_raise_nofile();
		fd = root_open(d->root, "/dev/cpu/%u/msr", cpu);
	}
	d->fd[cpu] = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

void msr_devices_init(struct msr_devices *d, const struct root *root)
{
	*d = (struct msr_devices){ .root = root };
}

void msr_devices_release(struct msr_devices *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		device_close(d, i);
	free(d->fd);
	*d = (struct msr_devices){ 0 };
}

struct msr_reader msr_devices_reader(struct msr_devices *d)
{
	return (struct msr_reader){ .read = device_read, .open = device_open, .close = device_close, .ctx = d };
}

struct pm_value msr_remedy(const struct root *root, int err)
{
	bool container = root_exists(root, "/.dockerenv") || root_exists(root, "/run/.containerenv");

	switch (-err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		if (!container)
			return pm_remark(PM_REMEDY_MSR);
		if (!root_exists(root, "/sys/module/msr"))
			return pm_remark(PM_REMEDY_MSR_HOST);
		return pm_remark(PM_REMEDY_MSR_CONTAINER, "");
	case EPERM:
	case EACCES:
		/* Some kernels allow reading registers under lockdown. */
		return pm_remark(container  ? PM_REMEDY_MSR_CONTAINER :
				 !geteuid() ? PM_REMEDY_MSR_ROOT :
					      PM_REMEDY_MSR_SETCAP,
				 root_locked_down(root, false) ?
					 "; this kernel is locked down, and may refuse registers to everybody" :
					 "");
	case EMFILE:
		return pm_remark(PM_REMEDY_DESCRIPTORS);
	default:
		return pm_remark(0);
	}
}

uint16_t msr_reason(int err)
{
	switch (-err) {
	case ENODEV:
	case ENXIO:
		return PM_REASON_OFFLINE;
	case EACCES:
	case EPERM:
		return PM_REASON_NO_PERMISSION;
	default:
		return pm_reason_errno(err);
	}
}

/* ---- places ---- */

/* For Intel's processors with several dies in a package, what Intel calls a package is one die: each has its own
 * energy, temperature and C-states. AMD's dies share them. */
static bool is_of_die(const struct plan *p, uint32_t cpu)
{
	const struct pm_topology *t = &p->model->topology;
	const struct pm_cpu *c = pm_topology_cpu(t, cpu);

	if (!c || strcmp(pm_map_text(&p->model->header, PM_HEADER_CPU_VENDOR, ""), "GenuineIntel"))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].package == c->package && t->cpu[i].die != PM_NONE && c->die != PM_NONE &&
		    t->cpu[i].die != c->die)
			return true;
	return false;
}

/* From wide to narrow; the first kind that the topology knows is used. */
static enum pm_kind kind_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu)
{
	static const enum pm_kind kinds[CATALOG_MSR_SCOPES][3] = {
		[CATALOG_MSR_CPU] = { PM_CPU },
		[CATALOG_MSR_CORE] = { PM_CORE, PM_CPU },
		[CATALOG_MSR_MODULE] = { PM_CLUSTER, PM_CORE, PM_CPU },
		[CATALOG_MSR_PACKAGE] = { PM_PACKAGE, PM_SYSTEM },
		[CATALOG_MSR_SYSTEM] = { PM_SYSTEM },
	};
	const enum pm_kind *kind = kinds[scope];

	if (scope == CATALOG_MSR_PACKAGE && is_of_die(p, cpu))
		return PM_DIE;
	while (*kind != PM_SYSTEM && !topology_shares(&p->model->topology, *kind, cpu, cpu))
		kind++;
	return *kind;
}

void msr_place_of(const struct plan *p, enum catalog_msr_scope scope, uint32_t cpu, struct msr_place *place)
{
	const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, cpu);
	enum pm_kind kind = kind_of(p, scope, cpu);

	*place = (struct msr_place){ .scope = scope,
				     .kind = kind,
				     .instance = PM_NONE,
				     .cpu = cpu,
				     .config_kind = PM_CPU,
				     .config_number = cpu };
	if (kind == PM_PACKAGE && c) {
		place->config_kind = PM_PACKAGE;
		place->config_number = c->package;
	} else if (kind == PM_SYSTEM) {
		place->config_kind = PM_SYSTEM;
		place->config_number = PM_NONE;
	}
}

bool msr_place_instance(struct plan *p, struct msr_place *place)
{
	int64_t id = place->kind == PM_SYSTEM ? p->system_instance : topology_instance(p, place->kind, place->cpu);

	place->instance = id < 0 ? PM_NONE : (uint32_t)id;
	return id > 0;
}

bool msr_place_has(const struct plan *p, const struct msr_place *place, uint32_t cpu)
{
	return place->kind == PM_SYSTEM || topology_shares(&p->model->topology, place->kind, place->cpu, cpu);
}

uint32_t msr_place_cpu(const struct plan *p, const struct msr_place *place)
{
	const struct pm_topology *t = &p->model->topology;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->cpu[i].online && plan_wants_cpu(p, t->cpu[i].cpu) && msr_place_has(p, place, t->cpu[i].cpu))
			return t->cpu[i].cpu;
	return PM_NONE;
}
