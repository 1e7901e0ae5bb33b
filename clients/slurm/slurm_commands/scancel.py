"""scancel: ends jobs, or sends a signal to their processes."""
import os
import re
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
reservation= R
wckey=
sibling=
hurry H
ctld""")
FILTERS = ("name", "jobname", "user", "me", "state", "partition", "account", "qos", "nodelist",
           "reservation", "wckey")

DENIED = 210


def signal_of(text):
    name = text.upper()
    if name.isdigit():
        return int(name)
    name = name if name.startswith("SIG") else "SIG" + name
    if name not in signal.Signals.__members__:
        raise Usage("Unknown job signal: %s" % text)
    return signal.Signals[name].value


def send(job, number, options, step=None):
    """To the steps, or to one; with -b to the script's own process, with -f to all, as Slurm
    does."""
    if step == "batch" or (step is None and "batch" in options and "full" not in options):
        meant = {processes.script_of(job)} - {None}
    else:
        meant = {pid for pid, is_step in processes.of(job)
                 if (processes.step_of(pid) == step if step else is_step or "full" in options)}
    for pid in meant:
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


def is_confirmed(job, step):
    """Asks until it is told; nobody there means no."""
    what = "job_id=%s" % job.id if step is None else "step_id=%s.%s" % (job.id, step)
    while True:
        print("Cancel %s name=%s partition=%s [y/n]? " % (what, job.name, jobs.PARTITION), end="")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line or line[0].lower() in "yn":
            return line[:1].lower() == "y"


def filtered(options):
    """The jobs that every filter keeps."""
    names = listed(options, "name") + listed(options, "jobname")
    users = listed(options, "user") + ([jobs.me()] if "me" in options else [])
    states = {jobs.CODES.get(word.upper(), word.upper()) for word in listed(options, "state")}
    for state in states - set(jobs.CODES.values()):
        raise Usage("scancel: error: Invalid job state specified: %s" % state.lower())
    for job in jobs.everything(ended="verbose" in options):
        if ((not names or job.name in names)
                and (not users or job.user in users or str(job.uid) in users)
                and (not states or job.code in states) and jobs.is_chosen(job, options)):
            yield job


def wanted_of(words):
    """(job, step or None) of each word: `7`, `7_3`, `7.0`."""
    found = []
    for word in (part for words_of_it in words for part in re.split(r",(?![^\[]*\])", words_of_it)):
        text, dot, step = word.partition(".")
        if not jobs.is_id(text) or (dot and not (step.isdigit() or step == "batch")):
            raise Usage("scancel: error: Invalid job id %s" % word)
        found.append((text, step if dot else None))
    return found


def say_terminating(text, step):
    print("scancel: Terminating %s %s%s" % (("job", text, "") if step is None else
                                            ("step", text, "." + step)), file=sys.stderr)


def say_unknown(wanted, chosen):
    for text, step in wanted:
        if not any(jobs.matches(job, text) for job in chosen):
            say_terminating(text, step)
            print("scancel: error: Kill job error on job id %s: Invalid job id specified" % text,
                  file=sys.stderr)


def run(arguments):
    options, words = TABLE.read(arguments)
    wanted = wanted_of(words)
    is_filtered = any(name in options for name in FILTERS)
    if not wanted and not is_filtered:
        raise Usage("scancel: error: No job identification provided")
    number = signal_of(options["signal"]) if "signal" in options else signal.SIGKILL.value
    is_denied, ended = False, []
    chosen = list(filtered(options))
    if "verbose" in options and not is_filtered:
        say_unknown(wanted, chosen)
    for job in chosen:
        steps = {step for text, step in wanted if jobs.matches(job, text)}
        if wanted and not steps:
            continue
        if not wanted and job.user != jobs.me() and "user" not in options:
            continue
        for step in [None] if None in steps or not wanted else sorted(steps):
            if "interactive" in options and not is_confirmed(job, step):
                continue
            if "verbose" in options:
                say_terminating(job.id, step)
            if step is None and number == signal.SIGKILL.value:
                ended.append(job)
            elif job.uid != os.getuid() and os.getuid() != 0:
                is_denied = True
                denied(job)
            else:
                send(job, number, options, step)
    is_denied = end(ended, options) or is_denied
    return DENIED if is_denied else 0
