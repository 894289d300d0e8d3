/* Lines of pmrep stat on recordings with known truth (lib/stat_worlds.h); options and files are tested from the shell
 * (tests/cli/stat.bats). */
#include "report/cmd.h"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/stat_worlds.h"
#include "tests/unit/lib/test.h"

/* clang-format off */
static const struct {
	const char *world, *words, *lines;
	const char *note; /* in what goes to standard error; NULL: whatever */
	int status;
} cases[] = {
	/* 7 CPUs of 8000 x 4 s; they ran 2/8 to 8/8 of 4 s, which is 62.5 % of 28. CPU 0 never ran, so there is no sum of all. */
	{ "all", "-x, -e cycles",
	  "<not counted>,,cycles,0,0.00,,\n"
	  "1600,,cpu_core/cycles/,16000000000,100.00,,\n"
	  "3200,,cpu_atom/cycles/,16000000000,100.00,,\n" },
	{ "all", "-x, -e cycles -C 1-7",
	  "224000,,cycles,17500000000,62.00,0.000,GHz\n"
	  "1200,,cpu_core/cycles/,12000000000,100.00,0.000,GHz\n"
	  "3200,,cpu_atom/cycles/,16000000000,100.00,0.000,GHz\n" },
	{ "all", "-x, --no-scale -e cycles -C 1-7",
	  "140000,,cycles,17500000000,62.00,0.000,GHz\n"
	  "1200,,cpu_core/cycles/,12000000000,100.00,0.000,GHz\n"
	  "3200,,cpu_atom/cycles/,16000000000,100.00,0.000,GHz\n" },
	{ "all", "-x, --per-socket -e cycles -C 4-7",
	  "S1,4,128000,,cycles,13000000000,81.00,0.000,GHz\n"
	  "S1,4,3200,,cpu_atom/cycles/,16000000000,100.00,0.000,GHz\n" },
	{ "all", "-x, -A -e cycles -C 0,3",
	  "CPU0,<not counted>,,cycles,0,0.00,,\n"
	  "CPU3,32000,,cycles,2000000000,50.00,0.000,GHz\n"
	  "CPU0,400,,cpu_core/cycles/,4000000000,100.00,,\n"
	  "CPU3,400,,cpu_core/cycles/,4000000000,100.00,0.000,GHz\n" },
	{ "all", "-e cycles -C 1-7 -I 4000",
	  "#           time             counts unit events\n"
	  "     4.000000000            224,000      cycles                           #    0.000 GHz                      (62.50%)\n"
	  "     4.000000000              1,200      cpu_core/cycles/                 #    0.000 GHz\n"
	  "     4.000000000              3,200      cpu_atom/cycles/                 #    0.000 GHz\n" },
	{ "all", "-x, -e broken", "<not supported>,,broken,0,100.00,,\n" },
	{ "all", "-j -e broken",
	  "{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"broken\", "
	  "\"event-runtime\" : 0, \"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n" },
	/* Events in the order of the recording: 10 misses of 100 branches a second on 8 CPUs in 4 s. */
	{ "all", "-x, -e branches,branch-misses",
	  "320,,branch-misses,32000000000,100.00,10.00,of all branches\n"
	  "3200,,branches,32000000000,100.00,100.000,/sec\n" },
	{ "all", "-x, -M branch_miss_rate",
	  "320,,branch-misses,32000000000,100.00,10.0,%  branch_miss_rate\n3200,,branches,32000000000,100.00,,\n" },
	{ "all", "-j -A -C 7 -M branch_miss_rate",
	  "{\"cpu\" : \"7\", \"counter-value\" : \"40.000000\", \"unit\" : \"\", \"event\" : \"branch-misses\", "
	  "\"event-runtime\" : 4000000000, \"pcnt-running\" : 100.00, \"metric-value\" : 10.000000, "
	  "\"metric-unit\" : \"%  branch_miss_rate\", \"metric-threshold\" : \"bad\"}\n"
	  "{\"cpu\" : \"7\", \"counter-value\" : \"400.000000\", \"unit\" : \"\", \"event\" : \"branches\", "
	  "\"event-runtime\" : 4000000000, \"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, "
	  "\"metric-unit\" : \"\"}\n" },
	{ "all", "--metric-only -M branch_miss_rate --per-socket -x,",
	  "socket,cpus,%  branch_miss_rate,\n"
	  "S0,4,10.0,\n"
	  "S1,4,10.0,\n" },
	{ "all", "--metric-only -M branch_miss_rate --per-socket -j",
	  "{\"socket\" : \"S0\", \"aggregate-number\" : 4, \"%  branch_miss_rate\" : \"10.0\"}\n"
	  "{\"socket\" : \"S1\", \"aggregate-number\" : 4, \"%  branch_miss_rate\" : \"10.0\"}\n" },
	{ "all", "--metric-only -M branch_miss_rate --per-socket -I 4000",
	  "#           time socket cpus  %  branch_miss_rate\n"
	  "     4.000000000 S0        4                 10.0\n"
	  "     4.000000000 S1        4                 10.0\n" },
	/* Each place once, in order: the first CPU of package 1 is CPU 1. Energy 1 of CPU 0 and 2 of CPU 1, 4 s. */
	{ "odd", "-x, --per-socket -e branches,branch-misses",
	  "S0,4,160,,branch-misses,16000000000,100.00,10.00,of all branches\n"
	  "S0,4,1600,,branches,16000000000,100.00,100.000,/sec\n"
	  "S1,4,160,,branch-misses,16000000000,100.00,10.00,of all branches\n"
	  "S1,4,1600,,branches,16000000000,100.00,100.000,/sec\n" },
	{ "odd", "-x, --per-socket -e pkg/energy/",
	  "S0,1,4,,pkg/energy/,4000000000,100.00,0.250,/sec\n"
	  "S1,1,8,,pkg/energy/,4000000000,100.00,0.500,/sec\n" },
	{ "odd", "-x, -A -e branches -C 1-3",
	  "CPU1,400,,branches,4000000000,100.00,100.000,/sec\n"
	  "CPU2,400,,branches,4000000000,100.00,100.000,/sec\n"
	  "CPU3,400,,branches,4000000000,100.00,100.000,/sec\n" },
	/* Totals follow intervals. */
	{ "all", "-x, -I 2000 --summary -e branches",
	  "     2.000000000,1600,,branches,16000000000,100.00,100.000,/sec\n"
	  "     4.000000000,1600,,branches,16000000000,100.00,100.000,/sec\n"
	  "         summary,3200,,branches,32000000000,100.00,100.000,/sec\n" },
	{ "all", "-x, -I 2000 --summary --no-csv-summary -e branches",
	  "     2.000000000,1600,,branches,16000000000,100.00,100.000,/sec\n"
	  "     4.000000000,1600,,branches,16000000000,100.00,100.000,/sec\n"
	  "3200,,branches,32000000000,100.00,100.000,/sec\n" },
	{ "all", "-I 2000 -e branches",
	  "#           time             counts unit events\n"
	  "     2.000000000              1,600      branches                         #  100.000 /sec\n"
	  "     4.000000000              1,600      branches                         #  100.000 /sec\n" },
	{ "all", "-j -I 4000 -e branches",
	  "{\"interval\" : 4.000000000, \"counter-value\" : \"3200.000000\", \"unit\" : \"\", "
	  "\"event\" : \"branches\", \"event-runtime\" : 32000000000, \"pcnt-running\" : 100.00, "
	  "\"metric-value\" : 100.000000, \"metric-unit\" : \"/sec\"}\n" },
	{ "all", "-e branches,branch-misses",
	  "\n Performance counter stats for 'system wide':\n\n"
	  "               320      branch-misses                    #   10.00% of all branches\n"
	  "             3,200      branches                         #  100.000 /sec\n\n"
	  "       4.000000000 seconds time elapsed\n\n" },
	{ "all", "--no-big-num -I 4000 -e branches",
	  "#           time             counts unit events\n"
	  "     4.000000000               3200      branches                         #  100.000 /sec\n" },
	{ "all", "--per-core -C 0,1 -I 4000 -e branches",
	  "#           time core            cpus             counts unit events\n"
	  "     4.000000000 S0-D0-C0           2                800      branches                         #  100.000 /sec\n" },
	/* 32000 in 4 s are no GHz; what was not counted has none. */
	{ "all", "-A -C 0,1 -I 4000 -e cycles,task-clock",
	  "#           time CPU                    counts unit events\n"
	  "     4.000000000 CPU0            <not counted>      cycles                                                        (0.00%)\n"
	  "     4.000000000 CPU1                   32,000      cycles                           #    0.000 GHz                      (25.00%)\n"
	  "     4.000000000 CPU0                 4,000.00 msec task-clock                       #    1.000 CPUs utilized\n"
	  "     4.000000000 CPU1                 4,000.00 msec task-clock                       #    1.000 CPUs utilized\n"
	  "     4.000000000 CPU0                      400      cpu_core/cycles/\n"
	  "     4.000000000 CPU1                      400      cpu_core/cycles/                 #    0.000 GHz\n" },
	{ "all", "-j -A -C 0 -M GHz",
	  "{\"cpu\" : \"0\", \"counter-value\" : \"<not counted>\", \"unit\" : \"\", \"event\" : \"cycles\", "
	  "\"event-runtime\" : 0, \"pcnt-running\" : 0.00, \"metric-value\" : null, "
	  "\"metric-unit\" : \"GHz  cycles_frequency\"}\n"
	  "{\"cpu\" : \"0\", \"counter-value\" : \"4000.000000\", \"unit\" : \"msec\", \"event\" : \"task-clock\", "
	  "\"event-runtime\" : 4000000000, \"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, "
	  "\"metric-unit\" : \"\"}\n" },
	{ "all", "-x, -A -C 0 -M GHz",
	  "CPU0,<not counted>,,cycles,0,0.00,,GHz  cycles_frequency\nCPU0,4000.00,msec,task-clock,4000000000,100.00,,\n" },
	{ "all", "--metric-only -j -A -C 0,1 -M GHz",
	  "{\"cpu\" : \"0\", \"GHz  cycles_frequency\" : \"none\"}\n{\"cpu\" : \"1\", \"GHz  cycles_frequency\" : \"0.0\"}\n" },
	/* Two packages of 3 million a second of 64 bytes: 2 x 3000000 x 4 x 6.103515625e-05 MiB. */
	{ "all", "-x, -e uncore_imc*", "1464.84,MiB,uncore_imc/cas/,16000000000,100.00,45.776,/sec\n" },
	{ "all", "-x, --no-merge -e uncore_imc*",
	  "488.28,MiB,uncore_imc_0/cas/,8000000000,100.00,15.259,/sec\n"
	  "976.56,MiB,uncore_imc_1/cas/,8000000000,100.00,30.518,/sec\n" },
	{ "all", "-x, -e cpu_*/cycles/",
	  "1600,,cpu_core/cycles/,16000000000,100.00,,\n3200,,cpu_atom/cycles/,16000000000,100.00,,\n" },
	{ "all", "-x, --hybrid-merge -e cpu_*/cycles/", "4800,,cycles,32000000000,100.00,,\n" },
	/* Of a package one CPU counts, of a core both. */
	{ "all", "-x, -e pkg/energy/", "24,,pkg/energy/,8000000000,100.00,0.750,/sec\n" },
	{ "all", "-x, --per-socket -C 4-7 -e pkg/energy/", "S1,1,20,,pkg/energy/,4000000000,100.00,1.250,/sec\n" },
	{ "all", "-x@ -A -e core/ev,percore/",
	  "S0-D0-C0@12@@core/ev,percore/@8000000000@100.00@@\nS0-D0-C1@28@@core/ev,percore/@8000000000@100.00@@\n"
	  "S1-D0-C0@44@@core/ev,percore/@8000000000@100.00@@\nS1-D0-C1@60@@core/ev,percore/@8000000000@100.00@@\n" },
	{ "all", "-x, --per-core -C 6,7 -e branches", "S1-D0-C1,2,800,,branches,8000000000,100.00,100.000,/sec\n" },
	{ "all", "-x, --per-die -C 6,7 -e branches", "S1-D0,2,800,,branches,8000000000,100.00,100.000,/sec\n" },
	{ "all", "-x, --per-node -C 6,7 -e branches", "N1,2,800,,branches,8000000000,100.00,100.000,/sec\n" },
	{ "all", "-x, --per-cache -C 6,7 -e branches", "S1-D0-L3-ID1,2,800,,branches,8000000000,100.00,100.000,/sec\n" },
	/* A level is no difference. */
	{ "all", "-x, -e msr/level/", "348,,msr/level/,32000000000,100.00,10.875,/sec\n" },
	{ "all", "-x, -e a*", "3200,,\"a,\"\"b\"\"\",32000000000,100.00,100.000,/sec\n" },
	{ "shares", "-x, -e cycles", "6200,,cycles,2750000000,68.00,,\n" },
	/* CPU 0: 1000 in 1/2 s, 1000 in 1/4 s; CPU 1: 100 each. They ran 1.5 and 1.25 of 2 s. */
	{ "shares", "-x, -I 1000 --summary -e cycles",
	  "     1.000000000,2100,,cycles,1500000000,75.00,,\n"
	  "     2.000000000,4100,,cycles,1250000000,62.00,,\n"
	  "         summary,6200,,cycles,2750000000,68.00,,\n" },
	{ "shares", "-x, -A -e part", "CPU0,14,,part,2000000000,100.00,,\nCPU1,<not supported>,,part,0,100.00,,\n" },
	{ "shares", "-x, -e part", "<not supported>,,part,0,100.00,,\n", "part of CPU 1: errno-2 in some intervals, so there is no sum" },
	{ "shares", "-x, -e pkg/late/", "10,,pkg/late/,2000000000,100.00,,\n" },
	/* CPU 1 was not read at 3, 4 and 8 s: what it counted up to 5 s is there then, what came after 7 s never. */
	{ "missed", "-x,", "1500,,cycles,15000000000,93.00,,\n" },
	{ "missed", "-x, -I 4000 --summary",
	  "     4.000000000,600,,cycles,6000000000,75.00,,\n"
	  "     8.000000000,900,,cycles,9000000000,90.00,,\n"
	  "         summary,1500,,cycles,15000000000,93.00,,\n" },
	/* The same, and at 5 s an event comes that stands before those that only the metric uses. */
	{ "grown", "-x, -I 4000 --summary -e a* -M GHz",
	  "     4.000000000,600,,a1,6000000000,75.00,,\n"
	  "     4.000000000,,,,,,2.0,GHz  cycles_frequency\n"
	  "     8.000000000,900,,a1,9000000000,90.00,,\n"
	  "     8.000000000,21,,a2,3000000000,100.00,,\n"
	  "     8.000000000,,,,,,2.0,GHz  cycles_frequency\n"
	  "         summary,1500,,a1,15000000000,93.00,,\n"
	  "         summary,21,,a2,3000000000,100.00,,\n"
	  "         summary,,,,,,2.0,GHz  cycles_frequency\n" },
	{ "grown", "-x, -I 1000 -e a1 --until=6",
	  "     1.000000000,200,,a1,2000000000,100.00,100.000,/sec\n"
	  "     2.000000000,200,,a1,2000000000,100.00,100.000,/sec\n"
	  "     3.000000000,100,,a1,1000000000,50.00,,\n"
	  "     4.000000000,100,,a1,1000000000,50.00,,\n"
	  "     5.000000000,400,,a1,4000000000,100.00,100.000,/sec\n"
	  "     6.000000000,200,,a1,2000000000,100.00,100.000,/sec\n",
	  "a1 of CPU 1: missed in some intervals; sums cover the others" },
	/* 1, 2, 3: the deviation is 1, of the mean 1 over the root of 3; 10, 20, 60: the root of 700 / 3, of 30. */
	{ "runs", "-x,",
	  "2.00,msec,task-clock,28.87%,2000000,100.00,0.002,CPUs utilized\n"
	  "30,,instructions,50.92%,2000000,100.00,,\n" },
	{ "runs", "-j -e instructions",
	  "{\"counter-value\" : \"30.000000\", \"unit\" : \"\", \"event\" : \"instructions\", "
	  "\"variance\" : 50.92, \"event-runtime\" : 2000000, \"pcnt-running\" : 100.00, "
	  "\"metric-value\" : 0.000000, \"metric-unit\" : \"insn per cycle\"}\n" },
	{ "runs", "-e task-clock",
	  "\n Performance counter stats for 'true' (3 runs):\n\n"
	  "              2.00 msec task-clock                       #    0.002 CPUs utilized            ( +- 28.87% )\n\n"
	  "             2.000 +- 0.577 seconds time elapsed  ( +- 28.87% )\n\n" },
	/* Of the last runs there is no interval, and nothing at all of what came with them. */
	{ "cut", "-B",
	  "\n Performance counter stats for 'true':\n\n"
	  "              1.00 msec task-clock                       #    0.001 CPUs utilized\n"
	  "                10      instructions\n"
	  "     <not counted>      rare\n\n"
	  "       1.000000000 seconds time elapsed\n\n"
	  "       0.500000000 seconds user\n       0.250000000 seconds sys\n\n\n" },
	{ "unrun", "-x, -e rare,never",
	  "200,,rare,50.00%,2000000,100.00,33.333,K/sec\n"
	  "<not counted>,,never,0.00%,0,0.00,,\n",
	  "rare: not counted in 1 of 3 runs; the mean is of the others" },
	{ "tasks", "--per-thread -x,",
	  "bash-10,12,,context-switches,4000000000,100.00,,\ntwo words-11,10,,context-switches,2000000000,100.00,,\n" },
	{ "tasks", "-x, -t 11", "10,,context-switches,2000000000,100.00,,\n" },
	{ "tasks", "-x, -p 10", "22,,context-switches,6000000000,100.00,,\n" },
	/* 10 and 11 switches a second in 1 ms, 20 and 21 in 2 ms a second, of two CPUs. */
	{ "cgroups", "-x,",
	  "8.00,msec,task-clock,a,8000000000,100.00,0.002,CPUs utilized\n"
	  "84,,cs,a,8000000000,100.00,10.500,K/sec\n"
	  "16.00,msec,task-clock,\"b,c\",8000000000,100.00,0.004,CPUs utilized\n"
	  "164,,cs,\"b,c\",8000000000,100.00,10.250,K/sec\n" },
	{ "cgroups", "-x, -G a -e cs", "84,,cs,a,8000000000,100.00,10.500,K/sec\n" },
	{ "cgroups", "-x, -C 1 -e cs",
	  "44,,cs,a,4000000000,100.00,11.000,K/sec\n"
	  "84,,cs,\"b,c\",4000000000,100.00,10.500,K/sec\n" },
	{ "cgroups", "-x, -A -C 1 -e cs",
	  "CPU1,44,,cs,a,4000000000,100.00,11.000,K/sec\n"
	  "CPU1,84,,cs,\"b,c\",4000000000,100.00,10.500,K/sec\n" },
	{ "cgroups", "--metric-only -M cs_per_second -j",
	  "{\"cgroup\" : \"a\", \"1/s  cs_per_second\" : \"10500.0\"}\n"
	  "{\"cgroup\" : \"b,c\", \"1/s  cs_per_second\" : \"10250.0\"}\n" },
	/* 1 and 10 a second, 2 and 20, of 8 CPUs in 4 s. */
	{ "programs", "-x,", "352,,cs,64000000000,100.00,,\n704,,faults,64000000000,100.00,,\n" },
	{ "programs", "-x, --no-merge",
	  "32,,cs [12 one],32000000000,100.00,,\n64,,faults [12 one],32000000000,100.00,,\n"
	  "320,,cs [7],32000000000,100.00,,\n640,,faults [7],32000000000,100.00,,\n" },
	{ "programs", "-x, -b 7", "320,,cs,32000000000,100.00,,\n640,,faults,32000000000,100.00,,\n" },
	/* A modifier is no part of a name, what stands behind a tracepoint's colon is; what perf did not count is none of its
	 * events. */
	{ "names", "-x, --all-events",
	  "8,,cpu_core/branches/u,8000000000,100.00,,\n16,,cycles:k,8000000000,100.00,,\n"
	  "24,,sched:sched_switch,8000000000,100.00,,\n32,,cpu/loads/,8000000000,100.00,,\n" },
	{ "names", "-x, -e cpu_core/branches/", "8,,cpu_core/branches/u,8000000000,100.00,,\n" },
	{ "names", "-x, -e cycles", "16,,cycles:k,8000000000,100.00,,\n" },
	{ "names", "-x, -e cpu-cycles", "16,,cycles:k,8000000000,100.00,,\n" },
	{ "names", "-x, -e cpu/loads/", "32,,cpu/loads/,8000000000,100.00,,\n" },
	{ "names", "-x, -e sched", "", "has no event 'sched'", 2 },
	{ "names", "-x, -e sched:*", "24,,sched:sched_switch,8000000000,100.00,,\n" },
	/* (1 + ... + 8) x 4 s x 1000 slots. */
	{ "topdown", "-I 4000",
	  "#           time             counts unit events\n"
	  "     4.000000000            144,000      slots\n"
	  "     4.000000000            100,800      topdown-retiring                 #     70.0% Retiring\n"
	  "     4.000000000             14,400      topdown-bad-spec                 #     10.0% Bad Speculation\n"
	  "     4.000000000             21,600      topdown-fe-bound                 #     15.0% Frontend Bound\n"
	  "     4.000000000              7,200      topdown-be-bound                 #      5.0% Backend Bound\n" },
	/* Of 1000 slots 100 were empty in front, 300 + 50 - 250 wasted, 250 retired: 550 are left for the back end. */
	{ "slots", "-I 4000",
	  "#           time             counts unit events\n"
	  "     4.000000000            144,000      topdown-total-slots\n"
	  "     4.000000000             43,200      topdown-slots-issued             #     55.0% backend bound\n"
	  "     4.000000000             36,000      topdown-slots-retired            #     25.0% retiring\n"
	  "     4.000000000             14,400      topdown-fetch-bubbles            #     10.0% frontend bound\n"
	  "     4.000000000              7,200      topdown-recovery-bubbles         #     10.0% bad speculation\n" },
	/* One event of several PMUs is what is measured alike: 12,000,000 / 16,384 MiB; 4,000,000 MiB; 4,000,000 J. */
	{ "scales", "-x,", "732.42,MiB,uncore_imc/cas/,8000000000,100.00,,\n"
	  "4000000.00,MiB,uncore_imc_2/cas/,4000000000,100.00,,\n"
	  "4000000.00,Joules,uncore_imc_3/cas/,4000000000,100.00,,\n" },
	/* All metrics of both kinds of CPUs. */
	{ "hybrid", "--topdown -x, --metric-only",
	  "%  tma_retiring (cpu_core),%  tma_bad_speculation (cpu_core),%  tma_frontend_bound (cpu_core),"
	  "%  tma_backend_bound (cpu_core),%  tma_retiring (cpu_atom),%  tma_bad_speculation (cpu_atom),"
	  "%  tma_frontend_bound (cpu_atom),%  tma_backend_bound (cpu_atom),\n"
	  "70.0,10.0,15.0,5.0,40.0,20.0,30.0,10.0,\n" },
	/* PMUs of ARM: a kind of CPUs is named where there are several, whose events are merged on request only. */
	{ "alike", "-x, --metric-only", "CPUs utilized,GHz,\n8.000,1.000,\n" },
	{ "kinds", "-x, --metric-only",
	  "%  of all branches (armv8_cortex_a53),%  of all branches (armv8_cortex_a72),\n100.00,100.00,\n" },
	{ "kinds", "-x, -e *cycles*",
	  "16000000000,,armv8_cortex_a53/cycles/,16000000000,100.00,,\n"
	  "16000000000,,armv8_cortex_a72/cycles/,16000000000,100.00,,\n" },
	{ "kinds", "-x, --hybrid-merge -e *cycles*", "32000000000,,cycles,32000000000,100.00,,\n" },
	/* A half of the time cpu_core has counters, whose counts are made up for. */
	{ "hybrid", "-I 4000",
	  "#           time             counts unit events\n"
	  "     4.000000000             40,000      cpu_core/slots/                  #     70.0 %  tma_retiring          (50.00%)\n"
	  "     4.000000000                                                          #     10.0 %  tma_bad_speculation\n"
	  "     4.000000000                                                          #     15.0 %  tma_frontend_bound\n"
	  "     4.000000000                                                          #      5.0 %  tma_backend_bound\n"
	  "     4.000000000             28,000      cpu_core/topdown-retiring/                                           (50.00%)\n"
	  "     4.000000000              4,000      cpu_core/topdown-bad-spec/                                           (50.00%)\n"
	  "     4.000000000              6,000      cpu_core/topdown-fe-bound/                                           (50.00%)\n"
	  "     4.000000000              2,000      cpu_core/topdown-be-bound/                                           (50.00%)\n"
	  "     4.000000000             41,600      cpu_atom/topdown-retiring/       #     40.0 %  tma_retiring\n"
	  "     4.000000000                                                          #     20.0 %  tma_bad_speculation\n"
	  "     4.000000000                                                          #     30.0 %  tma_frontend_bound\n"
	  "     4.000000000                                                          #     10.0 %  tma_backend_bound\n"
	  "     4.000000000             20,800      cpu_atom/topdown-bad-spec/\n"
	  "     4.000000000             31,200      cpu_atom/topdown-fe-bound/\n"
	  "     4.000000000             10,400      cpu_atom/topdown-be-bound/\n"
	  "     4.000000000              1,440      context-switches                 #     45.0 1/s  cs_per_second\n"
	  "     4.000000000          32,000.00 msec cpu-clock\n" },
};
/* clang-format on */

static void lines(void **state)
{
	static struct captured c;
	const char *made = "";
	size_t wrong = 0;
	char path[64] = "", words[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(made, cases[i].world)) {
			struct builder b;

			if (path[0])
				captured_remove(path);
			assert_true(stat_world(&b, cases[i].world));
			captured_file(path, &b.file);
			builder_release(&b);
			made = cases[i].world;
		}
		snprintf(words, sizeof(words), "%s %s", cases[i].words, path);
		captured_run(&c, cmd_stat, words);
		if (c.status == cases[i].status && !strcmp(c.out, cases[i].lines) &&
		    (!cases[i].note || strstr(c.err, cases[i].note)))
			continue;
		print_error("stat %s (%s): status %d\nhave:\n%s\nwant:\n%s\nsaid: %s\n", cases[i].words, made,
			    c.status, c.out, cases[i].lines, c.err);
		wrong++;
	}
	captured_remove(path);
	assert_int_equal(wrong, 0);
}

/* What PERF_CONFIG names is read, and nothing beside it. */
static void configured(void **state)
{
	static struct captured c;
	struct buf text = BUF_INIT;
	char path[64], config[64], words[128];
	struct builder b;

	(void)state;
	assert_true(stat_world(&b, "all"));
	captured_file(path, &b.file);
	builder_release(&b);
	buf_addstr(&text, "[stat]\nbig-num = false\n");
	captured_file(config, &text);
	buf_release(&text);
	setenv("PERF_CONFIG", config, 1);
	snprintf(words, sizeof(words), "-e branches %s", path);
	captured_run(&c, cmd_stat, words);
	setenv("PERF_CONFIG", "/dev/null", 1);
	assert_non_null(strstr(c.out, "              3200      branches"));
	captured_remove(config);
	captured_remove(path);
}

/* What is refused, and that one file of several does not keep the others from being read. */
static void statuses(void **state)
{
	static const struct {
		const char *before, *after; /* the recording, which is not given if there is no `after` */
		int status;
		const char *said;
	} rows[] = {
		{ "-x,", NULL, 2, "no recording given; try pmrep stat --help\n" },
		{ "--format=csv ", "", 2, "--format belongs to pmrep show\n" },
		{ "--log-fd=77 ", "", 2, "--log-fd: 77 is not an open descriptor\n" },
		{ "--log-fd=2 -x, -e branches ", "", 0, "3200,,branches," },
		{ "-x, -e branches ", "", 0, "3200,,branches," },
		{ "-x, -e branches ", " /none.pmr", 2, "3200,,branches," },
		{ "-x, -e branches ", " /none.pmr", 2, "/none.pmr: No such file" },
		{ "-x, -e branches /none.pmr ", "", 2, "3200,,branches," },
	};
	static struct captured c;
	char path[64], words[128];
	struct builder b;

	(void)state;
	assert_true(stat_world(&b, "all"));
	captured_file(path, &b.file);
	builder_release(&b);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(words, sizeof(words), "%s%s%s", rows[i].before, rows[i].after ? path : "",
			 rows[i].after ? rows[i].after : "");
		captured_run(&c, cmd_stat, words);
		if (c.status != rows[i].status || !(strstr(c.out, rows[i].said) || strstr(c.err, rows[i].said)))
			fail_msg("%s: %d\n%s%s", words, c.status, c.out, c.err);
	}
	captured_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lines), cmocka_unit_test(configured),
					    cmocka_unit_test(statuses) };

	setenv("PERF_CONFIG", "/dev/null", 1);
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
