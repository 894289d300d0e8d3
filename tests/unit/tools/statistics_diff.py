#!/usr/bin/python3
"""Statistics against scipy and statsmodels, on fixed data, to 1e-6 (most to 1e-9).

usage: statistics_diff.py STATISTICS_TOOL       exit 77 where scipy or statsmodels is not installed
"""
import math
import random
import subprocess
import sys

try:
    import numpy
    from scipy import stats
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

rng = random.Random(20260131)
queries, wanted = [], []


def ask(word, numbers, answer, tolerance=1e-9):
    queries.append(word + " " + " ".join(repr(float(x)) for x in numbers))
    wanted.append((answer, tolerance))


def ar1(n, rho, sd, mean):
    x, out = rng.gauss(0, 1), []
    for _ in range(n):
        x = rho * x + math.sqrt(1 - rho * rho) * rng.gauss(0, 1)
        out.append(mean + sd * x)
    return out


for df in (1, 1.7, 2, 3, 4.5, 8, 17.25, 100, 5e4, 1e9, 1e12, math.inf):
    for p in (1e-12, 1e-9, 0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9995):
        far = stats.norm if df > 1e10 else stats.t(df)
        ask("quantile", [p, df], [float(far.ppf(p))], 1e-7)

for n, m in ((2, 2), (4, 4), (5, 5), (5, 8), (10, 7), (40, 60)):
    a = [rng.gauss(10, 1) for _ in range(n)]
    b = [rng.gauss(10.5, 3) for _ in range(m)]
    compare = CompareMeans(DescrStatsW(b), DescrStatsW(a))
    t, p = stats.ttest_ind(b, a, equal_var=False)
    low, high = compare.tconfint_diff(usevar="unequal")
    error = compare.std_meandiff_separatevar
    ask("welch", [n] + a + b, [numpy.mean(b) - numpy.mean(a), error, compare.dof_satt(), p, (high - low) / 2], 1e-8)

for n, m, digits in ((4, 4, 9), (5, 5, 9), (6, 7, 2), (8, 8, 9), (8, 8, 2), (10, 8, 9)):
    a = [round(rng.gauss(1, 0.02), digits) for _ in range(n)]
    b = [round(rng.gauss(1.03, 0.02), digits) for _ in range(m)]

    def difference(x, y, axis):
        return numpy.mean(x, axis=axis) - numpy.mean(y, axis=axis)

    # scipy doubles the smaller tail; with unequal sizes that is another convention than "at least as far": so the
    # one-sided counts are taken of both.
    ranks = stats.rankdata(a + b)
    result = stats.permutation_test((ranks[:n], ranks[n:]), difference, vectorized=True, n_resamples=math.inf)
    exact = numpy.mean(numpy.abs(result.null_distribution) >= abs(result.statistic) * (1 - 1e-12))
    ask("ranks", [n] + a + b, [exact])
    logs = [list(map(math.log, a)), list(map(math.log, b))]
    # Yuen's test from eight a side on.
    if n < 8:
        result = stats.ttest_ind(logs[1], logs[0], equal_var=False)
        low, high = CompareMeans(DescrStatsW(logs[1]), DescrStatsW(logs[0])).tconfint_diff(usevar="unequal")
        ratio = stats.gmean(b) / stats.gmean(a)
        low, high = math.exp(low), math.exp(high)
    else:
        result = stats.ttest_ind(logs[1], logs[0], equal_var=False, trim=0.2)
        ratio = math.exp(stats.trim_mean(logs[1], 0.2) - stats.trim_mean(logs[0], 0.2))
        low, high = None, None
    p = max(result.pvalue, exact / 2) if result.pvalue < 0.05 else result.pvalue
    ask("verdict", [0.02, math.nan, n] + a + b, [ratio, low, high, p, None, None, None], 1e-8)

for n in (1, 2, 7, 40, 300):
    p = [rng.random() ** 3 for _ in range(n)]
    ask("discovery", p, list(multipletests(p, method="fdr_bh")[1]))
p = [0.01, 0.01, 0.04, 0.5, 0.5]
ask("discovery", p, list(multipletests(p, method="fdr_bh")[1]))
q = multipletests(p, method="fdr_bh")[1]
ask("discovery", [0.01, math.nan, 0.01, 0.04, 0.5, 0.5], [q[0], math.nan] + list(q[1:]))

for n in (20, 100, 601):
    x = ar1(n, 0.7, 2, 100)
    # All lengths of a batch differ by one at most; equal weights of the batches, all values in the mean.
    edges = [k * n // 10 for k in range(11)]
    means = [numpy.mean(x[edges[k]:edges[k + 1]]) for k in range(10)]
    whole = numpy.mean(x)
    error = math.sqrt(sum((v - whole) ** 2 for v in means) / 9 / 10)
    ask("batches", [10] + x, [whole, error, 9])
    if n % 10 == 0:
        assert math.isclose(error, stats.sem(means), rel_tol=1e-9)

tool = subprocess.run([sys.argv[1]], input="\n".join(queries) + "\n", capture_output=True, text=True, check=True)
answers = tool.stdout.splitlines()
assert len(answers) == len(queries), (len(answers), len(queries))
bad = 0
for query, (truth, tolerance), line in zip(queries, wanted, answers):
    got = [float(x) for x in line.split()]
    for g, t in zip(got, truth, strict=True):
        if t is None or (math.isnan(t) and math.isnan(g)):
            continue
        if not math.isclose(g, t, rel_tol=tolerance, abs_tol=1e-12):
            print(f"{query[:90]}: {g!r}, not {t!r}")
            bad += 1
print(f"{len(queries)} queries, {bad} wrong")
sys.exit(bad > 0)
