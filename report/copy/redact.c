/* What identifies a machine, a person or a time. A first pass collects names and texts, so that they are found
 * wherever else they occur; a rule for each field then keeps, cleans or drops it, or puts a pseudonym there. A map
 * remembers pseudonyms and shifts, in a file that gives two redactions the same and can undo them. */
#include "report/copy/redact.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "common/catalog/catalog.h"
#include "common/event/event.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "common/parse.h"
#include "report/input/input.h"
#include "report/input/outfile.h"
#include "report/machine/value_out.h"

/* ---- strings to be found again, in any case of letters ---- */

#define SECRET_MAX 65535 /* bytes; of a longer one these are found */

struct secret {
	char *instead; /* owned */
	bool word;     /* found only where no letter or digit is beside it */
};

struct secrets {
	struct secret *row; /* owned */
	uint32_t n;
	struct names known;         /* places by text, in lower case */
	unsigned char starts[8192]; /* a bit for the hash of the first bytes of each */
	bool has_length[SECRET_MAX + 1];
	size_t longest;
};

static void secrets_release(struct secrets *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->row[i].instead);
	free(s->row);
	names_release(&s->known);
	*s = (struct secrets){ 0 };
}

static unsigned char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

/* Makes letters small, in place. */
static char *lowered(char *text)
{
	for (char *c = text; *c; c++)
		*c = (char)lower(*c);
	return text;
}

/* The shortest part of a secret by which it is looked for. */
#define START 3

static size_t start_bit(const char *text)
{
	uint32_t v = (uint32_t)lower(text[0]) << 16 | (uint32_t)lower(text[1]) << 8 | lower(text[2]);

	return v * 2654435761u >> 16;
}

/* Shorter than three bytes: not added. A known text keeps its replacement. */
static void secrets_add(struct secrets *s, const char *text, size_t len, const char *instead, bool word)
{
	SCOPED(scoped_free) char *copy = NULL;
	size_t bit;
	uint32_t at;

	len = len < SECRET_MAX ? len : SECRET_MAX;
	if (len < START || memchr(text, '\0', len))
		return;
	copy = lowered(memory_checked(strndup(text, len)));
	if (names_get(&s->known, copy, &at)) {
		s->row[at].word = s->row[at].word && word;
		return;
	}
	bit = start_bit(copy);
	s->starts[bit / 8] |= (unsigned char)(1 << bit % 8);
	s->has_length[len] = true;
	s->longest = len > s->longest ? len : s->longest;
	memory_room(&s->row, s->n, sizeof(*s->row));
	memory_done(names_set(&s->known, copy, s->n));
	s->row[s->n++] = (struct secret){ .instead = memory_text(instead), .word = word };
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (unsigned char)c >= 0x80;
}

/* The longest secret that begins at `at` of `text`, whose copy in lower case is `low`; its length in *n. */
static const struct secret *find_at(const struct secrets *s, char *low, size_t at, size_t len, size_t *n)
{
	size_t bit = start_bit(low + at);

	if (!(s->starts[bit / 8] & 1 << bit % 8))
		return NULL;
	for (*n = len - at < s->longest ? len - at : s->longest; *n >= START; --*n) {
		char *end = low + at + *n, kept = *end;
		uint32_t found;
		bool is;

		if (!s->has_length[*n])
			continue;
		*end = '\0';
		is = strlen(low + at) == *n && names_get(&s->known, low + at, &found);
		*end = kept;
		if (is &&
		    (!s->row[found].word || ((!at || !is_alnum(low[at - 1])) && (at + *n == len || !is_alnum(kept)))))
			return &s->row[found];
	}
	return NULL;
}

/* Replaces all that is found in *text (owned, by realloc) of `len` bytes; a formula would subtract what follows the
 * dash of a pseudonym. Whether it was changed. */
static bool secrets_scrub(const struct secrets *s, char **text, size_t *len, bool formula)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	SCOPED(scoped_free) char *low = s->n ? memory_copy(*text, *len + 1, 1) : NULL;
	size_t done = 0;

	for (size_t i = 0; low && i < *len; i++)
		low[i] = (char)lower(low[i]);
	for (size_t i = 0, n; low && i + START <= *len;) {
		const struct secret *hit = find_at(s, low, i, *len, &n);

		if (!hit) {
			i++;
			continue;
		}
		buf_add(&out, *text + done, i - done);
		for (const char *c = hit->instead; *c; c++)
			buf_printf(&out, "%s%c", formula && *c == '-' ? "\\" : "", *c);
		i += n;
		done = i;
	}
	if (!done)
		return false;
	buf_add(&out, *text + done, *len - done);
	free(*text);
	*len = out.len;
	*text = memory_checked(buf_detach(&out));
	return true;
}

/* ---- pseudonyms and shifts ---- */

bool redact_is_pseudonym(const char *text)
{
	const char *dash = strrchr(text, '-');

	if (!dash || dash == text || strlen(dash) != 9 || strspn(dash + 1, "0123456789abcdef") != 8)
		return false;
	for (; text < dash; text++)
		if (*text < 'a' || *text > 'z')
			return false;
	return true;
}

struct redact_map {
	struct redact_row {
		char *key; /* owned: "KIND NAME", or "shift CLOCK" */
		char *to;  /* owned: the pseudonym, or the number of ns */
	} * row;           /* owned */
	uint32_t n;
	struct names by_key, taken; /* places in `row`; pseudonyms */
};

#define VERSION 1.0

/* Clocks of a shifted recording begin between these: what is redacted later with the same map may be older. */
#define BOOT_LEAST_NS UINT64_C(8640000000000000)   /* 100 days */
#define BOOT_MOST_NS  UINT64_C(34560000000000000)  /* 400 days */
#define WALL_MOST_NS  UINT64_C(315360000000000000) /* back by up to ten years */

static void map_release(struct redact_map *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		free(m->row[i].key);
		free(m->row[i].to);
	}
	free(m->row);
	names_release(&m->by_key);
	names_release(&m->taken);
	*m = (struct redact_map){ 0 };
}

/* Nothing could be redacted without: a name or a time that is guessed is not hidden. */
static uint64_t random_u64(void)
{
	uint64_t v;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		abort();
	return v;
}

static const char *map_add(struct redact_map *m, const char *key, const char *to)
{
	memory_room(&m->row, m->n, sizeof(*m->row));
	memory_done(names_set(&m->by_key, key, m->n));
	memory_done(names_set(&m->taken, to, 1));
	m->row[m->n] = (struct redact_row){ memory_text(key), memory_text(to) };
	return m->row[m->n++].to;
}

/* NULL: the map does not have it. */
static const char *map_get(const struct redact_map *m, const char *key)
{
	uint32_t at;

	return names_get(&m->by_key, key, &at) ? m->row[at].to : NULL;
}

/* ---- times ---- */

static uint64_t number(struct redact_map *m, const char *key, uint64_t fresh)
{
	const char *to = map_get(m, key);
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, fresh);
	return strtoull(to ? to : map_add(m, key, text), NULL, 10);
}

/* Shifts a clock from where it stood to anywhere. */
static uint64_t clock_shift(struct redact_map *m, const char *boot, const char *clock, uint64_t first, uint64_t most)
{
	SCOPED(scoped_free) char *key = memory_format("shift %s clock %s", boot, clock);

	return number(m, key, BOOT_LEAST_NS + random_u64() % (most - BOOT_LEAST_NS) - first);
}

/* How the clocks of a boot are shifted: random if new. */
static struct pm_clocks map_shift(struct redact_map *m, const char *boot, const struct pm_clocks *first)
{
	return (struct pm_clocks){
		.monotonic = clock_shift(m, boot, "monotonic", first->monotonic, BOOT_MOST_NS),
		.monotonic_raw = clock_shift(m, boot, "raw", first->monotonic_raw, BOOT_MOST_NS),
		.boottime = clock_shift(m, boot, "boottime", first->boottime, BOOT_MOST_NS),
		.counter = clock_shift(m, boot, "counter", first->counter, BOOT_MOST_NS * 3),
		.realtime = number(m, "shift wall", 0 - random_u64() % WALL_MOST_NS),
	};
}

/* That of a counter that has run since boot, modulo 2^width. */
static uint64_t map_base(struct redact_map *m, const char *boot, const char *counter, unsigned width)
{
	SCOPED(scoped_free) char *key = memory_format("shift %s counter %s", boot, counter);

	/* A wide counter stays far from wrapping. */
	return number(m, key, random_u64() & ((UINT64_C(1) << (width < 56 ? width : 55)) - 1));
}

/* ---- the file ---- */

static int map_load(struct redact_map *m, const char *path, struct error *e)
{
	struct stat st;
	SCOPED(json_scoped) struct json *j = NULL;
	const struct json *list;
	bool good;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : error_sys(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "%s: the map must be a regular file", path);
	if (st.st_mode & 077)
		return error_set(e, EACCES, "%s: others can read this map, and undo redaction with it; chmod 600 %s",
				 path, path);
	if (!st.st_size)
		return 0;
	j = json_load(path, e);
	good = j && json_number(json_get(j, "redact_map"), 0) == VERSION;
	list = good ? json_get(j, "names") : NULL;
	for (size_t i = 0; good && i < json_count(list); i++) {
		const struct json *row = json_at(list, i);
		const char *kind = json_text(json_get(row, "kind"), ""), *to = json_text(json_get(row, "to"), "");
		SCOPED(scoped_free) char *key = NULL;
		uint64_t v;

		good = strcmp(kind, "shift") ? redact_is_pseudonym(to) : !parse_u64(to, &v);
		key = memory_format("%s %s", kind, json_text(json_get(row, "from"), ""));
		if (good)
			map_add(m, key, to);
	}
	return good ? 0 : error_set(e, EINVAL, "%s: not a map written by pmrep redact", path);
}

static int map_save(const struct redact_map *m, const char *path, struct error *e)
{
	struct outfile file = { .fd = -1 };
	SCOPED(buf_release) struct buf out = BUF_INIT;
	int err;

	buf_printf(&out, "{\"redact_map\": %d,\n\"names\": [", (int)VERSION);
	for (uint32_t i = 0; i < m->n; i++) {
		const char *key = m->row[i].key, *to = m->row[i].to;
		size_t n = strcspn(key, " ");

		buf_addstr(&out, i ? ",\n{\"kind\": " : "\n{\"kind\": ");
		json_quote(&out, key, n);
		buf_addstr(&out, ", \"from\": ");
		json_quote(&out, key + n + 1, strlen(key + n + 1));
		buf_addstr(&out, ", \"to\": ");
		json_quote(&out, to, strlen(to));
		buf_addch(&out, '}');
	}
	buf_addstr(&out, "]}\n");
	memory_whole(&out);
	err = outfile_open(&file, path, OUTFILE_OVERWRITE, NULL, 0, e);
	/* Before the first byte is written. */
	if (!err && fchmod(file.fd, 0600))
		err = error_sys(e, errno, "%s", path);
	if (!err)
		err = outfile_write(&file, out.data, out.len);
	return outfile_end(&file, err, e);
}

/* ---- made and freed ---- */

struct redact {
	struct redact_options options;
	struct secrets secrets;
	struct names events; /* names of events that PMUs of the recording describe, and of the PMUs */
	struct names vendor; /* metrics and groups of metrics that no user has made, in lower case */
	struct redact_map map;
	char *keep; /* owned: names of fields and classes that stay, with a blank between */
	struct redact_boot {
		char *name; /* owned */
		struct pm_clocks shift;
	} * boot; /* owned: of each recording of the file, if time is shifted */
	size_t n_boots;
	const struct redact_boot *now; /* of the one that is copied */
	char host[64];                 /* the first host's name or pseudonym; "": none */
	uint64_t wall_ns;              /* where the first recording begins, shifted; 0: unknown */
	struct names given;            /* names of counters in the output, and the hash of the original */
	struct redact_seen {
		uint32_t counters, instances, pmus, configs;
	} seen; /* of the model looked at */
};

static bool among(const char *words, const char *word)
{
	return parse_is_among(words, word, strlen(word));
}

/* Whether it is a class of fields, or one of their fields. */
static bool can_be_kept(const char *word, size_t len)
{
	const struct pm_key_row *const tables[] = { pm_header_keys, pm_counter_keys, pm_instance_keys,
						    pm_event_keys };
	bool can = parse_is_among("machine person time", word, len);

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct pm_key_row *row = tables[i]; row->key; row++)
			can |= row->key >= 100 && parse_is_among(row->name, word, len);
	return can;
}

static int take_keep(struct redact *r, const char *list, struct error *e)
{
	size_t n;

	r->keep = memory_text(list);
	for (char *word = r->keep; *word; word += n + (word[n] != '\0')) {
		n = strcspn(word, ",");
		if (n && !can_be_kept(word, n))
			return error_set(
				e, EINVAL,
				"--keep: '%.*s' is neither machine, person or time, nor a field of these classes",
				(int)(n < 40 ? n : 40), word);
		if (word[n])
			word[n] = ' ';
	}
	return 0;
}

int redact_new(struct redact **out, const struct redact_options *o, struct error *e)
{
	struct redact *r = memory_new(1, sizeof(*r));
	int err;

	r->options = *o;
	err = take_keep(r, o->keep ? o->keep : "", e);
	if (!err && among(r->keep, "time") && o->shift_time)
		err = error_set(e, EINVAL, "--keep=time and --shift-time contradict each other");
	if (!err && o->map)
		err = map_load(&r->map, o->map, e);
	if (err)
		redact_free(r);
	else
		*out = r;
	return err;
}

int redact_save(struct redact *r, struct error *e)
{
	return r->options.map ? map_save(&r->map, r->options.map, e) : 0;
}

/* Whether a field stays, by its class or because it was named. */
static bool keeps(const struct redact *r, uint32_t key, const char *name)
{
	enum pm_privacy class = pm_key_privacy(key);

	if (class == PM_PRIVACY_TECHNICAL || among(r->keep, privacy_name(class)))
		return true;
	return class == PM_PRIVACY_TIME ? !r->options.shift_time : name && among(r->keep, name);
}

/* The pseudonym for a name, created if new. Owned by the map. */
static const char *pseudonym(struct redact *r, const char *kind, const char *from)
{
	SCOPED(scoped_free) char *key = memory_format("%s %s", kind, from);
	const char *to = map_get(&r->map, key);
	uint32_t any;
	char fresh[64];

	/* Redacting again changes nothing. */
	if (redact_is_pseudonym(from) && !strncmp(from, kind, strlen(kind)))
		return from;
	if (to)
		return to;
	do
		snprintf(fresh, sizeof(fresh), "%s-%08" PRIx32, kind, (uint32_t)random_u64());
	while (names_get(&r->map.taken, fresh, &any));
	return map_add(&r->map, key, fresh);
}

/* ---- names that the kernel and vendors give ---- */

static bool is_source(const char *name)
{
	return catalog_source(name, &(size_t){ 0 }) || among("pmrec perf add msr redacted", name);
}

static bool is_event_name(const struct redact *r, const char *text)
{
	uint64_t config;
	uint32_t any;

	return names_get(&r->events, text, &any) || event_symbol_find(text) || !event_cache_parse(text, &config);
}

/* Of every kernel; users name those of probes. */
static const char tracepoint_systems[] =
	"alarmtimer block btrfs cgroup clk compaction cpuhp devfreq dma_fence drm exceptions ext4 fib filelock "
	"filemap ftrace hda huge_memory hwmon i2c intel_iommu interconnect iomap iommu ipi irq irq_matrix "
	"irq_vectors jbd2 kmem ksm kvm libata mce mdio migrate mmap mmap_lock mmc module mptcp msr napi neigh net "
	"netfs netlink nfs nmi nvme oom osnoise page_isolation pagemap percpu power printk pwm qdisc ras "
	"raw_syscalls rcu regmap regulator resctrl rpm rseq rtc sched scsi signal skb smbus sock spi sunrpc "
	"swiotlb sync_trace syscalls task tcp thermal timer timer_migration tlb udp vmalloc vmscan vsyscall "
	"watchdog wbt workqueue writeback x86_fpu xdp xen xfs xhci-hcd";

static bool is_tracepoint(const char *text)
{
	size_t n = strcspn(text, ":");

	return text[n] && text[n + 1] &&
	       !text[n + 1 + strspn(text + n + 1, "abcdefghijklmnopqrstuvwxyz0123456789_")] &&
	       parse_is_among(tracepoint_systems, text, n);
}

/* Length of the value after the next `key` of an event's terms, without quotes. *value: NULL if none is left. */
static size_t next_value(const char *text, const char *key, const char **value)
{
	const char *at = strstr(text, key);
	char quote[2] = "";

	*value = at ? at + strlen(key) : NULL;
	if (!at)
		return 0;
	if (**value == '\'' || **value == '"')
		*quote = *(*value)++;
	return strcspn(*value, *quote ? quote : ",/@ )}'\"");
}

/* Whether a term has a value that is neither a number nor a known name: it may be anything. */
static bool has_word_value(const struct redact *r, const char *text)
{
	char value[200];
	bool found = false;
	size_t n;

	for (n = next_value(text, "=", &text); text && !found; n = next_value(text + n, "=", &text)) {
		snprintf(value, sizeof(value), "%.*s", (int)n, text);
		found = value[strspn(value, "0123456789-")] && value[strspn(value, "0123456789abcdefABCDEFx")] &&
			!is_event_name(r, value);
	}
	return found;
}

/* Whether the text names an event that the kernel or a PMU of the recording defines, and not one of a user. */
static bool is_event(const struct redact *r, const char *text)
{
	char base[200];
	size_t n = strcspn(text, "#");
	uint32_t any;
	char *end;

	if (n >= sizeof(base) || text[n + strspn(text + n, "#0123456789")])
		return false;
	memcpy(base, text, n);
	base[n] = '\0';
	if (!n || is_event_name(r, base) || is_tracepoint(base))
		return true;
	/* Modifiers after the last colon: at most "ukhGHpppPSDeWb". */
	end = strrchr(base, ':');
	if (end && !end[1 + strspn(end + 1, "ukhGHIpPSDeWbR")])
		*end = '\0';
	if (is_event_name(r, base) || is_tracepoint(base))
		return true;
	if (*base == 'r' && base[1] && !base[1 + strspn(base + 1, "0123456789abcdefABCDEF")])
		return true;
	end = strchr(base, '/');
	if (!end || has_word_value(r, base))
		return false;
	*end = '\0';
	return names_get(&r->events, base, &any) ||
	       among("cpu cpu_atom cpu_core cstate_core cstate_pkg msr power", base);
}

/* Whether it is a register, by its number. */
static bool is_register(const char *name)
{
	return (name[0] == 'm' || name[0] == 'M') && name[1] == '0' && (name[2] == 'x' || name[2] == 'X') &&
	       name[3] && !name[3 + strspn(name + 3, "0123456789abcdefABCDEF")];
}

/* Drivers, and kinds of devices and of files of sysfs. */
static const char kernel_words[] =
	"ac acpi acpitz amdgpu bat bnxt bond class cluster core coretemp cpu cpufreq cpuidle current ddr devices "
	"die dimm dm dram drivetemp drm en energy eno enp ens eth f fan freq gpu hwmon i ib idle input intel "
	"iwlwifi k l lo loop max md min mmcblk mmio n net node np nct nouveau nvme p package pch pci phy pkg "
	"power powercap proc psys ram rapl s scaling socket source speed spd sr state stats sys system temp "
	"thermal time tz uj uncore usage v virtual w wlan wlp wwan x zone zram";

/* Whether a device or a file of sysfs is called as on any machine: by such words, with short numbers. */
static bool is_kernel_name(const char *text)
{
	for (size_t n; *text; text += n) {
		bool disk = (strspn(text, "svhx") == 1 && text[1] == 'd') || !strncmp(text, "xvd", 3);

		n = strspn(text, "0123456789");
		if (n > 4)
			return false;
		if (n)
			continue;
		while (isalpha((unsigned char)text[n]))
			n++;
		if (!n && !strchr("-_.:/", *text))
			return false;
		if (n && !(disk && n <= 4) && !parse_is_among(kernel_words, text, n))
			return false;
		n += !n;
	}
	return true;
}

static bool is_numbered(const char *text, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(text, word, n) && text[n] && !text[n + strspn(text + n, "0123456789")];
}

/* Whether a name of that kind is one that many machines have, or may stay. */
static bool name_stays(const struct redact *r, const char *kind, const char *name)
{
	if (!strcmp(kind, "event"))
		return is_event(r, name);
	if (!strcmp(kind, "counter"))
		return is_register(name);
	if (!strcmp(kind, "device"))
		return keeps(r, PM_COUNTER_DEVICES, "devices") || is_kernel_name(name);
	if (!strcmp(kind, "task"))
		return is_numbered(name, "task-") || keeps(r, PM_INSTANCE_COMM, "comm");
	return !strcmp(kind, "cgroup") && (is_numbered(name, "cgroup-") || keeps(r, PM_INSTANCE_CGROUP, "cgroup"));
}

/* Without what marks counters that were asked for. */
static const char *plain_name(const struct pm_counter *c)
{
	return c->name + (strncmp(c->name, "add.", 4) ? 0 : 4);
}

/* Of what kind the name is that goes; NULL: it stays. */
static const char *counter_name_kind(const struct redact *r, const struct pm_counter *c)
{
	const char *kind = strcmp(c->source, "perf") ? "counter" : "event";

	if (*kind == 'e' || !strcmp(c->source, "add") || pm_map_get(&c->attrs, PM_COUNTER_ADDED))
		return name_stays(r, kind, plain_name(c)) ? NULL : kind;
	return catalog_named(c->source, c->name) || !strcmp(c->source, "msr") ? NULL : kind;
}

static const char *instance_name_kind(const struct redact *r, const struct pm_instance *i)
{
	const char *kind = i->kind == PM_TASK   ? "task" :
			   i->kind == PM_CGROUP ? "cgroup" :
			   i->kind == PM_DEVICE ? "device" :
						  NULL;
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "");

	return kind && *name && !name_stays(r, kind, name) ? kind : NULL;
}

/* ---- texts ---- */

static void replace(char **text, const char *by)
{
	char *copy = memory_text(by);

	free(*text);
	*text = copy;
}

/* Whether it has the path of a file of a user's; those of the kernel and the system exist everywhere. */
static bool names_path(const char *text)
{
	for (const char *p = text; (p = strpbrk(p, "/~")); p++) {
		size_t n;

		if ((p > text && !strchr(" \t\n\"'`(=:,;<>[{|&@/", p[-1])) || !p[1] || strchr(" \t", p[1]) ||
		    (*p == '/' && p[1] == '/'))
			continue;
		n = 1 + strcspn(p + 1, "/ \t\n\"'`:,;)>]}*");
		/* A process is somebody's. */
		if (!parse_is_among("/sys /proc /dev /etc /usr", p, n) ||
		    (!strncmp(p, "/proc/", 6) && isdigit((unsigned char)p[6])))
			return true;
	}
	return false;
}

/* What becomes of a text. */
enum text_use {
	TEXT_FREE,
	TEXT_TECHNICAL, /* it names no folder of the user's */
	TEXT_FORMULA,
	TEXT_METRIC, /* an array: a metric of the user's */
	TEXT_METRICS,
};

static void scrub(const struct redact *r, char **text, size_t *len, enum text_use use)
{
	secrets_scrub(&r->secrets, text, len, use == TEXT_FORMULA);
	if (use == TEXT_TECHNICAL && names_path(*text)) {
		replace(text, "redacted");
		*len = strlen(*text);
	}
}

static void clean(const struct redact *r, char **text)
{
	size_t len = *text ? strlen(*text) : 0;

	if (len)
		scrub(r, text, &len, TEXT_TECHNICAL);
}

static enum text_use use_of_item(enum text_use array, uint32_t i)
{
	if (array == TEXT_METRICS)
		return TEXT_METRIC;
	if (array == TEXT_METRIC)
		return i == PM_METRIC_FORMULA || i == PM_METRIC_THRESHOLD ? TEXT_FORMULA : TEXT_FREE;
	return array;
}

static enum rewrite_fate clean_value(struct redact *r, struct pm_value *v, enum text_use use)
{
	enum rewrite_fate fate = REWRITE_KEEP;
	char *copy;
	size_t len;

	switch (v->kind) {
	case PM_VALUE_TEXT:
		scrub(r, &v->str.data, &v->str.len, use);
		return REWRITE_KEEP;
	case PM_VALUE_BYTES:
		/* Bytes that can be searched are not replaced: others would change the structure. */
		len = v->str.len;
		copy = memory_copy(v->str.data, len + 1, 1);
		fate = secrets_scrub(&r->secrets, &copy, &len, false) ? REWRITE_DROP : REWRITE_KEEP;
		free(copy);
		return fate;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n && fate == REWRITE_KEEP; i++)
			fate = clean_value(r, &v->array.item[i], use_of_item(use, i));
		return fate;
	case PM_VALUE_MAP:
		return REWRITE_DROP; /* no known field holds one */
	default:
		return REWRITE_KEEP;
	}
}

static bool same_kind(enum pm_value_kind want, enum pm_value_kind have)
{
	bool number = want == PM_VALUE_U64 || want == PM_VALUE_S64;

	return want == have || (number && (have == PM_VALUE_U64 || have == PM_VALUE_S64));
}

/* Replaces a text of a map by a pseudonym. */
static void rename_field(struct redact *r, struct pm_map *m, uint32_t key, const char *kind, const char *from)
{
	memory_done(pm_map_set(m, key, pm_text(pseudonym(r, kind, from))));
}

/* ---- remarks ---- */

/* Of "cycles, cpu/event=1/" the names that a user invented become pseudonyms, also those in the terms of a PMU. */
static char *clean_events(struct redact *r, char *text)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;

	for (char *at = text, *next; at; at = next) {
		SCOPED(scoped_free) char *name = NULL;

		next = strstr(at, ", ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		name = memory_text(is_event(r, at) ? at : pseudonym(r, "event", at));
		if (!strcmp(name, at))
			clean(r, &name);
		buf_printf(&out, "%s%s", at > text ? ", " : "", name);
	}
	memory_whole(&out);
	return memory_text(buf_str(&out));
}

/* The text that stands for an argument; owned by the caller. */
static char *clean_argument(struct redact *r, char class, const char *argument)
{
	static const struct {
		char class;
		const char *kind;
	} names[] = { { 'a', "counter" }, { 'm', "metric" }, { 'g', "cgroup" }, { 'd', "device" } };
	SCOPED(scoped_free) char *text = memory_text(argument);

	if (class == 'e' && *text)
		return clean_events(r, text);
	if (class == 'c')
		clean(r, &text);
	if (class == 'c' || !*text)
		return memory_text(text);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].class == class)
			return memory_text(name_stays(r, names[i].kind, text) ? text :
										pseudonym(r, names[i].kind, text));
	return memory_text("redacted");
}

/* Replaces the arguments of a remark by their classes. */
static enum rewrite_fate clean_remark(struct redact *r, struct pm_value *v)
{
	for (uint32_t i = 1; pm_remark_code(v) && i < v->array.n; i++) {
		struct pm_value *argument = &v->array.item[i];
		char class = pm_remark_class(v, i - 1);
		SCOPED(scoped_free) char *text = NULL;

		if (argument->kind == PM_VALUE_U64 && (class == 'n' || class == 'r'))
			continue;
		text = argument->kind == PM_VALUE_TEXT ? clean_argument(r, class, argument->str.data) :
							 memory_text("redacted");
		pm_value_release(argument);
		*argument = pm_text(text);
		memory_checked(argument->str.data);
	}
	return pm_remark_code(v) ? REWRITE_KEEP : REWRITE_DROP;
}

/* ---- fields ---- */

/* The history repeats command lines, which name files, times and counters: the command is enough. */
static enum rewrite_fate clean_history(struct redact *r, struct pm_value *v)
{
	(void)r;
	for (uint32_t i = 0; i < v->array.n; i++) {
		struct pm_value *line = &v->array.item[i], word = pm_text("changed");
		size_t n = line->kind == PM_VALUE_TEXT ? strcspn(line->str.data, " :") : 0;

		if (n && parse_is_among("cut merged redacted bundled", line->str.data, n)) {
			pm_value_release(&word);
			word = pm_text_n(line->str.data, n);
		}
		memory_checked(word.str.data);
		pm_value_release(line);
		*line = word;
	}
	return REWRITE_KEEP;
}

static enum rewrite_fate clean_metrics(struct redact *r, struct pm_value *v)
{
	return clean_value(r, v, TEXT_METRICS);
}

/* The kernel's file of a column that was asked for: it may be that of a device or a cgroup. */
static enum rewrite_fate clean_help(struct redact *r, struct pm_value *v)
{
	return *v->str.data == '/' && !is_kernel_name(v->str.data) ? REWRITE_DROP : clean_value(r, v, TEXT_TECHNICAL);
}

static enum rewrite_fate clean_cpus(struct redact *r, struct pm_value *v)
{
	return v->str.data[strspn(v->str.data, "0123456789,-")] ? REWRITE_DROP : clean_value(r, v, TEXT_TECHNICAL);
}

static bool is_technical_file(const struct pm_value *pair)
{
	const char *name =
		pair->kind == PM_VALUE_ARRAY && pair->array.n == 2 && pair->array.item[0].kind == PM_VALUE_TEXT ?
			pair->array.item[0].str.data :
			"";

	return among("perf_event_mux_interval_ms peer rdpmc freeze_on_smi alias allow_tsx_force_abort "
		     "nr_addr_filters partid numa_node slots",
		     name);
}

static enum rewrite_fate clean_files(struct redact *r, struct pm_value *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->array.n; i++)
		if (is_technical_file(&v->array.item[i]))
			v->array.item[n++] = v->array.item[i];
		else
			pm_value_release(&v->array.item[i]);
	v->array.n = n;
	return clean_value(r, v, TEXT_TECHNICAL);
}

/* Fields whose texts become pseudonyms where they may not stay, or always if they are technical; and those that are
 * cleaned in ways of their own. Others are cleaned or dropped by their class. */
static const struct field_rule {
	const struct pm_key_row *rows;
	uint32_t key;
	const char *kind;                                                 /* of pseudonyms; or NULL */
	enum rewrite_fate (*clean)(struct redact *r, struct pm_value *v); /* or NULL */
} field_rules[] = {
	{ pm_header_keys, PM_HEADER_HOST, .kind = "host" },
	{ pm_header_keys, PM_HEADER_BOOT_ID, .kind = "boot" },
	{ pm_header_keys, PM_HEADER_MACHINE_ID, .kind = "machine" },
	{ pm_header_keys, PM_HEADER_HISTORY, .clean = clean_history },
	{ pm_header_keys, PM_HEADER_METRICS, .clean = clean_metrics },
	{ pm_counter_keys, PM_COUNTER_PERF_CGROUP, .kind = "cgroup" },
	{ pm_counter_keys, PM_COUNTER_PERF_GROUP_NAME, .kind = "group" },
	{ pm_counter_keys, PM_COUNTER_HELP, .clean = clean_help },
	{ pm_instance_keys, PM_INSTANCE_CPUS, .clean = clean_cpus },
	{ pm_instance_keys, PM_INSTANCE_DEVICE_PATH, .kind = "device" },
	{ pm_instance_keys, PM_INSTANCE_COMM, .kind = "task" },
	{ pm_instance_keys, PM_INSTANCE_PARENT_COMM, .kind = "task" },
	{ pm_instance_keys, PM_INSTANCE_CGROUP, .kind = "cgroup" },
	{ pm_pmu_keys, PM_PMU_FILES, .clean = clean_files },
	{ pm_event_keys, PM_EVENT_KEY_TEXT, .kind = "marker" },
	{ pm_event_keys, PM_EVENT_KEY_NOTE, .clean = clean_remark },
	{ NULL },
};

static const struct field_rule *rule_of(const struct pm_key_row *rows, uint32_t key)
{
	const struct field_rule *f = field_rules;

	while (f->rows && (f->rows != rows || f->key != key))
		f++;
	return f;
}

/* Applies the rules to a map: known fields that may stay are cleaned, names become pseudonyms, everything else is
 * dropped. */
static void clean_map(struct redact *r, struct pm_map *m, const struct pm_key_row *rows)
{
	for (uint32_t i = m->n; i-- > 0;) {
		struct pm_field *f = &m->field[i];
		const struct pm_key_row *row = pm_key_find(rows, f->key);
		const struct field_rule *rule = rule_of(rows, f->key);
		enum rewrite_fate fate = REWRITE_DROP;

		if (row && same_kind(row->kind, f->value.kind)) {
			bool stays = keeps(r, f->key, row->name);

			if (rule->kind && f->value.kind == PM_VALUE_TEXT && f->value.str.len &&
			    (f->key < 100 || !stays)) {
				rename_field(r, m, f->key, rule->kind, f->value.str.data);
				continue;
			}
			if (stays)
				fate = rule->clean ?
					       rule->clean(r, &f->value) :
					       clean_value(r, &f->value, f->key < 100 ? TEXT_TECHNICAL : TEXT_FREE);
		}
		if (fate == REWRITE_DROP)
			pm_map_remove(m, f->key);
	}
}

/* ---- looking ---- */

static void add_secret(struct redact *r, const char *text, size_t len, const char *kind)
{
	SCOPED(scoped_free) char *copy = NULL;

	if (len < 3)
		return;
	copy = memory_checked(strndup(text, len));
	/* What every recording may have reveals nothing, and without it the rest would lose its meaning. */
	if (is_event_name(r, copy) || is_source(copy) || is_kernel_name(copy))
		return;
	secrets_add(&r->secrets, text, len, kind ? pseudonym(r, kind, copy) : "redacted", !kind);
}

/* Parts of a path: each could occur alone. */
static void add_path(struct redact *r, const char *text, size_t len)
{
	for (size_t at = 0, n; at < len; at += n + 1) {
		for (n = 0; at + n < len && text[at + n] != '/'; n++)
			;
		if (n < len &&
		    !parse_is_among("bin boot class dev devices etc home init.scope lib lib64 local mnt net opt "
				    "proc root run sbin share srv sys system system.slice tmp user user.slice "
				    "usr var",
				    text + at, n))
			add_secret(r, text + at, n, NULL);
	}
}

static void add_value(struct redact *r, const struct pm_value *v, const char *kind)
{
	switch (v->kind) {
	case PM_VALUE_TEXT:
		add_secret(r, v->str.data, v->str.len, kind);
		for (size_t at = 0, n; at < v->str.len; at += n + 1) {
			n = strcspn(v->str.data + at, " \t\n=,:;\"'()[]{}|&<>@");
			add_path(r, v->str.data + at, n);
		}
		break;
	case PM_VALUE_BYTES:
		add_secret(r, v->str.data, v->str.len, NULL);
		break;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++)
			add_value(r, &v->array.item[i], kind);
		break;
	case PM_VALUE_MAP:
		for (uint32_t i = 0; i < v->map.n; i++)
			add_value(r, &v->map.field[i].value, kind);
		break;
	default:
		break;
	}
}

static void look_at_map(struct redact *r, const struct pm_map *m, const struct pm_key_row *rows)
{
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t key = m->field[i].key;
		const struct pm_key_row *row = rows ? pm_key_find(rows, key) : NULL;

		if (row && row->kind == m->field[i].value.kind && keeps(r, key, row->name))
			continue;
		/* Numbers of the recorder may be negative. */
		if (row && key < 100 && m->field[i].value.kind <= PM_VALUE_BOOL)
			continue;
		add_value(r, &m->field[i].value, rule_of(rows, key)->kind);
	}
}

static void look_at_host(struct redact *r, const struct pm_model *m)
{
	const char *host = pm_map_text(&m->header, PM_HEADER_HOST, "");
	size_t n = strcspn(host, ".");
	const char *to;

	if (keeps(r, PM_HEADER_HOST, "host") || !*host)
		return;
	to = pseudonym(r, "host", host);
	if (!*r->host)
		snprintf(r->host, sizeof(r->host), "%s", to);
	if (!host[n])
		return;
	/* The name without its domain, and the domain: neither is plain, whatever its words. */
	secrets_add(&r->secrets, host, n, to, false);
	secrets_add(&r->secrets, host + n + 1, strlen(host + n + 1), "redacted", false);
}

/* Names that terms give to events. */
static void look_at_terms(struct redact *r, const char *text, const char *key)
{
	size_t n;

	for (n = next_value(text, key, &text); text; n = next_value(text + n, key, &text))
		add_secret(r, text, n, "event");
}

/* A metric of the user's, or a group of metrics that he made; names of vendors' are noted. */
static void look_at_metric(struct redact *r, const struct pm_value *texts)
{
	uint32_t n_texts = texts->kind == PM_VALUE_ARRAY ? texts->array.n : 0;
	bool given = n_texts <= PM_METRIC_VENDOR || texts->array.item[PM_METRIC_VENDOR].kind != PM_VALUE_BOOL;

	for (uint32_t k = 0; k < n_texts; k++) {
		const char *text = texts->array.item[k].kind == PM_VALUE_TEXT ? texts->array.item[k].str.data : "";
		bool name = k == PM_METRIC_NAME || k == PM_METRIC_GROUPS;

		look_at_terms(r, text, "name=");
		if (k == PM_METRIC_FORMULA || k == PM_METRIC_THRESHOLD)
			continue;
		for (size_t n; *text; text += n + (text[n] != '\0')) {
			SCOPED(scoped_free) char *word = NULL;

			n = name ? strcspn(text, ",;") : strlen(text);
			word = memory_checked(strndup(text, n));
			if (given)
				add_secret(r, text, n, name ? "metric" : NULL);
			else if (name)
				memory_done(names_set(&r->vendor, lowered(word), 1));
		}
	}
}

/* What -M was given is also one of a metric's names or groups, as the user wrote it. */
static void look_at_metrics(struct redact *r, const struct pm_map *header)
{
	const struct pm_value *list = pm_map_get(header, PM_HEADER_METRICS);
	const struct pm_value *words = pm_map_get(header, PM_HEADER_METRIC_WORDS);

	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++)
		if (list->array.item[i].kind == PM_VALUE_TEXT)
			memory_done(names_set(&r->vendor, list->array.item[i].str.data, 1));
		else
			look_at_metric(r, &list->array.item[i]);
	for (uint32_t i = 0; words && words->kind == PM_VALUE_ARRAY && i < words->array.n; i++) {
		const struct pm_value *word = &words->array.item[i];
		SCOPED(scoped_free)
		char *low = word->kind == PM_VALUE_TEXT ? lowered(memory_text(word->str.data)) : NULL;
		uint32_t any;

		if (low && !names_get(&r->vendor, low, &any))
			add_secret(r, word->str.data, word->str.len, "metric");
	}
}

static void look_at_pmu_event(struct redact *r, const struct pm_value *row)
{
	const struct pm_value *item = row->array.item;

	if (row->kind != PM_VALUE_ARRAY || !row->array.n || item->kind != PM_VALUE_TEXT)
		return;
	if (row->array.n > 4 && item[4].kind == PM_VALUE_U64 && item[4].u64 & PM_PMU_EVENT_GIVEN)
		secrets_add(&r->secrets, item->str.data, item->str.len, pseudonym(r, "event", item->str.data), false);
	else
		memory_done(names_set(&r->events, item->str.data, 1));
}

static void look_at_pmu(struct redact *r, const struct pm_pmu *p)
{
	const struct pm_value *list = pm_map_get(&p->attrs, PM_PMU_EVENTS);
	const char *name = pm_map_text(&p->attrs, PM_PMU_NAME, "");

	if (*name)
		memory_done(names_set(&r->events, name, 1));
	for (uint32_t k = 0; list && list->kind == PM_VALUE_ARRAY && k < list->array.n; k++)
		look_at_pmu_event(r, &list->array.item[k]);
	look_at_map(r, &p->attrs, pm_pmu_keys);
}

static void look_at_counter(struct redact *r, const struct pm_counter *c)
{
	const char *kind = counter_name_kind(r, c), *name = plain_name(c);

	look_at_map(r, &c->attrs, pm_counter_keys);
	if (kind) {
		add_secret(r, name, strlen(name), kind);
		add_path(r, c->name, strlen(c->name));
	}
	/* It means the same, so it gets the same pseudonym. */
	if (kind && c->display && strcmp(c->display, c->name) != 0 && !is_kernel_name(c->display))
		secrets_add(&r->secrets, c->display, strlen(c->display), pseudonym(r, kind, name), false);
	/* Of an event that keeps its own name the user may have chosen the one that is shown. */
	look_at_terms(r, pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, ""), "=");
}

static void look_at_instance(struct redact *r, const struct pm_instance *i)
{
	const char *kind = instance_name_kind(r, i);
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "");

	look_at_map(r, &i->attrs, pm_instance_keys);
	if (kind)
		add_secret(r, name, strlen(name), kind);
}

static void look_at_model(struct redact *r, const struct pm_model *m)
{
	struct redact_seen *seen = &r->seen;

	/* First: these say which events no user has invented. */
	for (; seen->pmus < m->n_pmus; seen->pmus++)
		look_at_pmu(r, &m->pmu[seen->pmus]);
	look_at_map(r, &m->header, pm_header_keys);
	look_at_metrics(r, &m->header);
	look_at_host(r, m);
	for (; seen->counters < m->n_counters; seen->counters++)
		look_at_counter(r, &m->counter[seen->counters]);
	for (; seen->instances < m->n_instances; seen->instances++)
		look_at_instance(r, &m->instance[seen->instances]);
	for (; seen->configs < m->n_configs; seen->configs++) {
		const struct pm_config *c = &m->config[seen->configs];

		if (c->privacy != PM_PRIVACY_TECHNICAL && !keeps(r, (uint32_t)c->privacy * 100 + 50, NULL))
			add_value(r, &c->value, NULL);
	}
}

/* Boots that the recordings do not name may differ: the clock of one is then too far back for another's shift. */
static void take_shift(struct redact *r, const struct pm_model *m, const struct pm_clocks *clocks)
{
	SCOPED(buf_release) struct buf boot = BUF_INIT;
	struct pm_clocks s;

	buf_addstr(&boot, pm_map_text(&m->header, PM_HEADER_BOOT_ID, ""));
	memory_whole(&boot);
	while (s = map_shift(&r->map, buf_str(&boot), clocks), clocks->monotonic + s.monotonic > UINT64_MAX / 4) {
		buf_addch(&boot, '+');
		memory_whole(&boot);
	}
	memory_room(&r->boot, r->n_boots, sizeof(*r->boot));
	r->boot[r->n_boots++] = (struct redact_boot){ memory_text(buf_str(&boot)), s };
}

/* At the end of a recording, before another one of the file. */
static void end_recording(struct redact *r, const struct pm_model *m, struct pm_clocks *first)
{
	look_at_model(r, m);
	if (r->options.shift_time)
		take_shift(r, m, first);
	if (first->realtime && !r->wall_ns)
		r->wall_ns = first->realtime + (r->options.shift_time ? r->boot[0].shift.realtime : 0);
	r->seen = (struct redact_seen){ 0 };
	*first = (struct pm_clocks){ 0 };
}

/* All that is known of the recordings of a file. */
static void forget(struct redact *r)
{
	secrets_release(&r->secrets);
	names_release(&r->events);
	names_release(&r->vendor);
	for (size_t i = 0; i < r->n_boots; i++)
		free(r->boot[i].name);
	free(r->boot);
	r->boot = NULL;
	r->n_boots = 0;
	r->seen = (struct redact_seen){ 0 };
	r->host[0] = '\0';
	r->wall_ns = 0;
}

int redact_look(struct redact *r, const struct spool *in, struct error *e)
{
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct pm_clocks first = { 0 };
	struct pm_item item = { 0 };
	bool grown = false;
	int n;

	forget(r);
	if (spool_reader(&reader, in, e))
		return -e->number;
	while ((n = pm_reader_next(reader, &item)) != 0) {
		if (n < 0) {
			input_failed(e, n, "cannot continue reading");
			return error_prefix(e, "%s", in->name);
		}
		if (item.kind == PM_ITEM_MODEL)
			grown |= !(item.parts & PM_PART_REPEATED);
		else if (item.kind == PM_ITEM_RECORDING)
			end_recording(r, pm_reader_model(reader), &first);
		else if (item.kind == PM_ITEM_EVENT)
			look_at_map(r, &item.event->attrs, pm_event_keys);
		/* Frames of definitions may refer to later ones, but chunks do not. */
		if (grown && (item.kind == PM_ITEM_CHUNK || item.kind == PM_ITEM_END)) {
			look_at_model(r, pm_reader_model(reader));
			grown = false;
		}
		if (item.kind == PM_ITEM_CHUNK && !first.monotonic)
			first = item.chunk.clocks;
	}
	end_recording(r, pm_reader_model(reader), &first);
	return 0;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	free(r->keep);
	forget(r);
	names_release(&r->given);
	map_release(&r->map);
	free(r);
}

/* ---- the header ---- */

void redact_header(struct redact *r, struct pm_map *header)
{
	struct pm_value list = pm_array(3);

	clean_map(r, header, pm_header_keys);
	memory_checked(list.array.item);
	list.array.n = 0;
	for (enum pm_privacy p = PM_PRIVACY_MACHINE; p <= PM_PRIVACY_TIME; p++)
		if (p == PM_PRIVACY_TIME ? r->options.shift_time : !among(r->keep, privacy_name(p)))
			list.array.item[list.array.n++] = pm_text(privacy_name(p));
	memory_done(pm_map_set(header, PM_HEADER_REDACTED, list));
}

/* ---- counters ---- */

/* Keeps different names different, even if everything that distinguished them is gone. */
static void make_unique(struct redact *r, char **name, const char *old)
{
	SCOPED(scoped_free) char *plain = memory_text(*name);
	uint32_t hash = names_hash(old), other;

	for (unsigned k = 2; names_get(&r->given, *name, &other) && other != hash; k++) {
		free(*name);
		*name = memory_format("%s#%u", plain, k);
	}
	memory_done(names_set(&r->given, *name, hash));
}

static void rename_counter(struct redact *r, struct pm_counter *c, const char *kind)
{
	const char *plain = plain_name(c);
	char *name = memory_format("%.*s%s", (int)(plain - c->name), c->name, pseudonym(r, kind, plain));

	free(c->name);
	c->name = name;
	replace(&c->display, plain_name(c));
	pm_map_remove(&c->attrs, PM_COUNTER_PERF_USER_TEXT);
	/* What is left of those is a file of the kernel's. */
	if (*pm_map_text(&c->attrs, PM_COUNTER_HELP, "") != '/')
		pm_map_remove(&c->attrs, PM_COUNTER_HELP);
	pm_map_remove(&c->attrs, PM_COUNTER_FAMILY);
	pm_map_remove(&c->attrs, PM_COUNTER_MEMBER);
}

void redact_source(struct redact *r, char **source)
{
	if (!is_source(*source))
		replace(source, "redacted");
}

void redact_counter(struct redact *r, struct pm_counter *c)
{
	const char *kind = counter_name_kind(r, c);
	const struct catalog_counter *row = catalog_named(c->source, c->name);
	SCOPED(scoped_free) char *old = memory_text(c->name);

	clean_map(r, &c->attrs, pm_counter_keys);
	if (kind)
		rename_counter(r, c, kind);
	else if (!row || strchr(row->name, '*'))
		clean(r, &c->name);
	/* A column is headed by its name, by a word that all recordings have for it, or by words of its own. */
	if (!kind && c->display && !strcmp(c->display, old))
		replace(&c->display, c->name);
	else if (!kind && !(row && row->display && c->display && !strcmp(c->display, row->display)))
		clean(r, &c->display);
	/* One of a pseudonym means the same in every recording. */
	make_unique(r, &c->name, kind ? c->name : old);
	redact_source(r, &c->source);
	if (!among("1 s ms us ns J mJ uJ W V A Cel K Hz kHz MHz GHz By KiBy MiBy GiBy By/s KiBy/s MiBy/s GiBy/s bit "
		   "%",
		   c->unit))
		replace(&c->unit, "1");
	/* Only a decimal number is a scale. */
	if (c->scale.text && c->scale.text[strspn(c->scale.text, "0123456789.eE+-")])
		replace(&c->scale.text, "1");
}

/* ---- instances, topology, PMUs ---- */

void redact_instance(struct redact *r, struct pm_instance *i)
{
	const char *kind = instance_name_kind(r, i);

	if (kind)
		rename_field(r, &i->attrs, PM_INSTANCE_NAME, kind, pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""));
	clean_map(r, &i->attrs, pm_instance_keys);
}

void redact_topology(struct redact *r, struct pm_topology *t)
{
	for (uint32_t i = 0; i < t->n_types; i++)
		clean(r, &t->type[i]);
}

void redact_pmu(struct redact *r, struct pm_pmu *p)
{
	clean_map(r, &p->attrs, pm_pmu_keys);
}

/* ---- remarks, and values that are read once ---- */

void redact_probe(struct redact *r, struct pm_probe *p)
{
	pm_map_release(&p->attrs);
	redact_source(r, &p->source);
	clean_remark(r, &p->what);
	clean_remark(r, &p->hint);
}

static bool is_known_config(const char *name)
{
	/* Leaf 3 is the serial number, on processors that have one. */
	return strncmp(name, "cpuid.00000003.", 15) &&
	       parse_is_among("cpu_dma_latency_us cpuid cpufreq cpuidle msr pci pmrec powercap tcc_celsius throttle "
			      "uncorefreq intel_pstate machine arm64 nvidia perf gfx lpi",
			      name, strcspn(name, "."));
}

static bool is_clock_config(const char *name)
{
	return parse_is_among("msr.0x10 msr.0xe7 msr.0xe8 msr.tsc msr.aperf msr.mperf", name, strlen(name));
}

enum rewrite_fate redact_config(struct redact *r, struct pm_config *c)
{
	if (!is_known_config(c->name) || !keeps(r, (uint32_t)c->privacy * 100 + 50, NULL) ||
	    (r->options.shift_time && is_clock_config(c->name)))
		return REWRITE_DROP;
	clean(r, &c->name);
	return clean_value(r, &c->value, c->privacy == PM_PRIVACY_TECHNICAL ? TEXT_TECHNICAL : TEXT_FREE);
}

/* ---- events ---- */

enum rewrite_fate redact_event(struct redact *r, struct pm_event *e)
{
	if (!pm_event_name(e->type))
		return REWRITE_DROP;
	clean_map(r, &e->attrs, pm_event_keys);
	return REWRITE_KEEP;
}

/* ---- numbers ---- */

enum rewrite_fate redact_text(struct redact *r, struct pm_value *v)
{
	struct pm_value name;

	/* Nobody knows what bytes reveal. */
	if (v->kind != PM_VALUE_TEXT)
		return REWRITE_DROP;
	/* A change of name, and back, remains visible. */
	name = pm_text(pseudonym(r, "text", v->str.data));
	memory_checked(name.str.data);
	pm_value_release(v);
	*v = name;
	return REWRITE_KEEP;
}

static void shift(uint64_t *clock, uint64_t by)
{
	if (*clock)
		*clock += by;
}

void redact_clocks(struct redact *r, struct pm_clocks *c)
{
	if (!r->options.shift_time)
		return;
	shift(&c->realtime, r->now->shift.realtime);
	shift(&c->monotonic_raw, r->now->shift.monotonic_raw);
	shift(&c->boottime, r->now->shift.boottime);
	shift(&c->counter, r->now->shift.counter);
}

/* What the kernel, a driver or a register has counted since the boot reveals its time. Perf counts from where it was
 * asked to. */
uint64_t redact_rebase(struct redact *r, const struct pm_counter *c)
{
	if (!r->options.shift_time || c->semantics != PM_CUMULATIVE || !strcmp(c->source, "perf") ||
	    pm_map_bool(&c->attrs, PM_COUNTER_FROM_ZERO, false) || pm_map_get(&c->attrs, PM_COUNTER_SHIFT))
		return 0;
	return !strcmp(c->name, "msr.tsc") ? r->now->shift.counter :
					     map_base(&r->map, r->now->name, c->name, c->width);
}

uint64_t redact_begin(struct redact *r, size_t recording)
{
	if (!r->options.shift_time)
		return 0;
	r->now = &r->boot[recording < r->n_boots ? recording : r->n_boots - 1];
	return r->now->shift.monotonic;
}

/* ---- files ---- */

void redact_file_name(const struct redact *r, struct buf *name)
{
	time_t seconds = (time_t)(r->wall_ns / 1000000000);
	struct tm tm;
	char text[32];

	buf_addstr(name, *r->host ? r->host : "anon");
	if (r->wall_ns && gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "-%Y%m%dT%H%M%SZ", &tm))
		buf_addstr(name, text);
}
