/* What stands on a page of a recording that is made here, part by part. */
#include "report/cmd_html.c"
#include "tests/unit/lib/test.h"

#define SECONDS 4
#define START   1790000000 /* 2026-09-21 14:13:20 UTC */
#define NONE    (-1.0)     /* of a value: it is missing */

enum { UTIL, FORKS, STILL, BROKEN, NOWHERE, TOTAL, METRICS };
enum { SYSTEM, PACKAGE, CPU, ROWS };

static char *copy(const char *text)
{
	char *to = strdup(text);

	assert_non_null(to);
	return to;
}

#define CAP    1024 /* buckets of a series */
#define PLACES 40   /* metrics and rows */

static void add_series(struct bins_set *s, uint32_t metric, uint32_t row)
{
	s->cap = CAP;
	s->width_s = s->width_s > 0 ? s->width_s : 1;
	s->used = s->used ? s->used : 1;
	for (; s->n_rows < PLACES; s->n_rows++) {
		s->row = s->row ? s->row : calloc(PLACES, sizeof(*s->row));
		s->row[s->n_rows].series = calloc(PLACES, sizeof(uint32_t));
		s->row[s->n_rows].room = PLACES;
	}
	s->series = realloc(s->series, (s->n + 1) * sizeof(*s->series));
	s->bin = realloc(s->bin, (s->n + 1) * CAP * sizeof(*s->bin));
	assert_true(s->series && s->bin);
	s->series[s->n] = (struct bins_series){ .metric = metric, .row = row };
	memset(s->bin + s->n * CAP, 0, CAP * sizeof(*s->bin));
	s->row[row].series[metric] = ++s->n;
}

/* A value for the next second; NONE: it is missing. */
static void take_value(struct bins_set *s, uint32_t place, uint32_t second, double v)
{
	struct bins_series *x = &s->series[place];
	uint32_t at = (uint32_t)(second / s->width_s);

	s->used = s->used > at ? s->used : at + 1;
	if (v == NONE) {
		x->missing++;
		x->reason = PM_REASON_ERRNO + 5;
		return;
	}
	x->low = x->present && x->low < v ? x->low : v;
	x->high = x->present && x->high > v ? x->high : v;
	x->sum += v;
	x->weight++;
	x->present++;
	bin_join(&bins_of(s, x)[at], &(struct bin){ (float)v, (float)v, (float)v, 1 });
}

static void take(struct bins_set *s, const double (*v)[SECONDS])
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < SECONDS; k++)
			take_value(s, i, k, v[i][k]);
}

static void begin_page(struct html_recording *r, const char *path)
{
	static const struct bins_metric metrics[METRICS] = {
		[UTIL] = { "util", "util%", "%", "how busy", 1, true },
		[FORKS] = { "forks", "forks/s", "1", "", 0, true },
		[STILL] = { "still", "still", "W", "<power>", 0, true },
		[BROKEN] = { "broken", "broken", "W", "", 0, true },
		[NOWHERE] = { "nowhere", "nowhere", "W", "", 0, true },
		[TOTAL] = { "total", "total", "W", "", 0, false },
	};
	static const struct bins_row rows[ROWS] = {
		[SYSTEM] = { "system", "", PM_SYSTEM, PM_NONE, PM_NONE, false },
		[PACKAGE] = { "package 0", "", PM_PACKAGE, 0, PM_NONE, false },
		[CPU] = { "CPU 0", "package 0", PM_CPU, 0, 0, true },
	};
	static const double near[][SECONDS] = { { 10, 20, 30, 40 },         { 10, 20, 30, 41 },
						{ 10, 20, NONE, 40 },       { 5, 5, 5, 5 },
						{ NONE, NONE, NONE, NONE }, { 123456, 123456, 123456, 200000 } };

	*r = (struct html_recording){ .path = copy(path),
				      .host = copy("box"),
				      .interval_s = 1,
				      .bins.duration_s = SECONDS,
				      .result.snapshots = 5 };
	r->bins.n_metrics = METRICS;
	r->bins.metric = calloc(METRICS, sizeof(*r->bins.metric));
	r->bins.n_rows = ROWS;
	r->bins.row = calloc(ROWS, sizeof(*r->bins.row));
	assert_true(r->bins.metric && r->bins.row);
	for (uint32_t i = 0; i < METRICS; i++) {
		r->bins.metric[i] = metrics[i];
		r->bins.metric[i].name = copy(metrics[i].name);
		r->bins.metric[i].display = copy(metrics[i].display);
		r->bins.metric[i].unit = copy(metrics[i].unit);
		r->bins.metric[i].help = copy(metrics[i].help);
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		r->bins.row[i] = rows[i];
		r->bins.row[i].label = copy(rows[i].label);
		r->bins.row[i].place = copy(rows[i].place);
	}
	add_series(&r->bins.near, UTIL, SYSTEM);
	add_series(&r->bins.near, UTIL, PACKAGE);
	add_series(&r->bins.near, UTIL, CPU);
	add_series(&r->bins.near, STILL, SYSTEM);
	add_series(&r->bins.near, BROKEN, SYSTEM);
	add_series(&r->bins.near, FORKS, SYSTEM);
	take(&r->bins.near, near);
}

static struct html_page page_of(const struct html_recording *r, size_t n)
{
	struct html_form form = { .merge = 1, .bytes = 1 };

	return (struct html_page){
		.recording = r, .n = n, .near = form, .far = form, .metrics = METRICS, .rows = 100
	};
}

/* All texts are there, in this order; those after a NULL are not. */
static void has(const char *part, const struct html_page *p, const char *const *text)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	const char *at;

	assert_true(html_page_part(p, part, strlen(part), &out));
	for (at = buf_str(&out); *text; text++) {
		const char *found = strstr(at, *text);

		if (!found)
			fail_msg("%s is not in\n%s", *text, at);
		at = found + strlen(*text);
	}
	while (*++text)
		if (strstr(buf_str(&out), *text))
			fail_msg("%s is in\n%s", *text, buf_str(&out));
}
#define HAS(part, p, ...) has(part, p, (const char *const[]){ __VA_ARGS__, NULL, NULL })

#define CELL(v) "<td class=n>" v "</td>"

#define MEAN "<th scope=col>mean</th><th scope=col>min</th><th scope=col>max</th>"

static void summary(void **state)
{
	struct html_recording r = { 0 };
	struct html_page p = page_of(&r, 1);

	begin_page(&r, "/x/a.pmr");
	HAS("summary", &p,
	    "<th colspan=3 scope=colgroup>system</th><th colspan=3 scope=colgroup>package 0</th></tr><tr>" MEAN MEAN
	    "</tr>",
	    "title=\"util: how busy\">util%</th><td class=unit>%</td>",
	    CELL("25.0") CELL("10.0") CELL("40.0") CELL("25.2") CELL("10.0") CELL("41.0") "</tr>",
	    "title=\"forks\">forks/s</th><td class=unit></td>", CELL("142592") CELL("123456") CELL("200000"),
	    "<td class=missing colspan=3>-</td></tr>", "title=\"still: &lt;power&gt;\">",
	    CELL("5.0") CELL("5.0") CELL("5.0"), "broken</th>", "<td class=missing colspan=3>errno-5</td>", NULL,
	    "nowhere", "CPU 0", "total");
	p.metrics = FORKS;
	HAS("summary", &p, "util%", NULL, "forks");
	r.bins.near.n = 0;
	HAS("summary", &p, "No metric", NULL, "<table");
	r.bins.near.n = 6;
	/* The system and eight packages have columns; of others it is said that they have none. */
	r.bins.row = realloc(r.bins.row, (ROWS + 9) * sizeof(*r.bins.row));
	assert_non_null(r.bins.row);
	for (uint32_t n = 1; n <= 9; n++) {
		static const char *const hint[] = {
			[8] = ">1 more package without a column", [9] = ">2 more packages"
		};
		char label[40], name[16];

		snprintf(label, sizeof(label), "scope=colgroup>package %u</th>", n > 7 ? 7 : n);
		snprintf(name, sizeof(name), "package %u", n);
		r.bins.row[r.bins.n_rows++] =
			(struct bins_row){ copy(name), copy(""), PM_PACKAGE, n, PM_NONE, false };
		HAS("summary", &p, label, n > 7 ? hint[n] : "</table>", NULL,
		    n > 7 ? "package 8</th>" : "without a column");
	}
	html_recording_release(&r);
}

static void events(void **state)
{
	struct html_event event[9];
	struct html_recording r = { 0 };
	struct html_page p = page_of(&r, 1);

	begin_page(&r, "/x/a.pmr");
	HAS("events", &p, "No events", NULL, "<table");
	for (uint32_t i = 0; i < 9; i++)
		event[i] = (struct html_event){ PM_EVENT_RUN_START, 0.5, 0.5, PM_NONE, (char *)"usual" };
	event[1] = (struct html_event){ PM_EVENT_MARKER, 1, 1, PM_NONE, (char *)"a<b" };
	event[2] = (struct html_event){ PM_EVENT_LOST, 2, 3, PM_NONE, (char *)"ticks" };
	event[3] = (struct html_event){ PM_EVENT_CPU_OFFLINE, 4, 4, 1, (char *)"off" };
	event[0].at_s = event[0].until_s = 0;
	event[4] = (struct html_event){ PM_EVENT_SUSPEND, 3, 4, 1, (char *)"long" };
	event[5] = (struct html_event){ PM_EVENT_MARKER, -1, -1, 1, (char *)"before" };
	r.event = event;
	r.n_events = 9;
	r.more_events = 2;
	HAS("events", &p, "data-from=0.000000 data-to=0.000000>+0.000 s</button></td><td>usual</td>",
	    "+2.000 s to +3.000 s</button></td><td>ticks", "<p>2 more events are not listed");
	r.more_events = 0;
	HAS("events", &p, "usual", NULL, "not listed");
	r.event = NULL;
	r.n_events = 0;
	html_recording_release(&r);
}

/* Long texts are cut between characters, and nothing in the data of the script can end it. */
static void texts(void **state)
{
	char text[320], markup[340], script[340];
	struct html_event event = { PM_EVENT_MARKER, 1, 1, PM_NONE, text };
	struct html_recording r = { 0 };
	struct html_page p = page_of(&r, 1);

	begin_page(&r, "/x/a.pmr");
	r.event = &event;
	r.n_events = 1;
	/* The last byte that fits is within a character, which goes as a whole. */
	snprintf(text, sizeof(text), "%0299d\xc3\xa4z", 7);
	snprintf(markup, sizeof(markup), "<td>%0299d\xe2\x80\xa6</td>", 7);
	snprintf(script, sizeof(script), "\"%0299d\xe2\x80\xa6\"", 7);
	HAS("events", &p, markup);
	HAS("data", &p, script);
	snprintf(text, sizeof(text), "%0298d\xc3\xa4", 7);
	snprintf(markup, sizeof(markup), "<td>%s</td>", text);
	HAS("events", &p, markup);
	snprintf(text, sizeof(text), "</script><!--&\"\\\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf");
	HAS("data", &p, "\\u003c/script\\u003e\\u003c!--\\u0026\\\"\\\\", "\\u2028\\u2029\xe2\x80\xaf", NULL, "<",
	    ">", "&");
	r.event = NULL;
	r.n_events = 0;
	html_recording_release(&r);
}

static uint32_t count(const char *text, const char *word)
{
	uint32_t n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* A recording of n values, `together` of them in a bucket, a second each. */
static void begin_line(struct html_recording *r, const double *v, uint32_t n, uint32_t together)
{
	*r = (struct html_recording){ .path = copy("x"), .bins = { .duration_s = n, .n_metrics = 1, .n_rows = 1 } };
	r->bins.metric = calloc(1, sizeof(*r->bins.metric));
	r->bins.row = calloc(1, sizeof(*r->bins.row));
	assert_true(r->bins.metric && r->bins.row);
	*r->bins.metric = (struct bins_metric){ copy("x"), copy("x"), copy("W"), copy(""), 1, true };
	*r->bins.row = (struct bins_row){ copy("system"), copy(""), PM_SYSTEM, PM_NONE, PM_NONE, false };
	r->bins.near.width_s = together;
	add_series(&r->bins.near, 0, 0);
	for (uint32_t k = 0; k < n; k++)
		take_value(&r->bins.near, 0, k, v[k]);
}

/* The line in the only tile of n recordings. */
static void line_of(const struct html_recording *r, size_t n, struct buf *out)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	struct html_page p = page_of(r, n);
	const char *from, *to;

	assert_true(html_page_part(&p, "glance", 6, &all));
	from = strstr(buf_str(&all), "<svg class=spark");
	assert_non_null(from);
	to = strstr(from, "</svg>");
	buf_add(out, from, (size_t)(to - from) + 6);
}

/* 2 is the top and 26 the bottom of a box that is 120 wide. */
static void lines(void **state)
{
	static const struct {
		double v[4], seconds;
		uint32_t n, together;
		const char *path;
	} c[] = {
		{ { 10, NONE, 20, 30 }, 4, 4, 1, "line s0\" d=\"M15.0 18.0h.1M75.0 10.0h.1L105.0 2.0\"/></svg>" },
		{ { 15, 30, 30, 15 }, 4, 4, 1, "d=\"M15.0 26.0h.1L45.0 2.0L75.0 2.0L105.0 26.0\"/></svg>" },
		{ { 14.9, 30 }, 2, 2, 1, "d=\"M30.0 14.1h.1L90.0 2.0\"/></svg>" },
		{ { -10, 30, 0 }, 3, 3, 1, "d=\"M20.0 26.0h.1L60.0 2.0L100.0 20.0\"/></svg>" },
		{ { 7, 7 }, 2, 2, 1, "d=\"M30.0 14.0h.1L90.0 14.0\"/></svg>" },
		{ { 1, 2 }, 0, 2, 1, "d=\"M0.5 26.0h.1L1.5 2.0\"/></svg>" },
		{ { 10, 30, 40, 40 },
		  4,
		  4,
		  2,
		  "d=\"M30.0 14.0h.1L90.0 2.0\"/><path class=\"reach s0\" d=\"M30.0 8.0V20.0\"/></svg>" },
		{ { 100, 95.9, 0, 0 }, 4, 4, 2, "d=\"M30.0 2.5h.1L90.0 26.0\"/></svg>" },
		{ { 100, 95.8, 0, 0 },
		  4,
		  4,
		  2,
		  "d=\"M30.0 2.5h.1L90.0 26.0\"/><path class=\"reach s0\" d=\"M30.0 2.0V3.0\"/></svg>" },
	};
	static const struct {
		uint32_t n, points;
	} few[] = {
		{ 1, 1 }, { 59, 59 }, { 60, 60 }, { 61, 31 }, { 120, 60 }, { 121, 41 }, { 180, 60 }, { 181, 46 }
	};
	struct html_recording r[2];
	double v[200] = { 0 };

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;

		begin_line(r, c[i].v, c[i].n, c[i].together);
		r->bins.duration_s = c[i].seconds;
		line_of(r, 1, &out);
		if (!strstr(buf_str(&out), c[i].path))
			fail_msg("%zu: %s", i, buf_str(&out));
		html_recording_release(r);
	}
	for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;

		begin_line(r, v, few[i].n, 1);
		line_of(r, 1, &out);
		assert_int_equal(count(buf_str(&out), "L") + count(buf_str(&out), "h.1"), few[i].points);
		html_recording_release(r);
	}
	/* Of two both have the scales of what reaches farther. */
	for (int other = 0; other < 2; other++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;

		begin_line(&r[other], (const double[]){ 20, 40 }, 2, 1);
		begin_line(&r[!other], (const double[]){ 30, 60, 60 }, 3, 1);
		line_of(r, 2, &out);
		assert_int_equal(count(buf_str(&out), "d=\"M20.0 18.0h.1L60.0 10.0\"/>"), 1);
		assert_int_equal(count(buf_str(&out), "d=\"M20.0 14.0h.1L60.0 2.0L100.0 2.0\"/>"), 1);
		assert_non_null(strstr(buf_str(&out), other ? "s1\" d=\"M20.0 18.0" : "s0\" d=\"M20.0 18.0"));
		html_recording_release(&r[0]);
		html_recording_release(&r[1]);
	}
}

/* Many values of many series, of which the last metric has those that are far. */
static void fill(struct html_recording *r)
{
	enum { NEAR = 40, FAR = 30, POINTS = 1000 };

	begin_page(r, "/x/a.pmr");
	r->bins.near.n = 0;
	memset(r->bins.near.row[0].series, 0, PLACES * sizeof(uint32_t));
	for (uint32_t i = 0; i < NEAR; i++)
		add_series(&r->bins.near, i % METRICS, i / METRICS);
	for (uint32_t i = 0; i < FAR; i++)
		add_series(&r->bins.far, UTIL, i);
	r->bins.n_rows = NEAR;
	r->bins.row = realloc(r->bins.row, NEAR * sizeof(*r->bins.row));
	assert_non_null(r->bins.row);
	for (uint32_t i = ROWS; i < NEAR; i++)
		r->bins.row[i] = (struct bins_row){ copy("CPU"), copy(""), PM_CPU, 0, i, true };
	for (uint32_t k = 0; k < POINTS; k++) {
		for (uint32_t i = 0; i < NEAR; i++)
			take_value(&r->bins.near, i, k, k % (i + 2));
		for (uint32_t i = 0; i < FAR; i++)
			take_value(&r->bins.far, i, k, k % (i + 2));
	}
	r->bins.duration_s = POINTS;
}

static uint64_t page_bytes; /* of the last one */

static int write_page_to(const char *path, struct html_page *p, const struct html_recording *r, uint64_t max,
			 struct error *e)
{
	struct outfile out = { 0 };
	int err;

	*p = (struct html_page){ .recording = r, .n = 1, .max_bytes = max };
	assert_int_equal(outfile_open(&out, path, OUTFILE_OVERWRITE, NULL, 0, e), 0);
	err = html_page_write(p, &out, e);
	page_bytes = out.bytes;
	return outfile_end(&out, err, e);
}

static int write_page(struct html_page *p, const struct html_recording *r, uint64_t max, struct error *e)
{
	return write_page_to("/dev/null", p, r, max, e);
}

/* Whether 1,000 points are in a form that reduce() comes to: bytes and points of what is far before those of what is
 * near, down to 16. */
static bool is_next(const struct html_form *near, const struct html_form *far, size_t *at)
{
	static const struct {
		uint32_t near, far, bytes;
		bool band;
	} forms[] = {
		{ 1, 1, 2, true },    { 1, 1, 1, true },    { 1, 2, 1, true },    { 1, 4, 1, true },
		{ 1, 8, 1, true },    { 2, 8, 1, true },    { 2, 8, 1, false },   { 2, 16, 1, false },
		{ 2, 32, 1, false },  { 4, 32, 1, false },  { 8, 32, 1, false },  { 16, 32, 1, false },
		{ 16, 32, 0, false }, { 32, 32, 0, false }, { 64, 32, 0, false },
	};

	for (; *at < sizeof(forms) / sizeof(*forms); ++*at)
		if (near->merge == forms[*at].near && far->merge == forms[*at].far &&
		    far->bytes == forms[*at].bytes && far->band == forms[*at].band)
			return true;
	return false;
}

/* A page is never larger than it may be; the less it may be, the less it has, and it says what that is. */
static void sizes(void **state)
{
	struct html_recording r = { 0 };
	struct html_page p;
	struct error e = { 0 };
	uint64_t all, numbers;
	struct html_form near = { .merge = 1 }, far = { .merge = 1, .bytes = 2 };
	int err = 0, written = 0;
	size_t at = 0;

	fill(&r);
	assert_int_equal(write_page(&p, &r, 1 << 30, &e), 0);
	assert_string_equal(buf_str(&p.reduced), "");
	assert_true(p.near.merge == 1 && p.near.bytes == 2 && p.far.merge == 1 && p.far.bytes == 2 && p.far.band);
	buf_release(&p.reduced);
	all = page_bytes;
	/* Means, lowest and highest of two bytes, as base64 has them. */
	numbers = (40 + 30) * 1000 * 3 * 2 * 4 / 3;
	assert_true(all > numbers);
	for (uint64_t max = all + 1024; !err; max -= numbers / 50) {
		err = write_page(&p, &r, max, &e);
		if (!err) {
			const char *said = buf_str(&p.reduced);

			written++;
			assert_true(page_bytes <= max);
			assert_true(is_next(&p.near, &p.far, &at));
			assert_true(p.near.merge >= near.merge && p.far.merge >= far.merge &&
				    p.far.bytes <= far.bytes);
			assert_int_equal(strstr(said, "the system, packages and devices: ") != NULL,
					 p.near.merge > 1);
			assert_int_equal(strstr(said, "left out of charts") != NULL, !p.far.bytes);
			assert_int_equal(strstr(said, "metrics are drawn") != NULL, p.metrics < METRICS);
			assert_int_equal(strstr(said, "rows\n") != NULL, p.rows < 40);
			near = p.near;
			far = p.far;
		}
		buf_release(&p.reduced);
	}
	assert_int_equal(err, -EFBIG);
	assert_non_null(strstr(e.text, "the page needs at least "));
	/* Down to what is left when the numbers are few. */
	assert_true(written > 40 && near.merge >= 16 && !far.bytes);
	html_recording_release(&r);
}

UNIT_TESTS(cmocka_unit_test(summary), cmocka_unit_test(events), cmocka_unit_test(sizes), cmocka_unit_test(lines),
	   cmocka_unit_test(texts))
