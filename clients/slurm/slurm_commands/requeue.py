"""scontrol requeue: ends the run of a batch job, which starts again under its number.

berth starts a job again after exit codes that it names (requeue_on). sbatch names one that no
script exits with; the shell that waits for the script exits with it if it was told so by a signal.
"""
import contextlib
import os
import signal
import time

from . import processes
from .options import Usage

CODE = 240
TOLD = 50  # a signal that nobody else sends
GRACE = 30.0  # seconds from SIGTERM to SIGKILL, Slurm's KillWait
LONGEST = 5.0  # seconds that a job which has just started takes to have its shell


def refuse(why, text):
    raise Usage("%s for job %s" % (why, text))


def is_possible(job):
    return CODE in job.data.get("requeue_on", [])


def run(job, text):
    if job.is_pending:
        refuse("Job is pending execution", text)
    if job.uid != os.getuid() and os.getuid() != 0:
        refuse("Access/permission denied", text)
    if job.has_ended or job.state == "COMPLETING":
        refuse("Job/step already completing or completed", text)
    if not is_possible(job):
        refuse("Requested operation is presently disabled", text)
    keeper = keeper_of(job)
    if keeper is None:
        refuse("Job/step already completing or completed", text)
    os.kill(keeper, TOLD)
    end_others(job, keeper)


def keeper_of(job):
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        keeper = processes.keeper_of(job)
        if keeper is not None and processes.hears(keeper, TOLD):
            return keeper
        time.sleep(0.02)
    return None


def end_others(job, keeper):
    """In the background: the caller may be one of them, and is to see that it was done."""
    done, waits = os.pipe()
    if os.fork() != 0:
        return  # the pipe closes when this process ends
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.close(waits)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.read(done, 1)
    run = next((word for word in processes.words_of(keeper, "environ")
                if word.startswith(b"BERTH_ATTEMPT=")), b"")
    until = time.monotonic() + GRACE
    end_steps(job, run, until)
    for number, end in ((signal.SIGTERM, until), (signal.SIGKILL, until + GRACE)):
        send(of_run(job, run), number, signal.SIGCONT)
        while os.path.exists("/proc/%d" % keeper) and time.monotonic() < end:
            time.sleep(0.05)
        if not os.path.exists("/proc/%d" % keeper):
            break
    os._exit(0)


def end_steps(job, run, until):
    """berth ends all processes once the script has ended, and what a step saves takes its time. So
    the script, which may have no ear for SIGTERM, stands still meanwhile and begins nothing."""
    script = processes.script_of(job)
    if script is None or not steps_of(job, run):
        return
    send([script], signal.SIGSTOP)
    send(steps_of(job, run), signal.SIGTERM, signal.SIGCONT)
    while steps_of(job, run) and time.monotonic() < until:
        time.sleep(0.05)


def of_run(job, run):
    """The processes of this run alone: the next one begins once the first process has ended."""
    return [pid for pid, _ in processes.of(job)
            if pid != os.getpid() and run in processes.words_of(pid, "environ")]


def steps_of(job, run):
    mine = set(of_run(job, run))
    return [pid for pid, is_step in processes.of(job) if is_step and pid in mine]


def send(pids, *numbers):
    for pid in pids:
        for number in numbers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
