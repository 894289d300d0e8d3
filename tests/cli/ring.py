"""ring.py PMREP DUMP LEAST MOST FILE...: a dump of so many seconds beside the files that the ring had, raw."""
import sys

from rotate import rows, strip


def main(pmrep, dump, least, most, files):
    whole = {}
    for path in files:
        for tick, row in rows(pmrep, path)[0].items():
            whole[tick] = strip(row)
    got, _ = rows(pmrep, dump)
    ticks = sorted(got)
    seconds = (ticks[-1] - ticks[0]) / 1e9
    assert float(least) <= seconds <= float(most), seconds
    for tick in ticks:
        assert strip(got[tick]) == whole[tick], tick
    between = [t for t in whole if ticks[0] <= t <= ticks[-1]]
    assert sorted(between) == ticks, (len(between), len(ticks))
    assert any(t < ticks[0] for t in whole), "nothing was dropped: this tests little"


main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
