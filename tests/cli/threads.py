"""A process of many threads: threads.py IDLE COMING makes IDLE that wait, one that burns CPU (zqspinner) and, if COMING is 1,
one after the other that lives for 20 ms (zqguest). Then it makes the file `ready`, and waits."""
import ctypes
import sys
import threading
import time

libc = ctypes.CDLL(None)
threading.stack_size(65536)


def start(name, body):
    def run():
        libc.prctl(15, name)
        body()

    t = threading.Thread(target=run, daemon=True)
    t.start()
    return t


def spin():
    while True:
        libc.memset(room, 1, len(room))  # without the lock of the interpreter


def live():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        libc.memset(room, 1, len(room))


room = ctypes.create_string_buffer(1 << 20)
for _ in range(int(sys.argv[1])):
    start(b"zqidle", lambda: time.sleep(1000))
start(b"zqspinner", spin)
open("ready", "w").close()
while sys.argv[2] == "1":
    start(b"zqguest", live).join()
time.sleep(1000)
