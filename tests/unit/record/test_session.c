/*
 * A session whose sources, clock and waits are the test's: what is asked of which source and when, which snapshots
 * come of it, and what the file says. The linker puts the test's own in place of what is named __wrap_; the readers'
 * clock goes on when the test says how far.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/add.h"
#include "format/reader.h"
#include "record/sample/session.h"
#include "record/sources/sources.h"
#include "tests/unit/lib/fake_plan.h"
#include "tests/unit/lib/sysroot.h"

#define S    1000000000000000000ull /* far from what any machine's clock says */
#define TICK (10 * MS)
#define US   1000ull

/* ---- time ---- */

static _Atomic uint64_t now, limit, waits_for;
static _Atomic uintptr_t word; /* on which the reader waits for more than `limit` */
static _Thread_local bool is_reader;
static bool ring_is_full, opener_ended;

uint64_t __wrap_clocks_monotonic(void);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long g);
long __real_syscall(long number, long a, long b, long c, long d, long e, long g);
int __wrap_outlet_write(void *output, const void *data, size_t len);
int __real_outlet_write(void *output, const void *data, size_t len);
void __wrap_rotation_settle(struct rotation *r, bool taken);
void __real_rotation_settle(struct rotation *r, bool taken);
bool __wrap_rotation_make_room(struct rotation *r);
void __wrap_privileges_hurry(void);
void __wrap_privileges_confine(void);
bool __wrap_opener_lost(void);
bool __wrap_sampler_begin(struct sampler *s, struct ring_epoch *e);
bool __real_sampler_begin(struct sampler *s, struct ring_epoch *e);
struct source *__wrap_perf_among(struct source *s, size_t n);
int __wrap_perf_enable(struct source *s, bool on);
int __wrap_perf_restart(struct source *s, struct plan *p, struct error *e);
void __wrap_perf_look(struct source *s, struct plan *p);
int __wrap_perf_watch(const struct source *s);
bool __wrap_perf_notice(struct source *s, struct plan *p);
int __wrap_sources_select(struct source **s, size_t *n, const char *list, struct error *e);

uint64_t __wrap_clocks_monotonic(void)
{
	return now;
}

void __wrap_privileges_hurry(void)
{
	is_reader = true;
}

void __wrap_privileges_confine(void)
{
}

bool __wrap_opener_lost(void)
{
	bool ended = opener_ended;

	opener_ended = false;
	return ended;
}

bool __wrap_sampler_begin(struct sampler *s, struct ring_epoch *e)
{
	return !ring_is_full && __real_sampler_begin(s, e);
}

static struct {
	const void *first;            /* the output of the first file */
	_Atomic int refuse, refusals; /* so often is another file refused, with this error */
	_Atomic unsigned taken, dropped, asked_for_room;
	bool has_room;
} files;

int __wrap_outlet_write(void *output, const void *data, size_t len)
{
	if (!files.first)
		files.first = output;
	if (output != files.first && files.refusals > 0 && len) {
		files.refusals--;
		return files.refuse;
	}
	return __real_outlet_write(output, data, len);
}

void __wrap_rotation_settle(struct rotation *r, bool taken)
{
	files.taken += taken;
	files.dropped += !taken;
	__real_rotation_settle(r, taken);
}

bool __wrap_rotation_make_room(struct rotation *r)
{
	files.asked_for_room++;
	return files.has_room;
}

/* What is due soon comes at once: single snapshots are planned a little ahead. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long g)
{
	const struct timespec *t = (const struct timespec *)(uintptr_t)d;
	uint64_t until;

	if (number != SYS_futex || (b & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET || !d || !is_reader)
		return __real_syscall(number, a, b, c, d, e, g);
	until = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
	if (until <= limit || until <= now + 100 * US) {
		now = until > now ? until : now;
		return 0;
	}
	word = (uintptr_t)a;
	waits_for = until;
	__real_syscall(number, a, b, c, 0, e, g);
	waits_for = 0;
	return 0;
}

/* All ticks up to this time are taken, and then it is that late. */
static void go_to(struct session *s, uint64_t ns)
{
	limit = ns;
	while (sampler_running(s->sampler) && waits_for <= ns) {
		struct pollfd p = { .fd = sampler_fd(s->sampler), .events = POLLIN };

		if (waits_for)
			__real_syscall(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
		if (poll(&p, 1, 1))
			break;
	}
	now = ns > now ? ns : now;
}

/* ---- sources ---- */

enum { PERF, MSR, ADD, TASKS, STAT, N_SOURCES };

struct played {
	bool wanted, required, units;
	int plan_fails, restart_fails, enable_says;
	bool fills;
	bool notices, has_devices;
	enum { NOTHING, REPLACES, RETIRES, DROPS, ENDS } does; /* in update() */
	int fd;
	unsigned planned, enabled, disabled, restarted, looked, noticed, finished, updated;
	char updates[64]; /* "+3-1*" */
	uint32_t group, counter;
};
static struct played played[N_SOURCES];
static unsigned released; /* units */

struct played_unit {
	struct unit unit;
	uint64_t reads;
};

static struct played *of(const struct source *s)
{
	static const char *const names[] = { "perf", "msr", "add", "tasks", "stat" };

	for (unsigned i = 0; i < N_SOURCES; i++)
		if (!strcmp(s->ops->name, names[i]))
			return &played[i];
	fail();
	return NULL;
}

static int read_now(struct unit *u, struct cells *c)
{
	struct played_unit *p = (struct played_unit *)u;

	cells_set(c, 0, ++p->reads);
	return 0;
}

static void release_unit(struct unit *u)
{
	released++;
	free(u);
}

static void add_unit(struct plan *p, uint32_t group, uint32_t place, uint32_t cpu)
{
	struct played_unit *u = calloc(1, sizeof(*u));

	u->unit = (struct unit){
		.group = group, .instance = place, .cpu = cpu, .read = read_now, .release = release_unit
	};
	plan_add_unit(p, &u->unit);
}

/* One counter of each CPU of the plan. */
static int play_plan(struct source *s, struct plan *p, struct error *e)
{
	struct played *me = of(s);
	uint32_t instance[8];
	char name[32];
	struct pm_counter c = { .name = name,
				.display = name,
				.source = (char *)(uintptr_t)s->ops->name,
				.unit = (char *)"1",
				.scale = { 1, 1, NULL },
				.width = 64 };
	struct pm_group g = { .source = c.source,
			      .counter = &me->counter,
			      .n_counters = 1,
			      .instance = instance,
			      .n_instances = (uint32_t)p->cpus.n };

	s->data = me;
	me->planned++;
	if (me->plan_fails)
		return me->plan_fails;
	if (!me->units)
		return 0;
	snprintf(name, sizeof(name), "%s.x", s->ops->name);
	me->counter = (uint32_t)pm_model_add_counter(p->model, &c);
	for (uint32_t i = 0; i < p->cpus.n; i++) {
		struct pm_instance in = { .kind = PM_DEVICE, .number = i, .cpu = PM_NONE };

		instance[i] =
			(uint32_t)(me->has_devices ? plan_instance(p, &in) : plan_cpu_instance(p, p->cpus.cpu[i]));
	}
	me->group = (uint32_t)pm_model_add_group(p->model, &g);
	for (uint32_t i = 0; i < p->cpus.n; i++)
		add_unit(p, me->group, i, p->cpus.cpu[i]);
	return 0;
}

static struct source *leaves;

static bool is_left(struct unit *u)
{
	return u->source == leaves;
}

/* Other units for the same places; or none, and what they were of is gone, or is not; or it is gone, and they stay. */
static void change_units(struct source *s, struct plan *p)
{
	struct played *me = of(s);
	const struct pm_group *g = pm_model_group(p->model, me->group);

	if (me->does == REPLACES)
		add_unit(p, me->group, 1, 1);
	if (me->does == RETIRES || me->does == DROPS) {
		leaves = s;
		plan_drop_units(p, is_left);
	}
	for (uint32_t i = 0; (me->does == RETIRES || me->does == ENDS) && i < g->n_instances; i++)
		plan_gone(p, g->instance[i], now);
}

static void play_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct played *me = of(s);
	size_t at = strlen(me->updates);

	me->updated++;
	assert_ptr_equal(p->source, s);
	if (cpu == PM_NONE)
		snprintf(me->updates + at, sizeof(me->updates) - at, "*");
	else
		snprintf(me->updates + at, sizeof(me->updates) - at, "%c%u", online ? '+' : '-', cpu);
	change_units(s, p);
	p->full |= me->fills;
}

struct source *__wrap_perf_among(struct source *s, size_t n)
{
	assert_int_equal(n, N_SOURCES);
	return s[PERF].wanted ? &s[PERF] : NULL;
}

int __wrap_perf_enable(struct source *s, bool on)
{
	struct played *me = of(s);

	me->enabled += on;
	me->disabled += !on;
	return me->enable_says;
}

int __wrap_perf_restart(struct source *s, struct plan *p, struct error *e)
{
	of(s)->restarted++;
	return of(s)->restart_fails ? error_set(e, -of(s)->restart_fails, "it is gone") : 0;
}

void __wrap_perf_look(struct source *s, struct plan *p)
{
	assert_ptr_equal(p->source, s);
	of(s)->looked++;
}

int __wrap_perf_watch(const struct source *s)
{
	return of(s)->fd;
}

bool __wrap_perf_notice(struct source *s, struct plan *p)
{
	of(s)->noticed++;
	return of(s)->notices;
}

static void play_finish(struct source *s, struct plan *p)
{
	assert_ptr_equal(p->source, s);
	of(s)->finished++;
}

/* perf has all there is; stat has nothing that could be asked of it. */
#define PLAYED(n) .name = n, .plan = play_plan
static const struct source_ops ops[N_SOURCES] = {
	{ PLAYED("perf"), .update = play_update, .finish = play_finish },
	{ PLAYED("msr"), .update = play_update },
	{ PLAYED("add"), .update = play_update },
	{ PLAYED("tasks"), .update = play_update, .finish = play_finish },
	{ PLAYED("stat") },
};

int __wrap_sources_select(struct source **s, size_t *n, const char *list, struct error *e)
{
	*s = calloc(N_SOURCES, sizeof(**s));
	*n = N_SOURCES;
	for (unsigned i = 0; i < N_SOURCES; i++) {
		(*s)[i].ops = &ops[i];
		(*s)[i].wanted = played[i].wanted;
		(*s)[i].required = played[i].required;
	}
	return 0;
}

/* ---- a session ---- */

static char dir[32], name[64];
static struct record_options o;
static struct session s;
static struct error e;
static struct clock_source clocks;

static void clock_read(void *ctx, struct pm_clocks *out)
{
	*out = (struct pm_clocks){ .monotonic = now, .boottime = now, .realtime = now + S / 2 };
}

static int64_t clock_slept(void *ctx)
{
	return 0;
}

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-2\n");
	snprintf(name, sizeof(name), "%s/x.pmr", dir);
	memset(played, 0, sizeof(played));
	for (unsigned i = 0; i < N_SOURCES; i++) {
		played[i].wanted = true;
		played[i].fd = -1;
	}
	played[PERF].units = true;
	o = (struct record_options){ .privacy = (char *)"default",
				     .root = dir,
				     .sample = { .interval_ns = TICK, .threads = THREADS_ONE },
				     .output = { .output = name },
				     .run = { .runs = 1 } };
	clocks = (struct clock_source){ .read = clock_read, .slept = clock_slept };
	s = (struct session){ .rotation = ROTATION_INIT, .clocks = &clocks };
	e = (struct error){ 0 };
	now = S;
	limit = waits_for = 0;
	word = 0;
	ring_is_full = opener_ended = false;
	memset(&files, 0, sizeof(files));
	released = 0;
	return 0;
}

static int teardown(void **state)
{
	session_release(&s);
	assert_int_equal(s.n_sources, 0);
	if (rotation_output(&s.rotation)->path)
		rotation_end(&s.rotation, &e);
	sysroot_remove(dir);
	return 0;
}

static int plan(void)
{
	char *argv[] = { (char *)"pmrec", NULL };

	return session_plan(&s, &o, 0, argv, &e);
}

static void open_it(void)
{
	if (plan() || session_open(&s, &e))
		fail_msg("%s", e.text);
	assert_non_null(s.sampler);
}

/* What the file has: a letter for each snapshot and event, and more of the first 64. */
struct found {
	char text[256]; /* "FttL": first, tick, snapshot between (s), last; "|" before a segment */
	uint64_t tick[64], number[64];
	uint32_t run[64], segment[64];
	unsigned snapshots;
	uint64_t status[64]; /* of the first counter on the last CPU */
	struct pm_model model;
};
static struct found r;

static void add_event(const struct pm_event *event)
{
	size_t at = strlen(r.text);
	char *to = r.text + at;
	size_t room = sizeof(r.text) - at;

	switch (event->type) {
	case PM_EVENT_CPU_OFFLINE:
		snprintf(to, room, "(-%d)", (int)pm_map_u64(&event->attrs, PM_EVENT_KEY_CPU, 99));
		break;
	case PM_EVENT_CPU_ONLINE:
		snprintf(to, room, "(+%d)", (int)pm_map_u64(&event->attrs, PM_EVENT_KEY_CPU, 99));
		break;
	case PM_EVENT_ENABLE:
		snprintf(to, room, "(on)");
		break;
	case PM_EVENT_DISABLE:
		snprintf(to, room, "(off)");
		break;
	case PM_EVENT_NOTE:
		snprintf(to, room, "(note)");
		break;
	case PM_EVENT_LOST:
		snprintf(to, room, "(lost %d)", (int)pm_map_u64(&event->attrs, PM_EVENT_KEY_COUNT, 99));
		break;
	case PM_EVENT_RUN_START:
		snprintf(to, room, "(run %d)", (int)pm_map_u64(&event->attrs, PM_EVENT_KEY_RUN, 99));
		break;
	default:
		break;
	}
}

static void add_chunk(const struct pm_chunk *c)
{
	const struct pm_chunk_group *g = NULL;

	for (uint32_t i = 0; i < c->n_groups; i++)
		if (!c->group[i].absent && c->group[i].group == played[PERF].group)
			g = &c->group[i];
	for (uint32_t i = 0; i < c->rows; i++) {
		unsigned n = r.snapshots++;
		uint8_t flags = c->flags[i];
		size_t at = strlen(r.text);

		if (n >= 64)
			continue;
		r.tick[n] = c->tick[i];
		r.number[n] = c->number[i];
		r.run[n] = c->run;
		r.segment[n] = c->segment;
		/* begin, end of three CPUs, the counter of three */
		r.status[n] = g && g->status && !o.cpus ? g->status[8 * g->stride + i] : 0;
		if (n && c->segment != r.segment[n - 1])
			r.text[at++] = '|';
		r.text[at++] = flags & PM_SNAPSHOT_FIRST  ? 'F' :
			       flags & PM_SNAPSHOT_LAST   ? 'L' :
			       flags & PM_SNAPSHOT_FORCED ? 's' :
							    't';
		r.text[at] = '\0';
	}
}

static void read_file(const char *path)
{
	struct pm_reader *reader;
	struct pm_input in;
	struct pm_item item;
	bool ended = false;

	memset(&r, 0, sizeof(r));
	assert_int_equal(pm_input_path(&in, path, false, &e), 0);
	assert_int_equal(pm_reader_open(&reader, &in, &e), 0);
	while (pm_reader_next(reader, &item) > 0) {
		if (item.kind == PM_ITEM_CHUNK) {
			const struct pm_chunk *c;

			assert_int_equal(pm_reader_decode(reader, &c), 0);
			add_chunk(c);
		} else if (item.kind == PM_ITEM_EVENT) {
			add_event(item.event);
		}
		ended = ended || item.kind == PM_ITEM_END;
	}
	assert_true(ended);
	pm_reader_close(reader);
}

static void close_and_read(void)
{
	if (session_close(&s, &e))
		fail_msg("%s", e.text);
	assert_null(s.sampler);
	assert_null(s.ring.buf);
	assert_int_equal(rotation_end(&s.rotation, &e), 0);
	read_file(name);
}

/* ---- what is asked for ---- */

static void options_are_other_words_for_sources(void **state)
{
	o.no_perf = o.no_msr = true;
	played[TASKS].units = true;
	assert_int_equal(plan(), 0);
	assert_int_equal(played[PERF].planned, 0);
	assert_int_equal(played[MSR].planned, 0);
	assert_int_equal(played[ADD].planned, 1);
	assert_int_equal(played[TASKS].planned, 1);
	assert_int_equal(played[STAT].planned, 1);
	assert_false(s.source[PERF].required || s.source[STAT].required);
}

static void what_is_added_is_recorded_whatever_else_is_not(void **state)
{
	struct add added[] = { { .name = "a", .location = ADD_MSR } };

	o.added = added;
	o.n_added = 1;
	played[ADD].wanted = played[STAT].wanted = false;
	assert_int_equal(plan(), 0);
	assert_int_equal(played[ADD].planned, 1);
	assert_int_equal(played[STAT].planned, 0);
}

static void what_was_named_and_is_not_there_is_an_error(void **state)
{
	played[STAT].required = true;
	assert_int_equal(plan(), -ENODEV);
	assert_string_equal(e.text, "nothing to record from stat on this machine");
	teardown(state);
	setup(state);
	/* For who stands in for another program it is none. */
	o.output.fd = 5;
	played[STAT].required = true;
	assert_int_equal(plan(), 0);
	teardown(state);
	setup(state);
	played[STAT].required = played[STAT].units = true;
	assert_int_equal(plan(), 0);
	teardown(state);
	setup(state);
	played[PERF].units = false;
	assert_int_equal(plan(), -ENODEV);
	assert_string_equal(e.text, "nothing can be recorded here; pmrec doctor says why");
	teardown(state);
	setup(state);
	played[STAT].plan_fails = -EIO;
	assert_int_equal(plan(), -EIO);
	assert_string_equal(e.text, "stat: Input/output error");
}

/* What counts only when it is told to counts while it is found out how many readers are best. */
static void readers_are_chosen_while_events_count(void **state)
{
	o.sample.threads = THREADS_AUTO;
	assert_int_equal(plan(), 0);
	assert_int_equal(played[PERF].enabled, 1);
	assert_int_equal(played[PERF].disabled, 1);
	teardown(state);
	setup(state);
	o.sample.threads = THREADS_AUTO;
	o.target = TARGET_COMMAND;
	assert_int_equal(plan(), 0);
	assert_int_equal(played[PERF].enabled + played[PERF].disabled, 0);
	teardown(state);
	setup(state);
	o.sample.threads = THREADS_CPU;
	assert_int_equal(plan(), 0);
	assert_true(s.per_cpu);
	assert_int_equal(played[PERF].enabled, 0);
	teardown(state);
	setup(state);
	o.sample.threads = THREADS_AUTO;
	played[PERF].enable_says = -EPERM;
	assert_int_equal(plan(), -EPERM);
	assert_string_equal(e.text, "cannot start perf: Operation not permitted");
}

/* ---- snapshots ---- */

static void a_segment_has_a_first_and_a_last_snapshot(void **state)
{
	static const uint64_t number[] = { 0, 1, 2, 3, 3, 4, 5 };

	open_it();
	assert_int_equal(s.run, 1);
	session_begin(&s);
	assert_int_equal(s.start_ns, S + 100 * US);
	go_to(&s, s.start_ns + 3 * TICK);
	session_begin(&s); /* it counts already */
	now += 2 * MS;
	session_snapshot(&s, false);
	go_to(&s, s.start_ns + 4 * TICK);
	now += TICK + 3 * MS;
	session_end(&s);
	session_end(&s);
	session_snapshot(&s, false); /* not while nothing counts */
	close_and_read();
	assert_string_equal(r.text, "FtttstL");
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(r.number[i], number[i]);
		assert_int_equal(r.run[i], 1);
		assert_int_equal(r.segment[i], 0);
	}
	assert_int_equal(r.tick[3], S + 100 * US + 3 * TICK);
	assert_int_equal(r.tick[4], S + 100 * US + 3 * TICK + 2 * MS + 100 * US);
	assert_int_equal(r.tick[5], S + 100 * US + 4 * TICK);
	assert_int_equal(played[PERF].finished, 1);
}

/* -n: 3 ticks after the first snapshot, of each run. */
static void ticks_end_by_themselves(void **state)
{
	o.sample.iterations = 3;
	open_it();
	assert_int_equal(session_due(&s), UINT64_MAX);
	session_begin(&s);
	assert_int_equal(s.last_number, 3);
	/* A second after the tick that would follow. */
	assert_int_equal(session_due(&s), s.start_ns + 4 * TICK + 1000 * MS);
	go_to(&s, s.start_ns + 3 * TICK);
	assert_false(s.reached_last);
	session_ticks_ended(&s);
	assert_true(s.reached_last);
	assert_int_equal(session_due(&s), UINT64_MAX);
	session_ticks_ended(&s);
	/* Two more. */
	session_prolong(&s, 2);
	assert_false(s.reached_last);
	go_to(&s, s.start_ns + 5 * TICK);
	session_ticks_ended(&s);
	session_end(&s);
	assert_false(s.counting);
	/* The next run has as many. */
	assert_int_equal(session_next_run(&s, 77, &e), 0);
	assert_int_equal(s.plan.child, 77);
	assert_int_equal(played[PERF].restarted, 1);
	assert_false(s.reached_last);
	now += 2 * TICK;
	session_begin(&s);
	go_to(&s, s.start_ns + 20 * TICK);
	session_ticks_ended(&s);
	session_end(&s);
	/* A second segment of that run does not begin anew. */
	session_begin(&s);
	assert_int_equal(s.last_number, 10);
	session_end(&s);
	close_and_read();
	assert_string_equal(r.text, "FttLtL|FttL|F");
	assert_int_equal(r.run[5], 1);
	assert_int_equal(r.run[6], 2);
	assert_int_equal(r.number[6], 7);
	assert_int_equal(r.number[9], 10);
}

static void without_an_interval_nothing_ticks(void **state)
{
	o.sample.interval_ns = 0;
	open_it();
	session_begin(&s);
	assert_false(sampler_running(s.sampler));
	session_snapshot(&s, false);
	now += 1000 * MS;
	session_end(&s);
	close_and_read();
	assert_string_equal(r.text, "FsL");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(r.number[i], i);
}

/* The writer may be hundreds of epochs behind. */
static void ticks_are_tried_again(void **state)
{
	open_it();
	session_begin(&s);
	assert_false(s.wants_ticks);
	ring_is_full = true;
	session_snapshot(&s, false);
	assert_true(s.wants_ticks);
	assert_false(sampler_running(s.sampler));
	assert_false(session_is_calm(&s));
	session_retry(&s);
	assert_true(s.wants_ticks);
	ring_is_full = false;
	session_retry(&s);
	assert_false(s.wants_ticks);
	assert_true(sampler_running(s.sampler));
	session_retry(&s);
	/* Just before a tick, a snapshot that finds no room has the number of that tick, which is therefore lost. */
	go_to(&s, s.start_ns + 5 * TICK - 50 * US);
	ring_is_full = true;
	session_snapshot(&s, false);
	assert_int_equal(s.number, 5);
	ring_is_full = false;
	session_retry(&s);
	go_to(&s, s.start_ns + 6 * TICK);
	session_end(&s);
	s.wants_ticks = true;
	session_retry(&s);
	assert_false(sampler_running(s.sampler));
	ring_drop(&s.ring, 0, 1000, 5);
	close_and_read();
	assert_string_equal(r.text, "Ftttt(lost 1)tL");
	assert_int_equal(r.number[5], 6);
	/* Of all rings that there were. */
	assert_int_equal(s.dropped, 5);
}

/* ---- changes ---- */

static void online(const char *list)
{
	sysroot_put(dir, "/sys/devices/system/cpu/online", "%s\n", list);
	if (session_look_for_cpus(&s, &e))
		fail_msg("%s", e.text);
}

static void cpus_go_and_come(void **state)
{
	open_it();
	session_begin(&s);
	go_to(&s, s.start_ns + TICK);
	online("0-2");
	assert_int_equal(played[PERF].updated, 0);
	online("0-1");
	assert_true(sampler_running(s.sampler));
	assert_true(cpulist_has(&s.offline, 2));
	go_to(&s, s.start_ns + 3 * TICK);
	/* One comes back: what it counts may begin anew, and so does the segment. */
	online("0,2");
	assert_true(cpulist_has(&s.offline, 1));
	assert_false(cpulist_has(&s.offline, 2));
	go_to(&s, s.start_ns + 4 * TICK);
	session_end(&s);
	close_and_read();
	assert_string_equal(r.text, "Ft(-2)ttL(-1)(+2)|FtL");
	assert_string_equal(played[PERF].updates, "-2-1+2");
	assert_string_equal(played[ADD].updates, "-2-1+2");
	assert_int_equal(r.status[1], PM_OK);
	assert_int_equal(r.status[2], PM_REASON_OFFLINE);
	assert_int_equal(r.status[3], PM_REASON_OFFLINE);
	assert_int_equal(r.status[6], PM_OK);
}

static void cpus_that_nobody_wants_change_nothing(void **state)
{
	o.cpus = (char *)"0-1";
	open_it();
	session_begin(&s);
	online("0-1");
	assert_int_equal(played[PERF].updated, 0);
	assert_true(sampler_running(s.sampler));
	online("1");
	assert_string_equal(played[PERF].updates, "-0");
	online("1-2");
	assert_string_equal(played[PERF].updates, "-0");
	session_end(&s);
	/* Between two segments nothing begins by that. */
	online("0-2");
	assert_false(s.counting || sampler_running(s.sampler));
	close_and_read();
	assert_string_equal(r.text, "F(-0)L(+0)");
}

static void what_has_become_stale_is_updated(void **state)
{
	open_it();
	session_begin(&s);
	s.source[TASKS].stale = true;
	online("0-2");
	assert_string_equal(played[TASKS].updates, "*");
	assert_string_equal(played[PERF].updates, "");
	assert_false(s.source[TASKS].stale);
	assert_true(sampler_running(s.sampler));
	online("0-2");
	assert_int_equal(played[TASKS].updated, 1);
	/* At a limit of the format the rest goes on, and that is told once. */
	played[TASKS].fills = true;
	s.source[TASKS].stale = true;
	online("0-2");
	assert_true(s.limit_told);
	s.source[TASKS].stale = true;
	online("0-2");
	assert_int_equal(played[TASKS].updated, 3);
	assert_true(sampler_running(s.sampler));
	session_end(&s);
	close_and_read();
	assert_string_equal(r.text, "F(note)L");
}

static bool is_retired(unsigned source)
{
	const struct pm_group *g = pm_model_group(&s.model, played[source].group);

	return !g || g->retired;
}

/* A group ends with what it was of, once nobody reads it. */
static void groups_of_what_has_ended_are_retired(void **state)
{
	played[ADD].units = played[ADD].has_devices = true;
	played[MSR].units = played[MSR].has_devices = true;
	played[TASKS].units = played[TASKS].has_devices = true;
	open_it();
	session_begin(&s);
	assert_int_equal(s.readout.n_slots, 12);
	played[TASKS].does = DROPS;
	s.source[TASKS].stale = true;
	online("0-2");
	assert_int_equal(s.readout.n_slots, 9);
	recording_lock(s.recording);
	assert_false(is_retired(PERF) || is_retired(ADD) || is_retired(TASKS));
	recording_unlock(s.recording);
	played[ADD].does = RETIRES;
	s.source[ADD].stale = true;
	online("0-2");
	assert_int_equal(s.readout.n_slots, 6);
	recording_lock(s.recording);
	assert_true(is_retired(ADD));
	assert_false(is_retired(PERF) || is_retired(TASKS));
	recording_unlock(s.recording);
	assert_int_equal(released, 6);
	/* One that is still read ends later, whatever has ended. */
	played[MSR].does = ENDS;
	played[PERF].does = REPLACES;
	s.source[MSR].stale = s.source[PERF].stale = true;
	online("0-2");
	recording_lock(s.recording);
	assert_false(is_retired(MSR));
	recording_unlock(s.recording);
	go_to(&s, s.start_ns + TICK);
	session_end(&s);
	close_and_read();
	assert_string_equal(r.text, "FtL");
}

static void sources_look_for_what_has_ended(void **state)
{
	open_it();
	session_begin(&s);
	session_look(&s);
	assert_int_equal(played[PERF].looked, 1);
	assert_null(s.plan.source);
	session_end(&s);
	opener_ended = true;
	session_look(&s);
	assert_string_equal(
		s.plan.told,
		"the process that opens files and events has ended: CPUs and tasks that appear later are missing");
	session_look(&s);
	close_and_read();
	assert_string_equal(r.text, "FL(note)");
}

static void sources_are_watched(void **state)
{
	open_it();
	assert_int_equal(session_watch_fd(&s), -1);
	played[PERF].fd = 4;
	assert_int_equal(session_watch_fd(&s), 4);
	assert_false(session_notice(&s));
	played[PERF].notices = true;
	assert_true(session_notice(&s));
	assert_int_equal(played[PERF].noticed, 2);
	s.source[PERF].wanted = false;
	assert_int_equal(session_watch_fd(&s), -1);
	assert_false(session_notice(&s));
	assert_int_equal(played[PERF].noticed, 2);
	session_begin(&s);
	session_end(&s);
	close_and_read();
}

/* Where the kernel tells of CPUs, nothing is restless, and nothing else has to be seen within the second. */
static void looking_can_wait_where_it_finds_nothing(void **state)
{
	open_it();
	assert_false(session_is_calm(&s));
	s.hotplug.quiet_ns = now;
	assert_true(session_is_calm(&s));
	s.hotplug.quiet_ns = now + 1;
	assert_false(session_is_calm(&s));
	s.hotplug.quiet_ns = 0;
	s.source[STAT].restless = true;
	assert_false(session_is_calm(&s));
	s.source[STAT].wanted = false;
	assert_true(session_is_calm(&s));
	session_begin(&s);
	session_end(&s);
	close_and_read();
}

/* Each file has ten ticks, and the next one begins with the last of these. */
static unsigned snapshots_of_files(unsigned *n)
{
	char command[160], line[200];
	unsigned sum = 0;
	FILE *f;

	*n = 0;
	snprintf(command, sizeof(command), "ls %s/*.pmr", dir);
	f = popen(command, "r");
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		read_file(line);
		sum += r.snapshots;
		++*n;
	}
	pclose(f);
	return sum;
}

static void record_files(int refuse, int refusals, bool has_room)
{
	o.output.rotate_ns = 10 * TICK;
	files.refuse = refuse;
	files.refusals = refusals;
	files.has_room = has_room;
	open_it();
	session_begin(&s);
	go_to(&s, s.start_ns + 25 * TICK);
	session_end(&s);
	if (session_close(&s, &e))
		fail_msg("%s", e.text);
	assert_int_equal(rotation_end(&s.rotation, &e), 0);
}

/* A full disk has room again once the oldest file is gone: then the next snapshot is in the next file. */
static void a_full_disk_makes_room(void **state)
{
	unsigned n;

	record_files(-ENOSPC, 1, true);
	assert_int_equal(files.asked_for_room, 1);
	assert_int_equal(files.dropped, 1);
	assert_int_equal(files.taken, 2);
	assert_int_equal(snapshots_of_files(&n), 1 + 25 + 1 + 2);
	assert_string_equal(recording_dead(s.recording), "");
}

/* Without, or for another reason, the file goes on, and the next second brings another try. */
static void a_file_goes_on_where_none_can_begin(void **state)
{
	unsigned n;

	record_files(-ENOSPC, 1, false);
	assert_int_equal(files.asked_for_room, 1);
	assert_int_equal(files.dropped, 1);
	assert_int_equal(files.taken, 0);
	assert_int_equal(snapshots_of_files(&n), 27);
	assert_non_null(strstr(recording_dead(s.recording), "could not start another file"));
	teardown(state);
	setup(state);
	record_files(-EIO, 1, true);
	assert_int_equal(files.asked_for_room, 0);
	assert_int_equal(files.dropped, 1);
	assert_int_equal(files.taken, 0);
	assert_int_equal(snapshots_of_files(&n), 27);
}

static void failure_to_restart_is_told(void **state)
{
	open_it();
	played[PERF].restart_fails = -ESRCH;
	assert_int_equal(session_next_run(&s, 1, &e), -ESRCH);
	assert_string_equal(e.text, "it is gone");
	assert_int_equal(s.run, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Counters wrap: when a snapshot is due before the next tick, in seconds after tick 0. */
static void snapshots_between_ticks_are_due(void **state)
{
	static const struct {
		uint64_t interval, within, single, now, due; /* due 0: never */
	} c[] = {
		{ 0, 0, 5, 5, 0 },
		{ 0, 20, 0, 5, 20 },
		{ 0, 20, 20, 33, 40 },
		{ 1, 20, 0, 5, 0 },
		{ 20, 20, 0, 5, 0 },
		{ 30, 20, 0, 5, 15 },
		{ 30, 20, 15, 16, 45 },
		{ 30, 20, 15, 31, 45 },
		{ 300, 20, 0, 5, 20 },
		{ 300, 20, 40, 41, 60 },
		{ 300, 20, 280, 281, 320 },
		{ 300, 20, 280, 301, 320 },
		/* One that was asked for in between will do, for as long. */
		{ 300, 20, 55, 56, 75 },
		{ 300, 20, 295, 296, 320 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct record_options o = { .sample.interval_ns = c[i].interval * 1000 * MS };
		struct session s = { .options = &o,
				     .plan.within_ns = c[i].within * 1000 * MS,
				     .counting = true,
				     .start_ns = S,
				     .single_ns = S + c[i].single * 1000 * MS };
		uint64_t due = session_between_due(&s, S + c[i].now * 1000 * MS);

		if (due != (c[i].due ? S + c[i].due * 1000 * MS : UINT64_MAX))
			fail_msg("case %zu: %g", i, (double)(due - S) / 1e9);
		s.counting = false;
		assert_int_equal(session_between_due(&s, S), UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options_are_other_words_for_sources),
		TEST(what_is_added_is_recorded_whatever_else_is_not),
		TEST(what_was_named_and_is_not_there_is_an_error),
		TEST(readers_are_chosen_while_events_count),
		TEST(a_segment_has_a_first_and_a_last_snapshot),
		TEST(ticks_end_by_themselves),
		TEST(without_an_interval_nothing_ticks),
		TEST(snapshots_between_ticks_are_due),
		TEST(ticks_are_tried_again),
		TEST(cpus_go_and_come),
		TEST(cpus_that_nobody_wants_change_nothing),
		TEST(what_has_become_stale_is_updated),
		TEST(groups_of_what_has_ended_are_retired),
		TEST(sources_look_for_what_has_ended),
		TEST(sources_are_watched),
		TEST(looking_can_wait_where_it_finds_nothing),
		TEST(a_full_disk_makes_room),
		TEST(a_file_goes_on_where_none_can_begin),
		TEST(failure_to_restart_is_told),
	};

	/* What fails under a lock would wait for ever. */
	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
