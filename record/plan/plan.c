#include "record/plan/plan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/table.h"
#include "record/host/clocks.h"

#define LINES_MAX 4

static bool is_permission(uint16_t reason)
{
	return reason == PM_REASON_NO_PERMISSION || reason == PM_REASON_ERRNO + EACCES ||
	       reason == PM_REASON_ERRNO + EPERM;
}

/* The request exceeds a limit. */
static bool is_shortage(uint16_t reason)
{
	return reason == PM_REASON_ERRNO + EMFILE || reason == PM_REASON_ERRNO + ENFILE ||
	       reason == PM_REASON_ERRNO + ENOMEM || reason == PM_REASON_ERRNO + EBUSY;
}

const struct pm_probe *refused_first(const struct pm_model *m)
{
	const struct pm_probe *refused = NULL;

	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (is_shortage(m->probe[i].reason))
			return &m->probe[i];
		if (!refused && is_permission(m->probe[i].reason))
			refused = &m->probe[i];
	}
	return refused;
}

/* An event or counter that the user named: it is in the file as a counter without values. */
static bool is_refusal_named(const struct pm_model *m, const struct pm_probe *p)
{
	const struct pm_counter *c = pm_model_probe_counter(m, p);

	return !strcmp(p->source, "add") || (c && pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID));
}

/* Nothing was refused: the request has a meaning that its user should know. */
static bool is_remark(const struct pm_probe *p)
{
	return p->reason == PM_OK;
}

static bool is_told(const struct pm_model *m, uint32_t i, bool all)
{
	if (is_remark(&m->probe[i]))
		return false;
	return all || is_permission(m->probe[i].reason) || is_shortage(m->probe[i].reason) ||
	       is_refusal_named(m, &m->probe[i]);
}

static bool same_cure(const struct pm_probe *a, const struct pm_probe *b)
{
	return pm_value_equal(&a->hint, &b->hint) && (pm_remark_code(&a->hint) || !strcmp(a->source, b->source));
}

static void escaped(struct buf *out, const char *text)
{
	text_escape(out, text, strlen(text));
}

static void escaped_remark(struct buf *out, const struct pm_value *remark)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	pm_remark_text(&text, remark);
	escaped(out, buf_str(&text));
}

/* The first probe of each cure represents all that it would cure. */
static bool is_first_refusal(const struct pm_model *m, uint32_t i, bool all)
{
	for (uint32_t k = 0; k < i; k++)
		if (is_told(m, k, all) && same_cure(&m->probe[k], &m->probe[i]))
			return false;
	return true;
}

static void print_one(const struct pm_model *m, uint32_t i, bool all, struct buf *out)
{
	const struct pm_probe *p = &m->probe[i];
	const char *last = "";
	unsigned n = 0, named = 0;

	for (uint32_t k = i; k < m->n_probes; k++)
		n += is_told(m, k, all) && same_cure(&m->probe[k], p);
	buf_addstr(out, "pmrec: not recorded: ");
	for (uint32_t k = i; k < m->n_probes && named < 3; k++) {
		const struct pm_probe *q = &m->probe[k];
		SCOPED(buf_release) struct buf what = BUF_INIT;

		if (!is_told(m, k, all) || !same_cure(q, p))
			continue;
		if (strcmp(last, q->source)) {
			buf_addstr(out, named ? "; " : "");
			escaped(out, q->source);
			buf_addstr(out, ": ");
		} else {
			buf_addstr(out, ", ");
		}
		pm_model_probe_text(m, q, &what);
		escaped(out, buf_str(&what));
		last = q->source;
		named++;
	}
	if (n > named)
		buf_printf(out, " and %u more", n - named);
	buf_addstr(out, " (");
	escaped(out, pm_reason_text(p->reason));
	buf_addstr(out, ")");
	if (pm_remark_code(&p->hint)) {
		buf_addstr(out, "; try: ");
		escaped_remark(out, &p->hint);
	}
	buf_addch(out, '\n');
}

void refused_print(const struct pm_model *m, bool all, struct buf *out)
{
	unsigned lines = 0, left = 0;

	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (!is_remark(&m->probe[i]))
			continue;
		buf_addstr(out, "pmrec: ");
		escaped_remark(out, &m->probe[i].what);
		buf_addch(out, '\n');
	}
	for (uint32_t i = 0; i < m->n_probes; i++) {
		if (!is_told(m, i, all) || !is_first_refusal(m, i, all))
			continue;
		if (all || lines++ < LINES_MAX)
			print_one(m, i, all, out);
		else
			left++;
	}
	if (left)
		buf_printf(out, "pmrec: and %u more; `pmrec doctor` lists them\n", left);
}

bool plan_may_record(const struct record_options *options, uint32_t key)
{
	enum pm_privacy class = pm_key_privacy(key);
	const char *level = options->privacy ? options->privacy : "default";

	if (!strcmp(level, "full") || class == PM_PRIVACY_TECHNICAL || class == PM_PRIVACY_TIME)
		return true;
	if (!strcmp(level, "strict"))
		return false;
	return class == PM_PRIVACY_MACHINE;
}

bool plan_may_name(const struct record_options *options, uint32_t key)
{
	bool strict = options->privacy && !strcmp(options->privacy, "strict");

	return plan_may_record(options, key) || (!strict && key != PM_INSTANCE_ARGUMENTS);
}

int plan_init(struct plan *p, const struct record_options *options, const struct root *root, struct pm_model *model,
	      struct error *e)
{
	struct pm_instance system = { .kind = PM_SYSTEM, .number = PM_NONE, .cpu = PM_NONE };
	struct cpulist wanted = { 0 };
	int err;

	*p = (struct plan){ .options = options, .root = root, .model = model, .time_ns = clocks_monotonic() };
	p->units_end = &p->units;
	err = root_online(root, &p->cpus);
	if (err)
		return error_sys(e, -err, "%s" ROOT_ONLINE, root->prefix);
	if (!root_exists(root, ROOT_ONLINE))
		plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_TOPOLOGY, ROOT_ONLINE));
	if (options->cpus) {
		err = cpulist_parse(&wanted, options->cpus, false, e);
		if (err)
			return error_prefix(e, "-C");
		for (size_t i = 0; i < wanted.n && !err; i++)
			if (!cpulist_has(&p->cpus, wanted.cpu[i]))
				err = error_set(e, ENODEV, "-C: CPU %u is not online", wanted.cpu[i]);
		if (!err && !wanted.n)
			err = error_set(e, EINVAL, "-C: the list is empty");
		cpulist_release(&p->cpus);
		p->cpus = wanted;
		if (err)
			return err;
	}
	p->system_instance = (uint32_t)plan_instance(p, &system);
	return 0;
}

static void drop_unit(struct unit *u)
{
	if (u->release)
		u->release(u);
}

void source_release(struct source *s)
{
	if (!s->ops->release || !s->data)
		return;
	s->ops->release(s);
	free(s->data);
	s->data = NULL;
}

void plan_release(struct plan *p)
{
	while (p->units) {
		struct unit *u = p->units;

		p->units = u->next;
		drop_unit(u);
	}
	for (uint32_t i = 0; i < p->n_events; i++)
		pm_event_release(&p->event[i]);
	free(p->event);
	free(p->cpu_instance);
	free(p->place_next);
	cpulist_release(&p->cpus);
	*p = (struct plan){ 0 };
}

/* Descriptors for the output and for the recorder itself: sources may use up all others. If there are few, a third
 * of them. */
#define RESERVED 24

static int reserve(int fds[RESERVED])
{
	struct rlimit limit = { 0 };
	int n = 0, wanted = RESERVED;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 3 < RESERVED)
		wanted = (int)(limit.rlim_cur / 3);
	while (n < wanted &&
	       (fds[n] = n ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0) : open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	return n;
}

int plan_sources(struct plan *p, struct source *s, size_t n, struct error *e)
{
	int fds[RESERVED], reserved = reserve(fds), err = 0;

	p->sources = s;
	p->n_sources = n;
	for (size_t i = 0; i < n && !err; i++) {
		struct error why = { 0 };

		if (!s[i].wanted)
			continue;
		p->source = &s[i];
		if (p->root->shortage)
			*p->root->shortage = 0;
		err = s[i].ops->plan(&s[i], p, &why);
		if (err)
			err = why.text[0] ? error_set(e, -err, "%s", why.text) :
					    error_sys(e, -err, "%s", s[i].ops->name);
	}
	while (reserved)
		close(fds[--reserved]);
	p->source = NULL;
	return err;
}

/* What names something that was left out is invalid, and left out, too. */
static int64_t must_fit(struct plan *p, int64_t result)
{
	if (!p->sampling || !(result == -E2BIG || (result == -EINVAL && p->full)))
		return memory_must(result);
	p->full = true;
	return -E2BIG;
}

#define TOGETHER_NS 2000000

int64_t plan_instance(struct plan *p, struct pm_instance *i)
{
	uint64_t now = clocks_monotonic();
	int64_t id;

	/* One time for those that are added together costs the file a tenth less of its instances. */
	if (!i->added_ns)
		i->added_ns = p->added_ns = now - p->added_ns > TOGETHER_NS ? now : p->added_ns;
	id = must_fit(p, pm_model_add_instance(p->model, i));
	pm_map_release(&i->attrs);
	return id;
}

int64_t plan_group(struct plan *p, const struct pm_group *g)
{
	return must_fit(p, pm_model_add_group(p->model, g));
}

int64_t plan_cpu_instance(struct plan *p, uint32_t cpu)
{
	struct pm_instance i = { .kind = PM_CPU, .number = cpu, .cpu = cpu };
	int64_t id;

	memory_hold(&p->cpu_instance, &p->n_cpu_instance, cpu + 1, sizeof(*p->cpu_instance));
	if (p->cpu_instance[cpu])
		return p->cpu_instance[cpu];
	id = plan_instance(p, &i);
	if (id > 0)
		p->cpu_instance[cpu] = (uint32_t)id;
	return id;
}

void plan_add_unit(struct plan *p, struct unit *u)
{
	u->source = p->source;
	u->next = NULL;
	*p->units_end = u;
	p->units_end = &u->next;
	p->unit_changes++;
}

void plan_drop_units(struct plan *p, bool (*gone)(struct unit *u))
{
	struct unit **at = &p->units;

	while (*at) {
		struct unit *u = *at;

		if (gone(u)) {
			*at = u->next;
			drop_unit(u);
			p->unit_changes++;
		} else {
			at = &u->next;
		}
	}
	p->units_end = at;
}

/* What helps against an errno, whatever was refused. */
static unsigned remedy_for(const struct plan *p, uint16_t reason)
{
	switch (reason < PM_REASON_ERRNO ? 0 : reason - PM_REASON_ERRNO) {
	case EMFILE:
		return PM_REMEDY_DESCRIPTORS;
	case ENFILE:
		return PM_REMEDY_FILES;
	case ENOMEM:
		return PM_REMEDY_MEMORY;
	case EACCES:
	case EPERM:
		reason = PM_REASON_NO_PERMISSION;
	}
	if (reason != PM_REASON_NO_PERMISSION || p->root->emulated)
		return 0;
	return geteuid() ? PM_REMEDY_ROOT : PM_REMEDY_UNRESTRICTED;
}

int plan_refused(struct plan *p, uint16_t reason, struct pm_value remedy, struct pm_value what)
{
	struct pm_probe probe = { .source = (char *)(p->source ? p->source->ops->name : "pmrec"),
				  .what = what,
				  .hint = remedy,
				  .reason = reason };
	int err;

	/* What could not be looked at may be there. */
	if (reason == PM_REASON_NOT_SUPPORTED && p->root->shortage && *p->root->shortage) {
		probe.reason = pm_reason_errno(*p->root->shortage);
		pm_value_release(&probe.hint);
	}
	if (!pm_remark_code(&probe.hint))
		probe.hint = pm_remark(remedy_for(p, probe.reason));
	err = pm_model_add_probe(p->model, &probe);
	pm_value_release(&probe.what);
	pm_value_release(&probe.hint);
	/* Nobody reads more than the format has room for. */
	memory_must(err == -E2BIG ? 0 : err);
	return 0;
}

void plan_gone(struct plan *p, uint32_t instance, uint64_t time_ns)
{
	memory_must(pm_model_retire_instance(p->model, instance, time_ns));
}

void plan_note(struct plan *p, uint64_t count, struct pm_value remark)
{
	struct pm_event e = { .type = PM_EVENT_NOTE, .time_ns = clocks_monotonic() };

	plan_set(&e.attrs, PM_EVENT_KEY_NOTE, remark);
	plan_set(&e.attrs, PM_EVENT_KEY_SOURCE, pm_text(p->source ? p->source->ops->name : "pmrec"));
	plan_set(&e.attrs, PM_EVENT_KEY_COUNT, pm_u64(count));
	memory_room(&p->event, p->n_events, sizeof(*p->event));
	p->event[p->n_events++] = e;
}

void plan_tell(struct plan *p, const struct pm_value *remark)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	pm_remark_text(&text, remark);
	snprintf(p->told, sizeof(p->told), "%s", buf_str(&text));
}

/* `c->instances` may be borrowed. */
static void add_config(struct plan *p, struct pm_config *c, const char *format, va_list ap)
{
	char name[200];

	vsnprintf(name, sizeof(name), format, ap);
	c->privacy = PM_PRIVACY_TECHNICAL;
	c->name = name;
	c->time_ns = p->time_ns;
	must_fit(p, pm_model_add_config(p->model, c));
	pm_value_release(&c->value);
}

static struct pm_config config_of(enum pm_kind kind, uint32_t *number)
{
	return (struct pm_config){ .kind = kind, .instances = { .cpu = number, .n = *number != PM_NONE } };
}

void plan_config_cpus(struct plan *p, const struct cpulist *cpus, struct pm_value v, const char *format, ...)
{
	struct pm_config c = { .kind = PM_CPU, .value = v, .instances = *cpus };
	va_list ap;

	va_start(ap, format);
	add_config(p, &c, format, ap);
	va_end(ap);
}

void plan_config(struct plan *p, enum pm_kind kind, uint32_t number, struct pm_value v, const char *format, ...)
{
	struct pm_config c = config_of(kind, &number);
	va_list ap;

	c.value = v;
	va_start(ap, format);
	add_config(p, &c, format, ap);
	va_end(ap);
}

void plan_config_missing(struct plan *p, enum pm_kind kind, uint32_t number, uint16_t reason, const char *format, ...)
{
	struct pm_config c = config_of(kind, &number);
	va_list ap;

	c.reason = reason;
	va_start(ap, format);
	add_config(p, &c, format, ap);
	va_end(ap);
}

/* Without attributes. Borrows the row's texts. */
static struct pm_counter counter_of(const struct catalog_counter *row)
{
	return (struct pm_counter){
		.name = (char *)row->name,
		.display = (char *)(row->display ? row->display : row->name),
		.source = (char *)row->source,
		.unit = (char *)(row->unit ? row->unit : "1"),
		.scale = { .num = row->num ? row->num : 1, .den = row->den ? row->den : 1 },
		.type = (enum pm_type)row->type,
		.semantics = (enum pm_semantics)row->semantics,
		.width = row->width ? row->width : 64,
		.aggregation = (enum pm_aggregation)row->aggregation,
	};
}

static void set_text(struct pm_map *m, uint32_t key, const char *text)
{
	if (text)
		plan_set(m, key, pm_text(text));
}

/* ---- members ---- */

/* Also truncates what would not fit: names of this kind are never that long. */
static void replace_star(char *out, size_t size, const char *pattern, const char *with)
{
	const char *star = strchr(pattern, '*');

	if (star)
		snprintf(out, size, "%.*s%s%s", (int)(star - pattern), pattern, with, star + 1);
	else
		snprintf(out, size, "%s", pattern);
}

int64_t member_counter(struct plan *p, const struct catalog_counter *row, const struct member *m)
{
	const char *shown = m->shown ? m->shown : m->part;
	char name[200], display[200];
	const struct pm_counter *known;
	struct pm_counter c = counter_of(row);
	int64_t id;

	replace_star(name, sizeof(name), row->name, m->part);
	c.name = name;
	known = pm_model_counter_named(p->model, name);
	if (known)
		return known->id;
	replace_star(display, sizeof(display), c.display, shown);
	c.display = display;
	set_text(&c.attrs, PM_COUNTER_HELP, m->help ? m->help : row->help);
	set_text(&c.attrs, PM_COUNTER_FAMILY, m->family);
	set_text(&c.attrs, PM_COUNTER_MEMBER, m->family ? shown : NULL);
	if (plan_may_record(p->options, PM_COUNTER_DEVICES))
		set_text(&c.attrs, PM_COUNTER_DEVICES, m->devices);
	id = must_fit(p, pm_model_add_counter(p->model, &c));
	pm_map_release(&c.attrs);
	return id;
}

int64_t plan_counter(struct plan *p, const struct catalog_counter *row)
{
	return member_counter(p, row, &(struct member){ 0 });
}

void member_part(char *part, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++)
		part[n++] = isalnum((unsigned char)text[i]) ? (char)tolower((unsigned char)text[i]) : '_';
	part[n] = '\0';
}

/* ---- devices ---- */

#define SAME_NAME_MAX 100000

static bool is_name_taken(const struct pm_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (m->instance[i].kind == PM_DEVICE &&
		    !strcmp(pm_map_text(&m->instance[i].attrs, PM_INSTANCE_NAME, ""), name))
			return true;
	return false;
}

static int64_t add_device(struct plan *p, const char *name, const char *path, uint32_t cpu, bool layer)
{
	struct pm_instance add = { .kind = PM_DEVICE, .number = PM_NONE, .cpu = cpu };
	char unique[200];

	snprintf(unique, sizeof(unique), "%s", name);
	for (unsigned k = 2; is_name_taken(p->model, unique) && k < SAME_NAME_MAX; k++)
		snprintf(unique, sizeof(unique), "%.180s.%u", name, k);
	plan_set(&add.attrs, PM_INSTANCE_NAME, pm_text(unique));
	if (layer)
		plan_set(&add.attrs, PM_INSTANCE_LAYER, pm_u64(1));
	if (path && plan_may_record(p->options, PM_INSTANCE_DEVICE_PATH))
		plan_set(&add.attrs, PM_INSTANCE_DEVICE_PATH, pm_text(path));
	return plan_instance(p, &add);
}

int64_t device_instance(struct plan *p, const char *name, const char *path, uint32_t cpu)
{
	return add_device(p, name, path, cpu, false);
}

int64_t device_named(struct plan *p, const char *name, uint32_t number, bool layer)
{
	char other[48];

	snprintf(other, sizeof(other), "%s-%u", p->source->ops->name, number + 1);
	return add_device(p, plan_may_record(p->options, PM_INSTANCE_DEVICE_PATH) ? name : other, NULL, PM_NONE,
			  layer);
}
