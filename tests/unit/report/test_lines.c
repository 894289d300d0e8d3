/* What commands print of recordings with known truth: that of lib/diff_world.h, and one of all kinds of values. */
#include <sys/stat.h>

#include "common/double_bits.h"
#include "report/cmd.h"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/diff_world.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/test.h"

/* Row n of CPU i: f has n + 0.5 on CPU 0 and nan on 1, s has -n, t a word on CPU 0 and one that is not there on 1; c has 10 n, and is
 * missing in row 1 of CPU 1; it was enabled for n s and ran for half of them. */
static struct reading kinds(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ row * 500, 0 };
	if (!strcmp(counter, "k.f"))
		return (struct reading){ double_to_bits(i->number ? NAN : (double)row + 0.5), 0 };
	if (!strcmp(counter, "k.s"))
		return (struct reading){ (uint64_t) - (int64_t)row, 0 };
	if (!strcmp(counter, "k.t"))
		return (struct reading){ i->number ? 99 : 1, 0 };
	if (!strcmp(counter, "l.n"))
		return (struct reading){ row, i->number == 2 ? PM_REASON_MISSED :
					      i->number      ? PM_REASON_NO_PERMISSION :
							       0 };
	return (struct reading){ row * 10, i->number && row == 1 ? PM_REASON_MISSED : 0 };
}

static void kinds_world(struct builder *b)
{
	struct pm_value events = pm_array(3);
	struct pm_pmu pmu = { 0 };
	struct pm_probe probe = { .source = (char *)"msr",
				  .what = pm_remark(PM_REMARK_FILE, "/dev/cpu"),
				  .hint = pm_remark(PM_REMEDY_MSR),
				  .reason = PM_REASON_NO_PERMISSION };
	uint32_t id[5];

	builder_init(b, kinds);
	b->read_ns = 10;
	assert_int_equal(pm_model_add_string(&b->model, "two words", 9, false), 1);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu")), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_TYPE, pm_u64(4)), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CPUS, pm_text("0-1")), 0);
	for (uint32_t i = 0; i < 2; i++) {
		events.array.item[i] = pm_array(2);
		events.array.item[i].array.item[0] = pm_text(i ? "stores" : "loads");
		events.array.item[i].array.item[1] = pm_text("event=1");
	}
	events.array.item[2] = pm_text("no pair");
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_EVENTS, events), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	pm_value_release(&probe.what);
	pm_value_release(&probe.hint);
	id[0] = builder_counter(b, "k.f", "W", PM_GAUGE, PM_AGG_SUM);
	builder_counter_at(b, id[0])->type = PM_F64;
	id[1] = builder_counter(b, "k.s", "Cel", PM_GAUGE, PM_AGG_MIN);
	builder_counter_at(b, id[1])->type = PM_S64;
	id[2] = builder_counter(b, "k.t", "1", PM_STATE, PM_AGG_NONE);
	builder_counter_at(b, id[2])->type = PM_TEXT;
	id[3] = builder_counter(b, "k.c", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_counter_at(b, id[3])->width = 32;
	builder_group(b, PM_CPU, 2, 0, id, 3);
	builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, id + 3, 1);
	id[4] = builder_counter(b, "l.n", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 3, 0, id + 4, 1);
	builder_write(b, 0, 1);
	builder_chunk(b, 1, 1, 1);
	b->flags[0] = PM_SNAPSHOT_FORCED | PM_SNAPSHOT_LAST;
	assert_int_equal(pm_writer_chunk(b->writer, &b->chunk), 0);
	builder_finish(b);
}

/* clang-format off */
#define KEYS 8
static const struct {
	const char *keys[KEYS]; /* of diff_world; none: of all kinds */
	int (*command)(int argc, char **argv);
	const char *words; /* '@' stands for the recording; without one it is the last word */
	int status;
	const char *parts[12];
	const char *then; /* words for pmrep show, of what was written to @.out */
} cases[] = {
	/* ---- list ---- */
	{ { "rows=3", "marker=1:go" }, cmd_list, "events --format=json", 0,
	  { "{\"event\":\"marker\",\"seconds\":1.000000000,\"time\":\"2026-09-21T14:13:21.000000000Z\",\"attributes\":\"run=1 text=go\"}\n" } },
	{ { "rows=3" }, cmd_list, "instances --format=json pack*", 0,
	  { "{\"kind\":\"package\",\"number\":1,\"cpu\":4,\"retired\":\"no\",\"id\":14,\"attributes\":null}\n" } },
	{ { "rows=3" }, cmd_list, "counters bench*", 0,
	  { "COUNTER     SOURCE UNIT SEMANTICS AGGREGATION PER    INSTANCES HELP\n"
	    "bench.level bench  Cel  gauge     max         system         1 -\n" } },
	{ { "rows=3" }, cmd_list, "counters none*", 2, { "none of its counters is named 'none*'" } },
	{ { NULL }, cmd_list, "counters", 0,
	  { "\nk.f     k      W    gauge      sum         cpu         2 -\n", "\nl.n     l      1    cumulative sum         cpu         3 -\n" } },
	{ { NULL }, cmd_list, "instances task*", 0, { "KIND NUMBER CPU RETIRED ID ATTRIBUTES\n" "task      0   - no      20 name=task-0\n" "task      1   - no      21 name=task-1\n" } },
	/* ---- check ---- */
	{ { "rows=3" }, cmd_check, "", 0, { ": good: ", " 1 chunk, 3 snapshots, 75 values\n" } },
	{ { "rows=3", "open=1" }, cmd_check, "", 1,
	  { " 1 chunk, 3 snapshots, 75 values\n  at byte ", ": no end frame: the recorder was killed, or is still running; nothing after "
	    "2026-09-21T14:13:22.000000000Z\n" } },
	/* Four metrics of 8 CPUs, 2 packages and the system, and the level. */
	{ { "rows=3" }, cmd_incidents, "", 0, { "Nothing stands out among 45 series over 2.00 s.\n" } },
	/* ---- show: 1000 interrupts a second of each of 8 CPUs; the level is twice as high in the end ---- */
	{ { "rows=3" }, cmd_show, "--show=irq,bench.level --per-package --format=csv", 0,
	  { "recording,run,time,duration_ns,scope,package,die,cluster,cache,node,core,cpu,device,task,cgroup,metric,value,unit,"
	    "status,coverage\n", ",1,2026-09-21T14:13:21.000000000Z,1000000000,system,,,,,,,,,,,bench.level,10,Cel,ok,1\n",
	    ",1,2026-09-21T14:13:21.000000000Z,1000000000,package,0,,,,,,,,,,irq,4000,1/s,ok,1\n",
	    ",1,2026-09-21T14:13:22.000000000Z,1000000000,system,,,,,,,,,,,bench.level,20,Cel,ok,1\n",
	    ",1,2026-09-21T14:13:22.000000000Z,1000000000,package,1,,,,,,,,,,irq,4000,1/s,ok,1\n" } },
	{ { "rows=5" }, cmd_show, "--show=irq -S --format=csv --every=2", 0, 
	  { ",1,2026-09-21T14:13:22.000000000Z,2000000000,system,,,,,,,,,,,irq,8000,1/s,ok,1\n",
	    ",1,2026-09-21T14:13:24.000000000Z,2000000000,system,,,,,,,,,,,irq,8000,1/s,ok,1\n" } },
	{ { "rows=5" }, cmd_show, "--show=irq,bench.level -S --format=csv --total", 0, 
	  { ",1,2026-09-21T14:13:24.000000000Z,4000000000,system,,,,,,,,,,,irq,8000,1/s,ok,1\n",
	    ",4000000000,system,,,,,,,,,,,bench.level,12.5,Cel,ok,1\n" } },
	{ { "rows=3", "runs=2" }, cmd_show, "--show=irq -S --format=csv --total", 0, 
	  { ",1,2026-09-21T14:13:22.000000000Z,2000000000,system,,,,,,,,,,,irq,8000,1/s,ok,1\n",
	    ",2,2026-09-21T14:13:25.000000000Z,2000000000,system,,,,,,,,,,,irq,8000,1/s,ok,1\n" } },
	{ { "rows=3", "runs=2" }, cmd_show, "--show=irq -S", 0, 
	  { "     UTC  Run  IRQ/s\n14:13:21    1   8000\n14:13:22    1   8000\n14:13:24    2   8000\n14:13:25    2   8000\n" } },
	{ { "rows=5" }, cmd_show, "--show=irq,bench.level -S --format=csv --layout=wide --since=1 --until=-1", 0, 
	  { ",task,cgroup,irq[1/s],bench.level[Cel]\n",
	    ",1,2026-09-21T14:13:22.000000000Z,1000000000,system,,,,,,,,,,,8000,10\n",
	    ",1,2026-09-21T14:13:23.000000000Z,1000000000,system,,,,,,,,,,,8000,10\n" } },
	{ { NULL }, cmd_show, "--show=k.* --per-cpu --format=csv", 0, 
	  { ",cpu,0,0,,0,0,0,0,,,,k.f,1.5,W,ok,1\n",
	    ",cpu,0,0,,0,0,0,0,,,,k.s,-1,Cel,ok,1\n",
	    ",cpu,0,0,,0,0,0,0,,,,k.c,20,1,ok,1\n",
	    ",cpu,0,0,,0,0,0,1,,,,k.f,nan,W,not-finite,1\n",
	    ",cpu,0,0,,0,0,0,1,,,,k.c,,1,missed,\n" } },
	{ { NULL }, cmd_show, "--show=l.n --per-cpu --format=csv", 0,
	  { ",cpu,0,0,,0,0,0,0,,,,l.n,1,1,ok,1\n", ",cpu,0,0,,0,0,0,1,,,,l.n,,1,no-permission,\n",
	    ",cpu,0,0,,0,0,1,2,,,,l.n,,1,missed,\n",
	    ": l.n of CPU 1: never read (no-permission), so sums with it are missing; pmrec doctor says which rights are needed\n",
	    ": l.n of CPU 2: never read (missed), so sums with it are missing; record at a longer interval\n" } },
	{ { NULL }, cmd_show, "--show=k.* --per-cpu", 0, 
	  { "     UTC  Package  Node  Core  CPU   k.f    k.s  k.c\n14:13:21        -     -     -    -   nan  -1.00    -\n14:13:21        0     0     0    0  1.50  -1.00   20\n14:13:21        0     0     0    1   nan  -1.00    -\n" } },
	{ { NULL }, cmd_show, "--show=k.c,k.t --per-cpu --format=json", 2, { "'k.t' has texts, no numbers; pmrep dump --counter prints them" } },
	/* Cut behind its last value: 3, and no value is lacking. */
	{ { "rows=3", "open=1" }, cmd_show, "--show=irq -S", 3,
	  { "     UTC  IRQ/s\n14:13:21   8000\n14:13:22   8000\n", ": at byte ", ": no end frame: the recorder was killed, or is still "
	    "running; nothing after 2026-09-21T14:13:22.000000000Z\n" } },
	{ { "rows=3", "package=1:1.5" }, cmd_show, "--show=irq --per-core -c 4-7 --format=csv", 0, 
	  { ",1000000000,core,1,0,,1,1,0,,,,,irq,3000,1/s,ok,1\n",
	    ",1000000000,core,1,0,,1,1,1,,,,,irq,3000,1/s,ok,1\n" } },
	{ { "rows=3" }, cmd_show, "--list", 0, 
	  { "NAME                           COLUMN           UNIT CATEGORIES         SHOWN HELP\nPackage                        Package          -    topology           yes   Where a row is; shown if it tells rows apart\n",
	    "\nirq                            IRQ/s            1/s  interrupts,other   yes   Interrupts per second, of all lines\n",
	    "\nbench.level                    bench.level      Cel  bench              yes   -\n" } },
	{ { "rows=3" }, cmd_show, "--show=irq --per-package --format=json", 0,
	  { "\"run\":1,\"time\":\"2026-09-21T14:13:22.000000000Z\",\"duration_ns\":1000000000,\"scope\":\"package\",\"package\":1,\"die\":null,"
	    "\"cluster\":null,\"cache\":null,\"node\":null,\"core\":null,\"cpu\":null,\"device\":null,\"task\":null,\"cgroup\":null,"
	    "\"metric\":\"irq\",\"value\":4000,\"unit\":\"1/s\",\"status\":\"ok\",\"coverage\":1}\n" } },
	{ { "rows=3" }, cmd_show, "--show=irq --per-package", 0,
	  { "     UTC  Package  IRQ/s\n14:13:21        -   8000\n14:13:21        0   4000\n14:13:21        1   4000\n" } },
	{ { "rows=3", "label=a=b c" }, cmd_show, "--show=irq,bench.level --format=openmetrics -S", 0,
	  { "# TYPE pmrep_irq gauge\npmrep_irq{", "label_a=\"b c\",scope=\"system\"} 8000 1790000001.000\n",
	    "metric=\"bench.level\"} 20 1790000002.000\n# EOF\n" } },
	/* Of turbostat's text the head is short unless said otherwise. */
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=turbostat", 0, { "turbostat version 20", "\nprocessor: vendor GenuineIntel" } },
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=turbostat --header=short", 0, { "turbostat version 20", "\nprocessor: vendor GenuineIntel" } },
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=turbostat --header=cpus", 0,
	  { "turbostat version 20", "\ncpu 6 pkg 1 die 0 node 1 lnode 0 core 1 thread 0\n", "\nprocessor: vendor GenuineIntel" } },
	/* One file that is not there keeps no other from being read. */
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=csv @ /none.pmr", 2, { ",irq,8000,1/s,ok,1\n", "/none.pmr: No such file" } },
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=csv /none.pmr @", 2, { ",irq,8000,1/s,ok,1\n", "/none.pmr: No such file" } },
	{ { "rows=3" }, cmd_show, "-D", 0, { "interrupts.total (cpu 7): 0\n" } },
	/* ---- html ---- */
	{ { "rows=21", "marker=10:go" }, cmd_html, "-o -", 0,
	  { "<dd title=\"8 CPUs, 4 cores, 2 packages, 2 nodes\">", "2026-09-21 14:13:20 UTC, 20.000 s in 20 intervals</dd>",
	    "data-metric=\"bench.level\">bench.level</button></h3><p class=big><b>10.50</b> <span class=unit>Cel</span></p>",
	    /* From the top to the bottom of 28 without 2 at each. */
	    " 2.0V26.0\"/></svg><p class=range>10.00 to 20.00</p>",
	    "data-from=10.000000 data-to=10.000000>+10.000 s</button></td><td>marker: go</td></tr>\n",
	    "</svg></td><td class=n>8000</td><td class=n>8000</td><td class=n>8000</td><td class=n>4000</td><td class=n>4000</td>"
	    "<td class=n>4000</td><td class=n>4000</td><td class=n>4000</td><td class=n>4000</td></tr>\n",
	    "<td class=n>10.50</td><td class=n>10.00</td><td class=n>20.00</td><td class=missing colspan=3>-</td><td class=missing "
	    "colspan=3>-</td></tr>\n",
	    "<code>stalled_cycles_per_instruction</code></th><td>system</td><td class=n>-</td><td class=n>-</td><td class=n>-</td>"
	    "<td class=unit></td><td class=n>0</td><td>20 missing: undefined</td></tr>\n",
	    "{\"label\":\"CPU 6\",\"place\":\"package 1, node 1, core 1\",\"kind\":\"cpu\",\"far\":true,\"package\":1,\"cpu\":6}",
	    "\"events\":[[10,10,\"marker\",-1,\"marker: go\"]],", "[3,0,10,20,10.5],[0,9,4000,4000,4000],[1,9,0.5,0.5,0.5]" } },
	/* What is not finite is not ok, and no number. */
	{ { NULL }, cmd_html, "--show=k.* -o -", 0,
	  { "<td>system</td><td class=n>-</td><td class=n>-</td><td class=n>-</td><td class=unit>W</td><td class=n>0</td><td>1 missing: "
	    "not-finite</td>" } },
	/* ---- incidents: three times as many from 570 s on ---- */
	{ { "rows=600", "noise=0.05", "step=570:3" }, cmd_incidents, "", 0,
	  { "WHEN              TIME (UTC)          WHAT\n+570 s to the end 2026-09-21 14:22:50 interrupts 24," } },
	{ { "rows=600", "noise=0.05", "step=570:3" }, cmd_incidents, "--format=json", 0,
	  { "{\"rank\":1,\"from\":\"2026-09-21T14:22:50.000000000Z\",\"to\":\"2026-09-21T14:23:19.000000000Z\",\"from_s\":570,"
	    "\"to_s\":599,\"score\":", "\"text\":\"+570 s to the end: interrupts 24,",
	    "\"series\":[{\"metric\":\"irq\",\"scope\":\"system\",\"package\":null,\"cpu\":null,\"device\":null,\"usual\":7",
	    "{\"metric\":\"irq\",\"scope\":\"package\",\"package\":1,\"cpu\":null,\"device\":null,\"usual\":3",
	    "{\"metric\":\"irq\",\"scope\":\"cpu\",\"package\":1,\"cpu\":7,\"device\":null,\"usual\":99", "],\"tasks\":[]}\n" } },
	{ { "rows=600", "noise=0.05" }, cmd_incidents, "", 0, { "Nothing stands out among 45 series over 599 s.\n" } },
	{ { "rows=600", "noise=0.05", "step=570:3" }, cmd_incidents, "--format=markdown --until=595", 0,
	  { "| WHEN | TIME (UTC) | WHAT |\n|---|---|---|\n| +570 s to the end | 2026-09-21 14:22:50 | interrupts 24," } },
	{ { "rows=20" }, cmd_incidents, "@ @", 0,
	  { ":\nNothing stands out among 45 series over 19 s.\ncaptured_", ":\nNothing stands out among 45 series over 19 s.\n" } },
	{ { "rows=5" }, cmd_incidents, "", 0, { "Nothing stands out among 45 series over 4.00 s.\n" } },
	/* ---- copies ---- */
	{ { "rows=21" }, cmd_cut, "--since=5 --until=9 --counter=bench.* -o @.out @", 0,
	  { "pmrep cut: 5 snapshots, 1 of 4 counters, ", ",2026-09-21T14:13:26.000000000Z,1000000000,system,,,,,,,,,,,bench.level,10,Cel,ok,1\n",
	    ",2026-09-21T14:13:29.000000000Z,1000000000,system,,,,,,,,,,,bench.level,10,Cel,ok,1\n" }, "--format=csv --show=all" },
	{ { "rows=21" }, cmd_cut, "--since=-3 -o @.out @", 0,
	  { "pmrep cut: 4 snapshots, 4 of 4 counters, ", "     UTC  IRQ/s\n14:13:38   8000\n14:13:39   8000\n14:13:40   8000\n" }, "--show=irq -S" },
	{ { "rows=21" }, cmd_cut, "--until=-17 -o @.out @", 0, { "pmrep cut: 4 snapshots, 4 of 4 counters, " } },
	{ { "rows=21" }, cmd_cut, "--every=10 -o @.out @", 0,
	  { "pmrep cut: 3 snapshots, ", "     UTC  IRQ/s\n14:13:30   8000\n14:13:40   8000\n" }, "--show=irq -S" },
	{ { "rows=3" }, cmd_cut, "--cpu=2-3 --sources=interrupts,perf -o @.out @", 0,
	  { "pmrep cut: 3 snapshots, 3 of 4 counters, ", ",system,,,,,,,,,,,irq,2000,1/s,ok,1\n" }, "--show=irq -S --format=csv" },
	{ { "rows=3" }, cmd_cut, "--sources=-perf,-bench -o @.out @", 0, { "pmrep cut: 3 snapshots, 1 of 4 counters, " } },
	{ { "rows=3" }, cmd_cut, "--sources=interrupts,bench,-bench -o @.out @", 0, { "pmrep cut: 3 snapshots, 1 of 4 counters, " } },
	{ { "rows=3" }, cmd_cut, "--sources=msr,bench --counter=nothing --counter=b*l -o @.out @", 0, { "pmrep cut: 3 snapshots, 1 of 4 counters, " } },
	{ { "rows=3" }, cmd_cut, "--sources=bench,perfs -o @.out @", 2, { "pmrep cut: the recording has no source 'perfs'; pmrep list " } },
	{ { "rows=3" }, cmd_cut, "--counter=nothing -o @.out @", 2, { "pmrep cut: no counter is left; pmrep list " } },
	{ { "rows=3" }, cmd_cut, "--cpu=8 -o @.out @", 2, { "pmrep cut: the recording has none of these CPUs\n" } },
	{ { "rows=9" }, cmd_cut, "--since=5 --until=3 -o @.out @", 2, { "pmrep cut: --until is before --since: nothing is left\n" } },
	{ { "rows=9" }, cmd_cut, "--since=9 -o @.out @", 2, { "pmrep cut: there is no snapshot in that time\n" } },
	{ { "rows=3" }, cmd_cut, "-o @.out @ @", 2, { "takes one recording; pmrep merge joins several" } },
	{ { "rows=3" }, cmd_cut, "@", 2, { "no output given; -o FILE names it, -o - is stdout" } },
	{ { "rows=3" }, cmd_cut, "-o @ --overwrite @", 2, { " is an input; name another file as the output\n" } },
	{ { "rows=3", "open=1" }, cmd_cut, "-o @.out @", 3, { ": damaged or cut; what is readable was copied, and gaps are marked\n" } },
	{ { "rows=3" }, cmd_merge, "-o @.out @", 0,
	  { "pmrep merge: 1 recording, 3 snapshots, 0 gaps, ", "14:13:21   8000\n14:13:22   8000\n" }, "--show=irq -S" },
	{ { "rows=9" }, cmd_merge, "--since=-3 -o @.out @", 0, { "pmrep merge: 1 recording, 4 snapshots, 0 gaps, " } },
	{ { "rows=9" }, cmd_merge, "--since=6 -o @.out @", 0, { "pmrep merge: 1 recording, 3 snapshots, 0 gaps, " } },
	{ { "rows=3" }, cmd_merge, "-o @.out @ @", 2, { " are the same recording\n" } },
	{ { "rows=3" }, cmd_repair, "-o @.out @", 0, { "pmrep repair: 3 snapshots, ", " bytes; nothing was damaged\n" } },
	{ { "rows=3", "host=alpha", "label=a=b c", "marker=1:go", "command=2" }, cmd_redact, "-o @.out @", 0,
	  { "pmrep redact: /tmp/captured_", ".out: 3 snapshots\n", "14:13:21   8000\n14:13:22   8000\n" }, "--show=irq -S" },
	/* ---- eval ---- */
	{ { NULL }, cmd_eval, "1+2*x x=4", 0, { "9\n" } },
	{ { NULL }, cmd_eval, "x/y x=1 y=0", 0, { "nan\n" } },
	{ { NULL }, cmd_eval, "x+1 x=NaN", 0, { "nan\n" } },
	{ { NULL }, cmd_eval, "bits(x,63,60) x=0xf000000000000001", 0, { "15\n" } },
	{ { NULL }, cmd_eval, "first(x)+last(x) first(x)=2 last(x)=-5", 0, { "-3\n" } },
	{ { NULL }, cmd_eval, "has_event(x)", 0, { "0\n" } },
	{ { NULL }, cmd_eval, "x+y x=1", 2, { "pmrep eval: no value for y; give y=VALUE\n" } },
	{ { NULL }, cmd_eval, "max_of(x)", 2, { "pmrep eval: no value for max_of(x); give max_of(x)=VALUE\n" } },
	{ { NULL }, cmd_eval, "#smt_on", 2, { "pmrep eval: no value for #smt_on; give #smt_on=VALUE\n" } },
	{ { NULL }, cmd_eval, "x x", 2, { "pmrep eval: 'x' is not of the form ID=VALUE\n" } },
	{ { NULL }, cmd_eval, "x =1", 2, { "pmrep eval: '=1' is not of the form ID=VALUE\n" } },
	{ { NULL }, cmd_eval, "x x=1x", 2, { "pmrep eval: x=1x: '1x' is not a number\n" } },
	{ { NULL }, cmd_eval, "x x+y=1", 2, { "pmrep eval: 'x+y' is not a single ID\n" } },
	/* ---- plot ---- */
	{ { "rows=21" }, cmd_plot, "irq --ascii --width=40 --height=4 @", 0, { "IRQ/s: min 8000, mean 8000, max 8000 1/s\n" } },
	{ { "rows=21" }, cmd_plot, "bench.level irq @ --until=15 --ascii --width=40 --height=4", 0,
	  { "IRQ/s: min 8000, mean 8000, max 8000 1/s\n", "bench.level: min 10.00, mean 10.00, max 10.00 Cel\n" } },
	{ { "rows=21" }, cmd_plot, "@", 2, { "no metric given; pmrep list metrics /tmp/captured_" } },
	{ { "rows=21" }, cmd_plot, "util", 2, { "no recording given: pmrep plot util FILE\n" } },
	{ { "rows=21" }, cmd_plot, "irq --since=90 @", 0, { "nothing to draw: " } },
	/* ---- more of show ---- */
	{ { "rows=9" }, cmd_show, "--show=irq --per-cgroup", 0, { ": no cgroup was recorded; pmrep list instances shows what was\n" } },
	{ { "rows=9" }, cmd_show, "--show=irq --per-package --quiet --since=90", 0, { ": nothing to show: " } },
	{ { "rows=3" }, cmd_show, "--show=irq -S --format=csv @ @", 0, { "8000,1/s,ok,1\ncaptured_" } },
	{ { "rows=3" }, cmd_show, "--show=CPU,Package", 0, { "Package  CPU\n" } },
	{ { "rows=3" }, cmd_show, "--show=irq -S --out=@.out --format=csv --output-dir=/tmp @", 2, { "give only one of them\n" } },
	/* ---- more of list ---- */
	{ { "rows=3" }, cmd_list, "counter x @", 2, { "'counter' cannot be listed; did you mean 'counters'?; --help says what can\n" } },
	{ { "rows=3" }, cmd_list, "events", 2, { "events of which recording? pmrep list events FILE; without FILE only metrics are listed\n" } },
	{ { "rows=3" }, cmd_list, "metrics irq --format=json", 0,
	  { "{\"metric\":\"irq\",\"column\":\"IRQ/s\",\"unit\":\"1/s\",\"scope\":\"cpu\",", "\"default\":\"yes\"}\n" } },
	{ { "rows=3", "open=1" }, cmd_list, "instances", 3, { ": damaged or cut; pmrep check says where\n" } },
	/* ---- more of eval: what x says of the rest, unless that is given, too ---- */
	{ { NULL }, cmd_eval, "first(x)+last(x)+mean(x)+max_of(x) x=3", 0, { "12\n" } },
	{ { NULL }, cmd_eval, "has_event(x)+source_count(x)+aggr_nr(x) x=7", 0, { "3\n" } },
	{ { NULL }, cmd_eval, "first(x) first(x)=2 x=9", 0, { "2\n" } },
	{ { NULL }, cmd_eval, "first(x) x=9 first(x)=2", 0, { "2\n" } },
	{ { NULL }, cmd_eval, "max_of(x) max_of(x)=1 x=nan", 0, { "1\n" } },
	{ { NULL }, cmd_eval, "mean(x) mean(y)=1 mean(x)=4", 0, { "4\n" } },
	{ { NULL }, cmd_eval, "x y=1 x=1.5e3", 0, { "1500\n" } },
	{ { NULL }, cmd_eval, "#smt_on+1 #smt_on=1", 0, { "2\n" } },
	{ { NULL }, cmd_eval, "first(x) last(x)=1", 2, { "no value for first(x); give first(x)=VALUE\n" } },
	{ { NULL }, cmd_eval, "elapsed(x) x=1", 2, { "no value for elapsed(x); give elapsed(x)=VALUE\n" } },
	{ { NULL }, cmd_eval, "source_count(x)", 2, { "no value for source_count(x); give source_count(x)=VALUE\n" } },
	{ { NULL }, cmd_eval, "x+", 2, { "column 3: the expression ends where a value is expected\n" } },
	{ { NULL }, cmd_eval, "x x=", 2, { "x=: '' is not a number\n" } },
	/* ---- more words of show ---- */
	{ { "rows=3" }, cmd_show, "--show=irq -S --header_iterations=1", 0,
	  { "     UTC  IRQ/s\n14:13:21   8000\n     UTC  IRQ/s\n14:13:22   8000\n" } },
	{ { "rows=3" }, cmd_show, "--header_iterations=4294967296", 2, { "'4294967296' is not a number of intervals\n" } },
	{ { "rows=3" }, cmd_show, "--header_iterations=x", 2, { "'x' is not a number of intervals\n" } },
	{ { "rows=3" }, cmd_show, "--format=turbostat --show=irq", 0, { "turbostat version 2022" } },
	{ { "rows=3" }, cmd_show, "--columns=nothing --format=csv", 2, { "--columns: there is no column 'nothing'" } },
	{ { "rows=3" }, cmd_show, "--header=all", 2, { "--header does not take 'all'; use short, full or cpus\n" } },
	{ { "rows=3" }, cmd_show, "--hide=irq,util --show=irq,bench.level -S --format=csv", 0, { ",bench.level,20,Cel,ok,1\n" } },
	{ { "rows=3" }, cmd_show, "--show=irk", 2, { "no column is named 'irk'; did you mean 'irq'?" } },
	/* ---- check ---- */
	{ { "rows=3" }, cmd_check, "--format=json", 0,
	  { "\"good\":true,\"ended\":true,\"being_written\":false,\"bytes\":", "\"chunks\":1,\"snapshots\":3,\"values\":75,"
	    "\"recordings\":1,\"lost_ticks\":0,\"newer\":[],\"damage\":[]}\n" } },
	{ { "rows=3", "open=1" }, cmd_check, "--quiet --format=json", 1, { "\"good\":false,\"ended\":false," } },
	{ { "rows=3", "open=1" }, cmd_check, "--quiet @ @", 1, { ": cut: " } },
	{ { "rows=3" }, cmd_dump, "--counter=none*", 2, { ": no counter is named 'none*'; pmrep list names them\n" } },
	{ { "rows=3" }, cmd_dump, "@ @", 2, { "one recording at a time; try --help\n" } },
	/* ---- the program ---- */
	{ { NULL }, pmrep_run, "eval 1+1", 0, { "2\n" } },
	{ { NULL }, pmrep_run, "list metrics --format=json insn*", 0, { "{\"metric\":\"insn_per_cycle\",\"column\":\"IPC\"," } },
	{ { NULL }, pmrep_run, "evul 1+1", 2, { "'evul' is neither a command nor a file; did you mean 'eval'?\n" } },
	{ { NULL }, pmrep_run, "zzzzzzzz", 2, { "'zzzzzzzz' is neither a command nor a file; pmrep --help lists the commands\n" } },
	{ { NULL }, pmrep_run, "zz.pmr", 2, { "zz.pmr: No such file" } },
	{ { NULL }, pmrep_run, "zz/y", 2, { "zz/y: No such file" } },
	{ { NULL }, pmrep_run, "--help", 0, { "Usage: pmrep [COMMAND] [OPTION...] FILE...\n", "\n  eval      the value of a metric expression\n" } },
	{ { NULL }, pmrep_run, "-h", 0, { "Usage: pmrep [COMMAND]" } },
	{ { NULL }, pmrep_run, "-help", 0, { "Usage: pmrep [COMMAND]" } },
	{ { "rows=3" }, pmrep_run, "@ -S --show=irq", 0, { "14:13:22   8000\n" } },
	{ { "rows=3" }, pmrep_run, "-S --show=irq @", 0, { "14:13:22   8000\n" } },
};
/* clang-format on */

/* Words of a command, of which none need be a recording. */
static void put_words(struct buf *line, const char *words, const char *path, bool path_too)
{
	buf_clear(line);
	for (const char *c = words; *c; c++)
		if (*c == '@')
			buf_addstr(line, path);
		else
			buf_addch(line, *c);
	if (path_too && !strchr(words, '@'))
		buf_printf(line, "%s%s", *words ? " " : "", path);
}

static bool reads_none(const char *words, int (*command)(int argc, char **argv))
{
	return command == cmd_eval || command == pmrep_run || !strcmp(words, "util") || !strcmp(words, "events");
}

static void lines(void **state)
{
	static struct captured c, then;
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf line = BUF_INIT;
		struct builder b;
		char path[64], written[80];
		size_t n = 0, missing = 0;

		while (n < KEYS && cases[i].keys[n])
			n++;
		if (n)
			assert_true(diff_world(&b, n, (char *const *)cases[i].keys));
		else
			kinds_world(&b);
		captured_file(path, &b.file);
		snprintf(written, sizeof(written), "%s.out", path);
		put_words(&line, cases[i].words, path, !reads_none(cases[i].words, cases[i].command));
		captured_run(&c, cases[i].command, buf_str(&line));
		*then.out = *then.err = '\0';
		if (cases[i].then) {
			put_words(&line, cases[i].then, written, true);
			captured_run(&then, cmd_show, buf_str(&line));
		}
		for (size_t k = 0; k < sizeof(cases[i].parts) / sizeof(*cases[i].parts) && cases[i].parts[k]; k++)
			if (!strstr(c.out, cases[i].parts[k]) && !strstr(c.err, cases[i].parts[k]) &&
			    !strstr(then.out, cases[i].parts[k]) && ++missing)
				fprintf(stderr, "missing: %s\n", cases[i].parts[k]);
		/* What failed leaves no file. */
		missing += strstr(cases[i].words, "@.out") && (access(written, F_OK) == 0) != (c.status != 2);
		if (missing || c.status != cases[i].status || !*cases[i].parts[0]) {
			fprintf(stderr, "%s: %d\n%s%s%s%s", cases[i].words, c.status, c.out, c.err, then.out,
				then.err);
			bad++;
		}
		unlink(written);
		captured_remove(path);
		buf_release(&line);
		builder_release(&b);
	}
	assert_int_equal(bad, 0);
}

/* ---- two recordings ---- */

#define SIDES 2

/* What is left of each by pmrep cut goes into one: from 3 s to 4 s of the first, and that of the second. */
static const struct {
	const char *keys[SIDES][KEYS];
	const char *of_second; /* words of cut */
	int status;
	const char *said;
	const char *shown; /* by pmrep show --show=irq -S --format=csv, the last line */
} merges[] = {
	{ { { "boot_id=one", "host=a" }, { "boot_id=one", "host=a", "seed=2" } },
	  "--since=7",
	  0,
	  "2 recordings, 16 snapshots, 1 gap, ",
	  "irq,8000,1/s,ok,1" },
	{ { { NULL }, { "seed=2" } }, "--since=6", 0, "2 recordings, 17 snapshots, 1 gap, ", "irq,8000,1/s,ok,1" },
	/* One begins with the snapshot that ends the other. */
	{ { { NULL }, { "seed=2" } }, "--since=4", 0, "2 recordings, 18 snapshots, 0 gaps, ", "irq,8000,1/s,ok,1" },
	{ { { "boot_id=one" }, { "boot_id=one", "seed=2" } },
	  "--since=3",
	  2,
	  " overlap in time: they are not consecutive\n",
	  NULL },
	{ { { "boot_id=one" }, { "boot_id=two", "seed=2" } }, "--since=7", 2, " are of different boots\n", NULL },
	{ { { "host=a" }, { "host=b", "seed=2" } }, "--since=7", 2, " are of different machines\n", NULL },
	{ { { NULL }, { "wall=60", "seed=2" } }, "--since=7", 0, "2 recordings, 16 snapshots, 1 gap, ", NULL },
	{ { { NULL }, { "wall=61", "seed=2" } }, "--since=7", 2, "cannot tell whether ", NULL },
	{ { { "boot_id=one" }, { "wall=61", "seed=2" } }, "--since=7", 2, "cannot tell whether ", NULL },
	/* Two cuts of one recording. */
	{ { { NULL }, { NULL } }, "--since=7", 0, "2 recordings, 16 snapshots, 1 gap, ", NULL },
};

static void merged(void **state)
{
	static struct captured c;
	char path[SIDES][64], part[SIDES][80], out[80], line[512];

	(void)state;
	for (size_t i = 0; i < sizeof(merges) / sizeof(*merges); i++) {
		for (int side = 0; side < SIDES; side++) {
			struct builder b;
			size_t n = 0;

			while (n < KEYS && merges[i].keys[side][n])
				n++;
			assert_true(diff_world(&b, n, (char *const *)merges[i].keys[side]));
			captured_file(path[side], &b.file);
			builder_release(&b);
			snprintf(part[side], sizeof(part[side]), "%s.part", path[side]);
			snprintf(line, sizeof(line), "%s -o %s %s",
				 side ? merges[i].of_second : "--since=3 --until=4", part[side], path[side]);
			captured_run(&c, cmd_cut, line);
			assert_int_equal(c.status, 0);
		}
		snprintf(out, sizeof(out), "%s.out", path[0]);
		snprintf(line, sizeof(line), "-o %s %s %s", out, part[1], part[0]);
		captured_run(&c, cmd_merge, line);
		if (c.status != merges[i].status || !strstr(c.err, merges[i].said))
			fail_msg("%zu: %d %s", i, c.status, c.err);
		snprintf(line, sizeof(line), "--show=irq -S --format=csv %s", out);
		if (merges[i].shown) {
			captured_run(&c, cmd_show, line);
			assert_non_null(strstr(c.out, merges[i].shown));
		}
		unlink(out);
		for (int side = 0; side < SIDES; side++) {
			captured_remove(part[side]);
			captured_remove(path[side]);
		}
	}
}

/* Into a file each: what cannot be read is said, and the rest is written. */
static void each(void **state)
{
	static struct captured c;
	char folder[] = "/tmp/each_XXXXXX", path[64], made[128], line[256];
	struct builder b;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_true(diff_world(&b, 1, (char *[]){ (char *)"rows=3" }));
	captured_file(path, &b.file);
	builder_release(&b);
	snprintf(made, sizeof(made), "%s/%s.csv", folder, strrchr(path, '/') + 1);
	for (int first = 0; first < 2; first++) {
		snprintf(line, sizeof(line), "--show=irq -S --format=csv --output-dir=%s %s %s", folder,
			 first ? path : "/none.pmr", first ? "/none.pmr" : path);
		captured_run(&c, cmd_show, line);
		if (c.status != 2 || !strstr(c.err, "/none.pmr: No such file"))
			fail_msg("%s: %d %s", line, c.status, c.err);
		if (unlink(made))
			fail_msg("%s was not made", made);
	}
	captured_remove(path);
	assert_int_equal(rmdir(folder), 0);
}

/* Without a word. */
static int alone(int argc, char **argv)
{
	(void)argc;
	return pmrep_run(1, argv);
}

/* pmrep alone shows what was written last here: no hidden file, no folder, nothing of another name. */
static void newest(void **state)
{
	static const struct {
		const char *name;
		int64_t second; /* of its last change */
	} files[] = {
		{ "old.pmr", 100 }, { "new.pmr", 300 }, { "mid.pmr", 200 }, { "x.pmr.gz", 900 }, { ".pmr", 900 }
	};
	static struct captured c;
	char folder[] = "/tmp/test_lines_XXXXXX";
	const char *words = "";
	struct builder b;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	captured_run(&c, alone, words);
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(c.err, "no recording given, and none (*.pmr) in this folder\n"));
	assert_true(diff_world(&b, 1, (char *[]){ (char *)"rows=3" }));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct timespec times[2] = { { .tv_sec = files[i].second }, { .tv_sec = files[i].second } };
		FILE *f = fopen(files[i].name, "wb");

		assert_true(f && fwrite(b.file.data, 1, b.file.len, f) == b.file.len && !fclose(f));
		assert_int_equal(utimensat(AT_FDCWD, files[i].name, times, 0), 0);
	}
	builder_release(&b);
	assert_int_equal(mkdir("folder.pmr", 0700), 0);
	captured_run(&c, alone, words);
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.err, "showing the newest recording here, new.pmr; "));
	assert_non_null(strstr(c.out, "  8000"));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		captured_remove(files[i].name);
	assert_int_equal(rmdir("folder.pmr") | chdir("/") | rmdir(folder), 0);
}

UNIT_TESTS(cmocka_unit_test(lines), cmocka_unit_test(merged), cmocka_unit_test(newest), cmocka_unit_test(each))
