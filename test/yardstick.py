# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits that grow with what this machine is at, as those of unittests/Runtime/Yardstick.h do.

A patience within which ranks that live must be heard, or a time within which they must have ended, is as short as a test likes where the machine is idle,
and longer where its threads get a core late."""
import os
import threading
import time

THREADS, TURNS = 4, 24
# So long may a hand-over take within limits as they are meant; and more of them than ranks need that are on time.
HAND_OVER, HAND_OVERS = 0.01, 100
# So long a thread may have a core while others are ready: seconds.
SLICE = 0.003


def longest_hand_over():
    """Of some round a ring of threads that compute a little: seconds."""
    turns = [threading.Semaphore(0) for _ in range(THREADS)]
    times = []

    def take(thread):
        for _ in range(TURNS // THREADS):
            turns[thread].acquire()
            sum(range(5000))
            times.append(time.monotonic())
            turns[(thread + 1) % THREADS].release()

    threads = [threading.Thread(target=take, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    times.append(time.monotonic())
    turns[0].release()
    for thread in threads:
        thread.join()
    return max(after - before for before, after in zip(times, times[1:]))


def turn_of_others():
    """Seconds for which a thread waits for a core where every other one that is ready takes its turn first. Threads that sleep often come
    first nearly always, so a few hand-overs may all be short beside processes that never rest."""
    with open("/proc/loadavg", encoding="ascii") as file:
        ready = int(file.read().split()[3].partition("/")[0])
    cores = os.cpu_count()
    return SLICE * max(0, ready - cores) / cores


def margin():
    """Seconds by which limits are to be longer now; 0 on an idle machine."""
    return HAND_OVERS * max(0, longest_hand_over() - HAND_OVER, turn_of_others() - HAND_OVER)


class Standstills:
    """While it is entered: the longest time for which a thread of this process that was due did not run, in seconds."""

    NAP = 0.01

    def __enter__(self):
        self.longest, self._is_over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _watch(self):
        before = time.monotonic()
        while not self._is_over.wait(self.NAP):
            now = time.monotonic()
            self.longest = max(self.longest, now - before - self.NAP)
            before = now
