"""What the steps of a job hold of its GPUs, cores and memory, so that each has its own.

A pool is the job's; each task of a step has one of its own for the steps that it begins. So a step
waits for its neighbours alone, never for the step that it is in, and no two wait for each other. A
file has the pool's holders. A holder is srun's process: once it is gone, it holds nothing.
"""
import contextlib
import fcntl
import json
import os
import sys
import time

from . import steps

PAUSE = 0.05  # seconds between two looks of the step that is next


def take(kind, names, count, busy):
    """`count` of the names, in their order. Calls busy() once if the step has to wait; steps get
    their turn in the order in which they came."""
    return when_free(kind, lambda path: taken(path, names, count), names[:count], busy)


def take_amount(kind, whole, amount, busy):
    """The same for `amount` of a whole whose parts have no names."""
    when_free(kind, lambda path: taken_amount(path, whole, amount), True, busy)


def when_free(kind, try_take, shared, busy):
    """What try_take(path) gives once that is not None; `shared` where nothing can be noted."""
    path = steps.file_of_this_run(steps.state_folder("slurm-leases"))
    if path is None:
        return shared
    if "SLURM_STEP_ID" in os.environ:
        path += "-%s-%s" % (os.environ["SLURM_STEP_ID"], os.environ.get("SLURM_PROCID", "0"))
    path += "-" + kind
    try:
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            steps.forget_old(os.path.dirname(path))
        with in_turn(path + "-turn", busy) as (turn, was_busy):
            while True:
                free = try_take(path)
                if free is not None:
                    return free
                if not was_busy:
                    busy()
                    was_busy = True
                mark_waiting(turn)
                time.sleep(PAUSE)
    except OSError as error:
        print("srun: warning: %s: %s: the step does not wait for the job's %s, it shares them"
              % (path, error.strerror, kind), file=sys.stderr)
        return shared


@contextlib.contextmanager
def in_turn(path, busy):
    """Only one step of a pool looks for what becomes free; the others sleep. One that only passes
    through is no reason to be busy: who waits in its turn has marked the file."""
    with open(path, "a", encoding="utf-8") as turn:
        was_busy = False
        while not has_lock(turn):
            if os.fstat(turn.fileno()).st_size > 0:
                busy()
                was_busy = True
                fcntl.flock(turn, fcntl.LOCK_EX)
                break
            time.sleep(PAUSE / 10)
        turn.truncate(0)  # it may be of one that was killed
        try:
            yield turn, was_busy
        finally:
            turn.truncate(0)


def has_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def mark_waiting(turn):
    if os.fstat(turn.fileno()).st_size == 0:
        turn.write("waits")
        turn.flush()


def taken(path, names, count):
    """Notes this process as the holder of what is free; None if that is too little."""
    with holders_in(path) as holders:
        held = {name for holder in holders for name in holder["has"]}
        free = [name for name in names if name not in held][:count]
        return None if len(free) < count else note(holders, free)


def taken_amount(path, whole, amount):
    with holders_in(path) as holders:
        is_free = sum(holder["has"] for holder in holders) + amount <= whole
        return note(holders, amount) if is_free else None


@contextlib.contextmanager
def holders_in(path):
    """Those that are alive; what is added to them is written."""
    with open(path, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        holders = [holder for holder in read(file) if began(holder["pid"]) == holder["began"]]
        before = len(holders)
        yield holders
        if len(holders) > before:
            file.truncate(0)
            file.write(json.dumps(holders))


def note(holders, has):
    holders.append({"pid": os.getpid(), "began": began(os.getpid()), "has": has})
    return has


def read(file):
    try:
        return json.load(file)
    except ValueError:  # empty, or its writer was killed
        return []


def began(pid):
    """When the process began, in ticks of the machine's; None once it has ended."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
