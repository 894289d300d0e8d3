"""A CPU that a real-time loop keeps for itself: pmrec's output goes on, the other CPUs lack nothing, the end comes.

    starved.py BIN DIRECTORY

The loop ends by itself. Prints what was measured; 77: no right to such a loop, or one CPU only.
"""
import os
import subprocess
import sys
import threading
import time

BIN, WORK = sys.argv[1:3]
RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
CPUIDLE = "cpuidle," if os.path.exists("/sys/devices/system/cpu/cpu0/cpuidle/state0") else ""
INTERVAL, STARVED = 0.01, 2.5
# A chunk of live output holds 100 ms, and waits 200 ms for a reader. The rest is what a busy machine may be late.
SILENCE = 0.1 + INTERVAL + 0.2 + 0.25
HOG = """
import os, time
os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
end = time.monotonic() + %f
while time.monotonic() < end:
    pass
""" % STARVED


def may_starve():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, {1})
        os.sched_setaffinity(0, set(range(os.cpu_count())))
    except OSError:
        return False
    return True


class Arrivals(threading.Thread):
    """When bytes come out of a pipe, and the bytes."""

    def __init__(self, pipe):
        super().__init__()
        self.pipe, self.times, self.data = pipe, [], b""

    def run(self):
        while piece := os.read(self.pipe.fileno(), 1 << 20):
            self.times.append(time.monotonic())
            self.data += piece

    def silence(self, begin, end):
        times = [begin] + [t for t in self.times if begin < t < end] + [end]
        return max(b - a for a, b in zip(times, times[1:]))


def statuses(path, cpu):
    """How often task-clock of a CPU has a value, and how often it was missed."""
    lines = subprocess.run([BIN + "/pmrep", "dump", "--counter=task-clock", path],
                           capture_output=True, check=True, text=True).stdout.splitlines()
    mine = [line for line in lines if line.startswith("value ") and f" number={cpu} " in line]
    return sum(" status=ok " in line for line in mine), sum(" status=missed" in line for line in mine)


def starve(options, ends_meanwhile):
    hog_begins = 1.0
    recorder = subprocess.Popen([BIN + "/pmrec", "-q", f"-i{INTERVAL}", "-o", "-", *options], stdout=subprocess.PIPE)
    arrivals = Arrivals(recorder.stdout)
    arrivals.start()
    time.sleep(hog_begins)
    begin = time.monotonic()
    hog = subprocess.Popen([sys.executable, "-c", HOG])
    try:
        if ends_meanwhile:
            time.sleep(1)
            asked = time.monotonic()
            recorder.terminate()
            recorder.wait(20)
            took = time.monotonic() - asked
            hog.wait(20)
            return arrivals, took
        hog.wait(20)
        silence = arrivals.silence(begin, time.monotonic())
        time.sleep(1)
        recorder.terminate()
        recorder.wait(20)
        return arrivals, silence
    finally:
        hog.kill()
        hog.wait()
        recorder.kill()
        recorder.wait()
        arrivals.join()


def main():
    if os.cpu_count() < 2 or not may_starve():
        return 77
    before = open(RUNTIME).read()
    bad = 0
    try:
        try:
            open(RUNTIME, "w").write("-1")
        except OSError:
            pass
        # One reader of both would miss nothing: whether there are two is measured at the start.
        for name, options in (("readers", [f"--sources=stat,{CPUIDLE}perf", "-a", "-e", "task-clock",
                                           "--sampling=reader", "--threads=cpu"]),
                              ("kernel", ["--sources=stat,perf", "-a", "-e", "cpu-clock", "--sampling=kernel"])):
            arrivals, silence = starve(options, False)
            path = f"{WORK}/{name}.pmr"
            open(path, "wb").write(arrivals.data)
            subprocess.run([BIN + "/pmrep", "check", path], check=True, stdout=subprocess.DEVNULL)
            arrivals, took = starve(options, True)
            print(f"{name}: silent for {silence:.3f} s; ends within {took:.3f} s")
            bad += silence > SILENCE or took > 2
            if name == "readers":
                (ok, missed), (starved_ok, starved) = statuses(path, 0), statuses(path, 1)
                print(f"{name}: CPU 0 has {ok} values and misses {missed}, CPU 1 has {starved_ok} and misses {starved}")
                # Before and after it is like the other one; meanwhile it has nothing.
                bad += ok < 300 or starved < 100 or starved < 3 * missed or starved_ok < 100
    finally:
        open(RUNTIME, "w").write(before)
    return bad != 0


sys.exit(main())
