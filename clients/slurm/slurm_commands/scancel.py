"""scancel: ends jobs, or sends a signal to their processes."""
import os
import signal
import sys

import berth

from . import jobs, processes
from .options import Table, Usage, listed

TABLE = Table("scancel", """signal= s
state= t
user= u
name= n
jobname=
me
batch b
full f
quiet Q
verbose v
partition= p
account= A
interactive i
clusters= M
qos= q
nodelist= w
hurry H
ctld""")

DENIED = 210


def signal_of(text):
    name = text.upper()
    if name.isdigit():
        return int(name)
    name = name if name.startswith("SIG") else "SIG" + name
    if name not in signal.Signals.__members__:
        raise Usage("Unknown job signal: %s" % text)
    return signal.Signals[name].value


def send(job, number, options):
    """To the steps; to the batch shell with -b, to both with -f, as Slurm does."""
    for pid, is_step in list(processes.of(job)):
        if "full" in options or is_step != ("batch" in options):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def denied(job):
    print("scancel: error: Kill job error on job id %s: Access/permission denied" % job.id,
          file=sys.stderr)


def end(chosen, options):
    """All of them with one request, so that none starts in the place of another. True if one was
    another's."""
    if not chosen:
        return False
    answer = berth.request("POST", "/v1/cancel", {"jobs": [job.handle for job in chosen]})
    by_raw = {job.raw: job for job in chosen}
    is_denied = False
    for refused in answer["refused"]:
        job = by_raw.get(refused.get("id"))
        if job is None:  # forgotten since
            continue
        if "belongs to" in refused["error"]:
            is_denied = True
            denied(job)
        elif "verbose" in options:
            print("scancel: error: Kill job error on job id %s: Job/step already completing or "
                  "completed" % job.id, file=sys.stderr)
    return is_denied


def run(arguments):
    options, words = TABLE.read(arguments)
    names = listed(options, "name") + listed(options, "jobname")
    users = listed(options, "user") + ([jobs.me()] if "me" in options else [])
    states = {jobs.CODES.get(word.upper(), word.upper()) for word in listed(options, "state")}
    wanted = [part for word in words for part in word.split(",")]
    for text in wanted:
        if not jobs.is_id(text):
            raise Usage("scancel: error: Invalid job id %s" % text)
    if not (wanted or names or users or states or "partition" in options):
        raise Usage("scancel: error: No job identification provided")
    number = signal_of(options["signal"]) if "signal" in options else signal.SIGKILL.value
    is_denied = False
    ended = []
    for job in jobs.everything(ended=bool(wanted) and "verbose" in options):
        if wanted and not any(jobs.matches(job, text) for text in wanted):
            continue
        if (names and job.name not in names) or (users and job.user not in users):
            continue
        if (states and job.code not in states) or (not wanted and job.user != jobs.me()
                                                   and not users):
            continue
        if "verbose" in options:
            print("scancel: Terminating job %s" % job.id, file=sys.stderr)
        if number == signal.SIGKILL.value:
            ended.append(job)
        elif job.uid != os.getuid() and os.getuid() != 0:
            is_denied = True
            denied(job)
        else:
            send(job, number, options)
    is_denied = end(ended, options) or is_denied
    return DENIED if is_denied else 0
