"""Limits that grow with what this machine is at, as those of unittests/Runtime/Yardstick.h do.

A patience within which ranks that live must be heard, or a time within which they must have ended, is as short as a test likes where the machine is idle,
and longer where its threads get a core late."""
import threading
import time

THREADS, TURNS = 4, 24
# So long may a hand-over take within limits as they are meant; and more of them than ranks need that are on time.
HAND_OVER, HAND_OVERS = 0.01, 100


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


def margin():
    """Seconds by which limits are to be longer now; 0 on an idle machine."""
    return HAND_OVERS * max(0, longest_hand_over() - HAND_OVER)
