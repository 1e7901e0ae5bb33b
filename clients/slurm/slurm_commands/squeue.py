"""squeue: the queue as berth has it."""
import os
import pwd
import sys
import time

import berth

from . import jobs, tables
from .options import Table, Usage, listed

TABLE = Table("squeue", """format= o
Format= O
noheader h
states= t
user= u
jobs= j
name= n
partition= p
array r
me
long l
all a
account= A
qos= q
nodelist= w
sort= S
iterate= i
clusters= M
start
verbose v
steps s
federation
local
hide""")

SHORT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"

LETTERS = {
    "i": ("JOBID", lambda j: j.shown_id), "A": ("JOBID", lambda j: str(j.raw)),
    "F": ("ARRAY_JOB_ID", lambda j: str(j.base)),
    "K": ("ARRAY_TASK_ID", lambda j: j.shown_task), "j": ("NAME", lambda j: j.name),
    "P": ("PARTITION", lambda j: jobs.PARTITION), "u": ("USER", lambda j: j.user),
    "U": ("UID", lambda j: str(j.uid)), "t": ("ST", lambda j: j.code),
    "T": ("STATE", lambda j: j.state), "M": ("TIME", lambda j: jobs.short_time(j.elapsed)),
    "l": ("TIME_LIMIT", lambda j: limit(j)), "L": ("TIME_LEFT", lambda j: left(j)),
    "D": ("NODES", lambda j: "1"), "C": ("CPUS", lambda j: str(j.cpus)),
    "m": ("MIN_MEMORY", lambda j: jobs.mib_text(j.mib)), "r": ("REASON", lambda j: j.reason),
    "R": ("NODELIST(REASON)", lambda j: j.where or "(%s)" % j.reason),
    "N": ("NODELIST", lambda j: j.where), "b": ("TRES_PER_NODE", lambda j: gres(j)),
    "a": ("ACCOUNT", lambda j: "berth"), "q": ("QOS", lambda j: "normal"),
    "Q": ("PRIORITY", lambda j: str(j.data.get("priority", 0))),
    "S": ("START_TIME", lambda j: jobs.clock(j.started or j.predicted).replace("Unknown", "N/A")),
    "e": ("END_TIME", lambda j: jobs.clock(j.ends).replace("Unknown", "N/A")),
    "V": ("SUBMIT_TIME", lambda j: jobs.clock(j.data.get("submitted_at"))),
    "Z": ("WORK_DIR", lambda j: j.data.get("directory", "")),
    "o": ("COMMAND", lambda j: j.data.get("command_line", "")),
    "1": ("JOBID", lambda j: str(j.base if "[" in j.shown_id else j.raw)),
    "2": ("TRES_PER_JOB", lambda j: gres(j)), "Y": ("SCHEDNODES", lambda j: planned(j)),
    "k": ("COMMENT", lambda j: j.data.get("comment", "(null)")),
    "E": ("DEPENDENCY", lambda j: j.dependency), "B": ("EXEC_HOST", lambda j: j.where or "n/a"),
}
NAMES = {
    "jobid": "1", "jobarrayid": "i", "name": "j", "username": "u", "userid": "U", "state": "T",
    "statecompact": "t", "reason": "r", "reasonlist": "R", "nodelist": "N", "partition": "P",
    "timeused": "M", "timelimit": "l", "timeleft": "L", "numcpus": "C", "numnodes": "D",
    "minmemory": "m", "arraytaskid": "K", "arrayjobid": "F", "starttime": "S", "endtime": "e",
    "submittime": "V", "workdir": "Z", "account": "a", "tres-per-job": "2", "tres-per-node": "b",
    "gres": "b", "command": "o", "prioritylong": "Q", "priority": "Q",
}


def limit(job):
    return "UNLIMITED" if job.limit is None else jobs.short_time(job.limit)


def left(job):
    return "UNLIMITED" if job.limit is None else jobs.short_time(max(0, job.limit - job.elapsed))


def planned(job):
    """Of a job that waits for a place and nothing else."""
    return jobs.HOST if job.predicted and job.reason == "Resources" else "(null)"


def predict(rows):
    """When waiting jobs start, as berth predicts it."""
    starts = {one["job"]: one["at"] for one in berth.request("GET", "/v1/starts")["starts"]}
    for job in rows:
        job.predicted = job.data.get("begin_at") or starts.get(job.raw)
    # As Slurm has them: by their start, those without one behind.
    rows.sort(key=lambda job: (job.predicted is None, job.predicted or 0, job.raw))


def gres(job):
    return "gres:gpu:%d" % job.gpus if job.gpus else "N/A"


def states_of(options):
    words = [word.upper() for word in listed(options, "states")]
    if "ALL" in words:
        return None
    for word in words:
        if word not in jobs.CODES and word not in jobs.CODES.values():
            raise Usage("squeue: error: Invalid job state specified: %s\nsqueue: error: Valid job "
                        "states include: %s\n" % (word.lower(), ",".join(jobs.CODES)))
    codes = {jobs.CODES.get(word, word) for word in words}
    return codes or {"PD", "R", "S", "CG", "CF"}


def users_of(options):
    names = listed(options, "user")
    if "me" in options:
        names.append(jobs.me())
    known = []
    for name in names:
        try:
            known.append(pwd.getpwuid(int(name)).pw_name if name.isdigit()
                         else pwd.getpwnam(name).pw_name)
        except KeyError:
            print("squeue: error: Invalid user: %s\n" % name, file=sys.stderr)
            known.append(None)
    return known


def folded(found, is_array_split):
    """Tasks of an array that wait are one row, unless -r."""
    rows, heads = [], {}
    for job in found:
        job.shown_id, job.shown_task = job.id, "N/A" if job.task is None else str(job.task)
        if job.array is None or not job.is_pending or is_array_split:
            rows.append(job)
        elif job.array in heads:
            heads[job.array].append(job.task)
        else:
            heads[job.array] = [job.task]
            rows.append(job)
    for row in rows:
        if row.array in heads and row.is_pending and not is_array_split:
            at_once = row.data.get("array_at_once")
            text = ranges(sorted(heads[row.array])) + ("%%%d" % at_once if at_once else "")
            row.shown_id, row.shown_task = "%d_[%s]" % (row.array, text), text
    return rows


def ranges(numbers):
    parts, at = [], 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts.append(str(numbers[at]) if end == at else "%d-%d" % (numbers[at], numbers[end]))
        at = end + 1
    return ",".join(parts)


def chosen(options):
    wanted = listed(options, "jobs")
    for text in wanted:
        if not jobs.is_id(text):
            raise Usage("squeue: error: Invalid job id: %s" % text)
    # A client that asks for one job that has just ended is told nothing, and no error.
    everything = jobs.everything(ended=True)
    fresh = [job for job in everything
             if not job.has_ended or time.time() - job.ended < jobs.RECENT]
    if wanted:
        fresh = [job for job in fresh if any(jobs.matches(job, text) for text in wanted)]
        if not fresh and len(wanted) == 1:
            raise Usage("slurm_load_jobs error: Invalid job id specified")
    states, users = states_of(options), users_of(options)
    names = listed(options, "name")
    return [job for job in fresh
            if (states is None or job.code in states) and (not users or job.user in users)
            and (not names or job.name in names)
            and jobs.is_chosen(job, options)]


def print_wide(options, rows):
    columns = []
    for part in options["Format"].split(","):
        name, _, width = part.strip().partition(":")
        letter = NAMES.get(name.lower())
        if letter is None:
            raise Usage("squeue: error: Invalid field: %s" % name)
        columns.append((letter, int(width.lstrip(".") or 20) if width else 20))
    if "noheader" not in options:
        print("".join(LETTERS[letter][0][:width].ljust(width) for letter, width in columns))
    for row in rows:
        print("".join(LETTERS[letter][1](row)[:width].ljust(width) for letter, width in columns))


def run(arguments):
    options, rest = TABLE.read(arguments)
    if rest:
        raise Usage("squeue: error: Unrecognized option: %s" % rest[0])
    rows = folded(chosen(options), "array" in options)
    rows.sort(key=lambda job: (not job.is_pending, not job.has_ended, job.raw))
    if "start" in options:
        rows = [job for job in rows if job.is_pending]
        predict(rows)
    if "Format" in options:
        print_wide(options, rows)
        return 0
    form = options.get("format") or os.environ.get("SQUEUE_FORMAT") or (
        START if "start" in options else LONG if "long" in options else SHORT)
    fields, tail = tables.by_percent(form, LETTERS)
    if "long" in options:
        print(time.strftime("%a %b %d %H:%M:%S %Y"))
    if "noheader" not in options:
        print(tables.percent_line(fields, tail, lambda letter: LETTERS[letter][0]))
    for row in rows:
        print(tables.percent_line(fields, tail, lambda letter: LETTERS[letter][1](row)))
    return 0
