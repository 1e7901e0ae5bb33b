"""The processes of a job, as /proc has them. Those of others are seen by root alone."""
import os

import berth

FIRST_LINE = "# berth's keeper of a batch script"  # of the command of the shell that waits for it


def words_of(pid, what):
    try:
        with open("/proc/%d/%s" % (pid, what), "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def is_of(job, words):
    """An environment of this job: another berthd's jobs have the same numbers."""
    if b"BERTH_JOB_ID=%d" % job.raw not in words:
        return False
    report = next((word for word in words if word.startswith(b"BERTH_REPORT=")), b"")
    try:
        return os.path.samefile(os.fsdecode(report.partition(b"=")[2]),
                                berth.socket_path() + ".report")
    except OSError:
        return False


def is_keeper(pid):
    """Also of its children, for the moment between fork and exec."""
    words = words_of(pid, "cmdline")
    return len(words) > 2 and words[2].startswith(FIRST_LINE.encode())


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def of(job):
    """(pid, is a step's), without the shell that waits for the script."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        words = words_of(pid, "environ")
        if is_of(job, words) and not is_keeper(pid):
            yield pid, any(word.startswith(b"SLURM_STEP_ID=") for word in words)


def keeper_of(job):
    """The shell that waits for the script; None where there is none, or it is another user's."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if is_keeper(pid) and is_of(job, words_of(pid, "environ")) and not is_keeper(parent_of(pid)):
            return pid
    return None


def script_of(job):
    """The script's own process, whose number its SLURM_TASK_PID has; of a job without a keeper the
    first process. Where a signal was asked for, a shell of the keeper's stands between them."""
    keeper = keeper_of(job)
    own = [pid for pid, is_step in of(job) if not is_step]
    return next((pid for pid in own if (
        parent_of(pid) not in own if keeper is None else is_keeper(parent_of(pid)))), None)


def step_of(pid):
    return next((os.fsdecode(word.partition(b"=")[2]) for word in words_of(pid, "environ")
                 if word.startswith(b"SLURM_STEP_ID=")), None)


def hears(pid, number):
    """It has a handler of this signal."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
