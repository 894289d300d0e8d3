/* What pmrep diff prints of recordings with known truth (lib/diff_world.h), whose runs do not vary: ratios are exact, and
 * p is the share of orders of four and four that are as clear one way, 1 of 70. */
#include "report/cmd.h"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/diff_world.h"
#include "tests/unit/lib/test.h"

/* clang-format off */
#define FACTS 20

/* Four runs of each: a1.pmr to a4.pmr, and so on. Interrupts are 1000 a second of each of 8 CPUs. */
static const struct {
	char name;
	const char *keys[FACTS];
} worlds[] = {
	{ 'a', { NULL } },
	{ 'b', { "rate=1100" } },
	{ 'p', { "package=1:1.5" } },
	{ 'i', { "ipc=0.4" } },
	{ 'c', { "command=10" } },
	{ 'd', { "command=12", "kernel=6.2" } },
	{ 'k', { "cpu_model=Other", "rate=1100" } },
	{ 'l', { "boot_id=one" } },
	{ 'm', { "boot_id=two", "rate=1100" } },
	{ 'r', { "rows=11", "runs=2", "open=1" } },
	{ 'u', { "unit=By", "name=bench.x" } },
	{ 'v', { "unit=s", "name=bench.x" } },
	{ 'x', { "cpu_id=A-6", "microcode=0x1", "smt=on", "hypervisor=kvm", "memory=2147483648", "bios=1.0", "kernel=6.1",
		 "os=Debian 12", "nmi_watchdog=0", "tool=pmrec 1", "config=cpufreq.scaling_governor:0:powersave",
		 "config=cpufreq.scaling_governor:1:performance", "config=cpufreq.scaling_governor:2:powersave",
		 "config=cpufreq.scaling_governor:3", "config=cpufreq.scaling_driver:0:acpi" } },
	{ 'y', { "cpu_id=A-7", "microcode=0x2", "smt=off", "hypervisor=xen", "memory=3221225472", "bios=1.1", "kernel=6.2",
		 "os=Debian 13", "nmi_watchdog=1", "tool=pmrec 2", "config=cpufreq.scaling_governor:0:powersave",
		 "config=cpufreq.scaling_driver:0:intel" } },
	{ 'z', { "arch=arm64", "emulated=1", "target=cpu" } },
};

#define SIDES(a, b)   "--base " a "1.pmr " a "2.pmr " a "3.pmr " a "4.pmr --new " b "1.pmr " b "2.pmr " b "3.pmr " b "4.pmr"
#define HEAD          "base: 4 runs of 4 recordings; new: 4 runs of 4 recordings\n\n"
#define ALONE         "base: 1 run of 1 recording; new: 1 run of 1 recording\n\n"
#define ROW(line)     line " 4+4 REGRESSED 1111 8888 -\n"
#define CSV           "metric,scope,place,unit,better,gated,verdict,base,new,ratio,low,high,p,q,p_permutation,n_base,n_new," \
		      "margin,run_sd,runs_needed,why,runs\n"

static const struct {
	const char *words;
	int status;
	const char *out;  /* all of it; NULL: parts */
	const char *part; /* of it, or of what went to standard error */
} cases[] = {
	{ SIDES("a", "b") " --gate irq", 1,
	  HEAD
	  "METRIC PLACE               BASE  NEW UNIT  RATIO 95 % INTERVAL      P     Q   N VERDICT   RUNS      WHY\n"
	  ROW("irq    system              8000 8800 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    package 0           4000 4400 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    package 1           4000 4400 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    core 0 of package 0 2000 2200 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    core 0 of package 1 2000 2200 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    core 1 of package 0 2000 2200 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  ROW("irq    core 1 of package 1 2000 2200 1/s  1.1000 1.1000..1.1000 0.014 0.014")
	  "\n1 REGRESSED: the gate fails\n" },
	/* Half as much again in one package, and one of two packages has p of 1 / 70, which is q of 2 / 70. */
	{ SIDES("a", "p") " --show=irq", 1,
	  HEAD
	  "METRIC PLACE               BASE   NEW UNIT  RATIO 95 % INTERVAL      P     Q   N VERDICT   RUNS      WHY\n"
	  ROW("irq    system              8000 10000 1/s  1.2500 1.2500..1.2500 0.014 0.014")
	  ROW("irq    package 1           4000  6000 1/s  1.5000 1.5000..1.5000 0.014 0.029")
	  ROW("irq    core 0 of package 1 2000  3000 1/s  1.5000 1.5000..1.5000 0.014 0.014")
	  ROW("irq    core 1 of package 1 2000  3000 1/s  1.5000 1.5000..1.5000 0.014 0.014")
	  "\nSAME: irq of package 0\n1 REGRESSED: regressed\n" },
	{ SIDES("p", "a") " --show=irq", 0, NULL, "1 IMPROVED: no regression\n" },
	{ SIDES("a", "b") " --gate irq --per-cpu", 1, NULL,
	  "irq    CPU 7  1000 1100 1/s  1.1000 1.1000..1.1000 0.014 0.014 4+4 REGRESSED 1111 8888 -\n\n9 REGRESSED: the gate fails" },
	{ SIDES("a", "i") " --show=ipc --per-package", 1, NULL,
	  "insn_per_cycle package 1  0.5 0.4 1    0.8000 0.8000..0.8000 0.014 0.014 4+4 REGRESSED 8888 1111 -\n" },
	{ SIDES("i", "a") " --show=ipc", 0, NULL, "insn_per_cycle system               0.4 0.5 1    1.2500" },
	{ SIDES("a", "b") " --gate irq --alpha=0.0167", 1, NULL, " RATIO 98.3 % INTERVAL " },
	{ SIDES("a", "b") " --gate irq --alpha=1% --format=markdown", 4, NULL, "| RATIO | 99 % INTERVAL |" },
	{ SIDES("a", "b") " --show=irq --margin=20%", 0, HEAD "SAME: irq\n1 SAME: no regression\n" },
	{ SIDES("a", "b") " --gate irq:20%", 0, NULL, "irq    8000 8800 1/s  1.1000 1.1000..1.1000 0.014 0.014 4+4 SAME" },
	{ SIDES("a", "b") " --pairs --gate irq", 1, NULL, "1.1000 1.1000..1.1000 0 0 4+4 REGRESSED 1111 8888 -\n" },
	/* Three gates by default, of which two are slower: 3 / 2 of 1 / 70; the rest is judged for itself, 4 of them. */
	{ SIDES("c", "d"), 1,
	  HEAD
	  "DIFFERS BASE     NEW\nkernel  unknown  6.2\n\n"
	  "METRIC          BASE NEW UNIT  RATIO 95 % INTERVAL      P     Q   N VERDICT      RUNS      WHY\n"
	  "command.elapsed   10  12 s    1.2000 1.2000..1.2000 0.014 0.021 4+4 REGRESSED    1111 8888 -\n"
	  "command.cpu        5   6 s    1.2000 1.2000..1.2000 0.014 0.021 4+4 REGRESSED    1111 8888 -\n"
	  "command.user       5   6 s    1.2000 1.2000..1.2000 0.014 0.057 4+4 INCONCLUSIVE 1111 8888 significant alone, but "
	  "not among all judged metrics: use more runs, or --gate\n"
	  "\nSAME: command.system, command.max_rss, irq, insn_per_cycle, interrupts.total, bench.level\n"
	  "2 REGRESSED, 4 SAME, 1 INCONCLUSIVE of the 7 with a better direction: regressed\n" },
	{ SIDES("c", "d") " --format=markdown --gate elapsed", 1,
	  "### pmrep diff: regressed\n\nbase: 4 runs of 4 recordings; new: 4 runs of 4 recordings\n\n"
	  "| DIFFERS | BASE | NEW |\n|---|---|---|\n| kernel | unknown | 6.2 |\n\n"
	  "| METRIC | BASE | NEW | UNIT | RATIO | 95 % INTERVAL | P | Q | N | VERDICT | RUNS | WHY |\n"
	  "|---|--:|--:|---|--:|---|--:|--:|--:|---|---|---|\n"
	  "| command.elapsed | 10 | 12 | s | 1.2000 | 1.2000..1.2000 | 0.014 | 0.014 | 4+4 | REGRESSED | "
	  "▁▁▁▁ ████ | - |\n\n1 REGRESSED: the gate fails\n" },
	{ "a1.pmr b1.pmr --gate irq --format=json", 4, NULL,
	  "{\n  \"base\": [\n    {\n      \"recording\": \"a1.pmr\",\n      \"runs\": 1,\n      \"snapshots\": 21,\n"
	  "      \"lost_ticks\": 0,\n" },
	{ SIDES("l", "m") " --gate irq --format=json", 4, NULL,
	  "\"order\": null,\n  \"boots\": {\n    \"base\": 1,\n    \"new\": 1,\n    \"shared\": 0\n  },\n" },
	/* All that a result has, of runs without any difference: there is no order of them to be clearer. */
	{ SIDES("c", "d") " --show=bench.level,ipc,irq --format=json", 0, NULL,
	  "  ],\n"
	  "  \"order\": null,\n"
	  "  \"boots\": {\n"
	  "    \"base\": 0,\n"
	  "    \"new\": 0,\n"
	  "    \"shared\": 0\n"
	  "  },\n"
	  "  \"differences\": [\n"
	  "    {\n"
	  "      \"what\": \"kernel\",\n"
	  "      \"base\": \"unknown\",\n"
	  "      \"new\": \"6.2\",\n"
	  "      \"meaningless\": false\n"
	  "    }\n"
	  "  ],\n"
	  "  \"failures\": null,\n"
	  "  \"results\": [\n"
	  "    {\n"
	  "      \"metric\": \"irq\",\n"
	  "      \"scope\": \"system\",\n"
	  "      \"place\": \"\",\n"
	  "      \"unit\": \"1/s\",\n"
	  "      \"better\": \"lower\",\n"
	  "      \"gated\": false,\n"
	  "      \"explained_by_run_sd\": 0,\n"
	  "      \"verdict\": \"SAME\",\n"
	  "      \"base\": 8000,\n"
	  "      \"new\": 8000,\n"
	  "      \"ratio\": 1,\n"
	  "      \"low\": 1,\n"
	  "      \"high\": 1,\n"
	  "      \"p\": 1,\n"
	  "      \"q\": 1,\n"
	  "      \"p_permutation\": null,\n"
	  "      \"n_base\": 4,\n"
	  "      \"n_new\": 4,\n"
	  "      \"margin\": 0.02,\n"
	  "      \"run_sd\": null,\n"
	  "      \"logarithmic\": true,\n"
	  "      \"runs_needed\": null,\n"
	  "      \"why\": \"\",\n"
	  "      \"base_runs\": [\n"
	  "        8000,\n"
	  "        8000,\n"
	  "        8000,\n"
	  "        8000\n"
	  "      ],\n"
	  "      \"new_runs\": [\n"
	  "        8000,\n"
	  "        8000,\n"
	  "        8000,\n"
	  "        8000\n"
	  "      ]\n"
	  "    },\n"
	  "    {\n"
	  "      \"metric\": \"insn_per_cycle\",\n"
	  "      \"scope\": \"system\",\n"
	  "      \"place\": \"\",\n"
	  "      \"unit\": \"1\",\n"
	  "      \"better\": \"higher\",\n" },
	{ SIDES("c", "d") " --show=bench.level --format=json", 4, NULL,
	  "      \"metric\": \"bench.level\",\n"
	  "      \"scope\": \"system\",\n"
	  "      \"place\": \"\",\n"
	  "      \"unit\": \"Cel\",\n"
	  "      \"better\": null,\n" },
	{ SIDES("a", "p") " --gate irq --per-package --format=json", 1, NULL,
	  "      \"metric\": \"irq\",\n"
	  "      \"scope\": \"package\",\n"
	  "      \"place\": \"package 1\",\n"
	  "      \"unit\": \"1/s\",\n"
	  "      \"better\": \"lower\",\n"
	  "      \"gated\": true,\n" },
	{ "a1.pmr b1.pmr --gate irq --format=json", 4, NULL,
	  "      \"runs_needed\": 4,\n"
	  "      \"why\": \"how much runs vary is unknown: record four or more per side, or give --assume-run-sd\",\n" },
	{ "a1.pmr r1.pmr --gate irq --format=json", 3, NULL,
	  "  \"new\": [\n"
	  "    {\n"
	  "      \"recording\": \"r1.pmr\",\n"
	  "      \"runs\": 2,\n"
	  "      \"snapshots\": 22,\n"
	  "      \"lost_ticks\": 0,\n"
	  "      \"doubtful\": 0,\n"
	  "      \"damaged\": false,\n"
	  "      \"cut\": true\n"
	  "    }\n"
	  "  ],\n" },
	{ SIDES("a", "k") " --force --gate irq --format=json", 1, NULL, "\"new\": \"Other\",\n      \"meaningless\": true\n" },
	{ "--base l1.pmr l2.pmr m1.pmr m2.pmr --new l3.pmr l4.pmr m3.pmr m4.pmr --gate irq", 0, NULL,
	  "Boots: 2 of the base, 2 of the new side; their effects on both sides are removed.\n" },
	{ SIDES("a", "a") " --gate irq", 2, NULL, "on both sides" },
	{ "--base a1.pmr a1.pmr --new b1.pmr", 2, NULL, "twice on one side" },
	{ SIDES("a", "i") " --gate irq,ipc --format=csv", 1, NULL,
	  CSV "insn_per_cycle,system,,1,higher,yes,REGRESSED,0.5,0.4" },
	{ SIDES("a", "i") " --gate irq,ipc --format=csv", 1, NULL,
	  "\nirq,system,,1/s,lower,yes,SAME,8000,8000,1,1,1,1,1,,4,4,0.02,,,,8000 8000 8000 8000 | 8000 8000 8000 8000\n" },
	/* One run a side: the interval is that of its 20 samples, and the rest is what runs are assumed to do. */
	{ "a1.pmr b1.pmr --gate irq", 4,
	  ALONE "METRIC BASE  NEW UNIT  RATIO 95 % INTERVAL  P Q   N VERDICT      RUNS WHY\n"
	  "irq    8000 8800 1/s  1.1000 1.1000..1.1000 0 0 1+1 INCONCLUSIVE 1 8  how much runs vary is unknown: record four or more per side, or give "
	  "--assume-run-sd\n\n"
	  "1 INCONCLUSIVE: undecided: irq; about 4 runs per side would decide\n" },
	/* 1.1 times or by exp(1.96 x 1 % x the root of 2) */
	{ "a1.pmr b1.pmr --gate irq --assume-run-sd=1%", 1, NULL, "1.1000 1.0699..1.1309 1.6e-11" },
	/* 1.5 times: by chance only if runs vary by 1.5 ^ (1 / (1.96 x root 2)) - 1. */
	{ "a1.pmr p1.pmr --show=irq --per-package", 4, NULL, "CHANGED 1 8  chance only if runs vary by more than 15.8 %" },
	{ "l1.pmr m1.pmr --gate irq", 4, NULL, "1 INCONCLUSIVE: undecided: irq; about 4 runs per side would decide\n" },
	{ SIDES("l", "m") " --gate irq", 4,
	  "base: 4 runs of 4 recordings; new: 4 runs of 4 recordings\n"
	  "Boots: 1 of the base, 1 of the new side; each counts as one run, because boots differ.\n\n"
	  "METRIC BASE  NEW UNIT  RATIO 95 % INTERVAL P Q   N VERDICT      RUNS      WHY\n"
	  "irq    8000 8800 1/s  1.1000 -             - - 1+1 INCONCLUSIVE 1111 8888 a boot counts as one run: four or more per side, "
	  "or both sides in each\n\n"
	  "1 INCONCLUSIVE: undecided: irq; about 4 boots per side would decide\n" },
	{ "r1.pmr r2.pmr --gate irq", 3, NULL, "base: 2 runs of 1 recording; new: 2 runs of 1 recording" },
	{ "r1.pmr r2.pmr --gate irq", 3, NULL, "r1.pmr: cut: its end is missing" },
	{ SIDES("a", "k"), 2, "", "CPU model differs: unknown and Other" },
	{ SIDES("a", "z"), 2, "", "architecture differs: x86_64 and arm64\npmrep diff: emulated differs: unknown and yes\n"
	  "pmrep diff: what was recorded differs: system and cpu\n" },
	{ "x1.pmr y1.pmr --gate irq", 4, NULL,
	  "DIFFERS            BASE                   NEW\n"
	  "CPU identification A-6                    A-7\n"
	  "microcode          0x1                    0x2\n"
	  "SMT                on                     off\n"
	  "hypervisor         kvm                    xen\n"
	  "memory             2 GiB                  3 GiB\n"
	  "BIOS               1.0                    1.1\n"
	  "kernel             6.1                    6.2\n"
	  "operating system   Debian 12              Debian 13\n"
	  "governor           performance,powersave  powersave\n"
	  "frequency driver   acpi                   intel\n"
	  "NMI watchdog       0                      1\n"
	  "recorded by        pmrec 1                pmrec 2\n" },
	{ SIDES("a", "k") " --force --gate irq", 1, NULL, "DIFFERS   BASE     NEW\nCPU model unknown  Other\n" },
	{ SIDES("u", "v") " --show=bench.x", 2, "", "bench.x is in 'By/s' in some recordings and in 's/s' in others" },
	{ "a1.pmr b1.pmr --gate irk", 2, "", "--gate: no recording has 'irk'; did you mean 'irq'?" },
	{ "a1.pmr b1.pmr --show=utli", 2, "", "--show: no recording has 'utli'; did you mean 'util'?" },
	{ "a1.pmr", 2, "", "diff takes two recordings" },
	{ "a1.pmr b1.pmr --margin=x", 2, "", "--margin: 'x' is not a" },
};
/* clang-format on */

static char folder[] = "/tmp/test_diff_lines_XXXXXX";

static void name_of(char out[16], char name, int run)
{
	snprintf(out, 16, "%c%d.pmr", name, run);
}

static int make(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || chdir(folder))
		return -1;
	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++)
		for (int run = 1; run <= 4; run++) {
			char *keys[FACTS + 1], seed[16], name[16];
			struct builder b;
			size_t n = 0;
			FILE *f;

			snprintf(seed, sizeof(seed), "seed=%zu%d", i + 1, run);
			for (; n < FACTS && worlds[i].keys[n]; n++)
				keys[n] = (char *)worlds[i].keys[n];
			keys[n++] = seed;
			assert_true(diff_world(&b, n, keys));
			name_of(name, worlds[i].name, run);
			f = fopen(name, "wb");
			assert_true(f && fwrite(b.file.data, 1, b.file.len, f) == b.file.len && !fclose(f));
			builder_release(&b);
		}
	return 0;
}

static int clear(void **state)
{
	char name[16];

	(void)state;
	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++)
		for (int run = 1; run <= 4; run++) {
			name_of(name, worlds[i].name, run);
			unlink(name);
		}
	return chdir("/") || rmdir(folder);
}

static void lines(void **state)
{
	static struct captured c;
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		captured_run(&c, cmd_diff, cases[i].words);
		if (c.status == cases[i].status && (!cases[i].out || !strcmp(c.out, cases[i].out)) &&
		    !strstr(c.err, "(null)") &&
		    (!cases[i].part || strstr(c.out, cases[i].part) || strstr(c.err, cases[i].part)))
			continue;
		print_error("diff %s: status %d\nhave:\n%s\nwant:\n%s%s\nsaid: %s\n", cases[i].words, c.status, c.out,
			    cases[i].out ? cases[i].out : "... ", cases[i].part ? cases[i].part : "", c.err);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(lines, make, clear))
