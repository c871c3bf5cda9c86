# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""waits.py PLAN FOLDER: a run hangs, for one of two ranks does not give a tensor; each is asked who waits for what, by a signal and by a call. Its threads
have names by which they are known. It is asked once more while the threads that wait are stopped, as by a debugger.

waits.py --rank RANK HOST PLAN RENDEZVOUS is one rank. BAGUA_DUMP_SIGNAL says which signal, if any: a program's handler before it is called, too.
"""
import contextlib
import ctypes
import errno
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time

from bagua.runtime import Plan, Session, World, describe_waits

# Seconds: nobody meets it.
RANKS, LIMIT = 2, 300
# Numbers from ptrace(2) and wait(2).
SEIZE, INTERRUPT, DETACH, WAIT_FOR_THREADS = 0x4206, 0x4207, 17, 0x40000000


def rank_of_run(rank, host, path, rendezvous):
    signal.signal(signal.SIGUSR1, lambda *_: None)
    plan = Plan(path)
    world = World.connect(rank, RANKS, rendezvous=rendezvous, host=host, timeout=LIMIT)
    session = Session(plan, world, timeout=LIMIT)
    given = []
    for number, tensor in enumerate(plan.tensors):
        session.program_updates(tensor.name)
        session.address(number, session.local_bytes(number))
        given.append(number)
    session.start()
    session.begin_step()
    # The first of the plan's to be waited for; rank 1 gives none.
    if rank == 0:
        for number in given:
            session.mark_ready(number)

    def ask():
        for line in sys.stdin:
            print(describe_waits() + "that was all", flush=True)

    threading.Thread(target=ask, daemon=True).start()
    print("begun", flush=True)
    if rank == 0:
        session.wait(given[0])
    time.sleep(LIMIT)


def until(stream, text):
    said = []
    for line in stream:
        said.append(line)
        if text in line:
            return "".join(said)
    sys.exit(f"expected '{text}', found {''.join(said)}")


def expect(pattern, said):
    if not re.search(pattern, said):
        sys.exit(f"expected '{pattern}', found:\n{said}")


def thread_names(process):
    """By number."""
    names = {}
    for path in glob.glob(f"/proc/{process.pid}/task/*/comm"):
        with open(path, encoding="utf-8") as file:
            names[int(path.split("/")[4])] = file.read().rstrip("\n")
    return names


def expect_threads(process, names):
    """Each gives itself its name once it runs; what a rank says of a stream may come before."""
    end = time.monotonic() + LIMIT / 3
    while lacking := names - set(thread_names(process).values()):
        if time.monotonic() > end:
            sys.exit(f"expected threads {lacking}, found {thread_names(process)}")
        time.sleep(0.01)


@contextlib.contextmanager
def stopped(processes):
    """Their streams' threads, where this machine lets one process stop another's."""
    libc = ctypes.CDLL(None, use_errno=True)

    def trace(request, thread):
        has_failed = libc.ptrace(request, thread, None, None) != 0
        if has_failed and ctypes.get_errno() != errno.EPERM:
            sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
        return not has_failed
    threads = [number for process in processes for number, name in thread_names(process).items() if name == "bagua comm"]
    threads = [thread for thread in threads if trace(SEIZE, thread) and trace(INTERRUPT, thread)]
    for thread in threads:
        os.waitpid(thread, WAIT_FOR_THREADS)
    try:
        yield
    finally:
        for thread in threads:
            trace(DETACH, thread)


def ask(process, patterns, by_signal):
    # It may be on its way to where it hangs.
    end = time.monotonic() + LIMIT / 3
    while True:
        process.stdin.write("?\n")
        process.stdin.flush()
        said = until(process.stdout, "that was all")
        if all(re.search(pattern, said) for pattern in patterns) or time.monotonic() > end:
            break
        time.sleep(0.05)
    for pattern in patterns:
        expect(pattern, said)
    process.send_signal(signal.SIGUSR1)
    if by_signal:
        said = until(process.stderr, "stream 'comm'")
        expect(rf"bagua: process {process.pid}\n", said)


def run(plan, folder, hosts, asks):
    rendezvous = f"{folder}/{'-'.join(hosts)}-{asks}"
    environment = dict(os.environ, **({"BAGUA_DUMP_SIGNAL": "USR1"} if asks else {}))
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", str(rank), hosts[rank], plan, rendezvous], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for rank in range(RANKS)]
    try:
        for process in ranks:
            until(process.stdout, "begun")
        patterns = [
            [r"session of plan '.*', rank 0, step 0: the program has given all tensors; it waits for tensor '.*'",
             r"stream 'comm': instruction \d+ '.*' \(AllReduce\) on stream 'comm' \(touches '.*'\) in step 0 is in progress, for [\d.]+\w+",
             r"ranks 0 have come, ranks 1 have not" if hosts[0] == hosts[1] else
             r"communicator 'comm .*': all_reduce of rank 0 waits for a message of rank 1 of another host, for [\d.]+\w+"],
            [r"session of plan '.*', rank 1, step 0: the program has not given '.*'",
             r"stream 'comm': instruction .* in step 0 waits for tensor '.*', which the program has not given, for [\d.]+\w+"]]
        for rank, process in enumerate(ranks):
            ask(process, patterns[rank], asks)
            expect_threads(process, {"bagua comm", "bagua control", *(["bagua dump"] if asks else []),
                                     *(["bagua alarm"] if hosts[0] != hosts[1] else [])})
        with stopped(ranks):
            for rank, process in enumerate(ranks):
                ask(process, patterns[rank], asks)
        # Who has a handler of its own, and does not ask for dumps, lives, and nothing is written.
        for process in ranks:
            if process.poll() is not None:
                sys.exit(f"a rank ended with {process.returncode}")
            process.kill()
            if not asks and (said := process.stderr.read()):
                sys.exit(f"expected nothing, found {said}")
    finally:
        for process in ranks:
            process.kill()


def refuse(name):
    """A program runs without what it asks for, and is told so."""
    done = subprocess.run([sys.executable, "-c", "from bagua.runtime import World; World.in_process(1, 5)"], capture_output=True, text=True, timeout=LIMIT,
                          env=dict(os.environ, BAGUA_DUMP_SIGNAL=name))
    if done.returncode or done.stderr != f"bagua: BAGUA_DUMP_SIGNAL: expected a signal that a program can handle, as USR1, found '{name}'\n":
        sys.exit(f"BAGUA_DUMP_SIGNAL={name}: ended with {done.returncode}, {done.stderr}")


def main(plan, folder):
    # No signal, one that can't be handled, one of the C library's own, and a fault.
    for name in ("", "0", "65", "USR", "KILL", "SIGSTOP", "33", "SEGV"):
        refuse(name)
    for hosts in (["one", "one"], ["one", "two"]):
        for asks in (True, False):
            run(plan, folder, hosts, asks)
    print("each rank says what it waits for")


if __name__ == "__main__":
    sys.exit(rank_of_run(int(sys.argv[2]), *sys.argv[3:]) if sys.argv[1] == "--rank" else main(*sys.argv[1:]))
