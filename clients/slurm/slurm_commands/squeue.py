"""squeue: the queue as berth has it."""
import contextlib
import pwd
import re
import sys
import time

import berth

from . import hosts, jobs, requeue, steps, tables
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
steps? s
federation
sibling
local
hide
priority P
array-unique
only-job-state
noconvert
licenses= L
reservation= R
json
yaml""")
VARIABLES = {"ACCOUNT": "account", "ARRAY": "array", "ARRAY_UNIQUE": "array-unique",
             "LICENSES": "licenses", "NAMES": "name", "PARTITION": "partition", "QOS": "qos",
             "SORT": "sort", "STATES": "states", "USERS": "user"}

SHORT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
STEPS = "%.15i %.8j %.9P %.8u %.9M %N"

# Letter of -o, names of -O, head, and what is known of a job, or what Slurm prints for nothing.
COLUMNS = (
    ("a", "account", "ACCOUNT", lambda j: j.account),
    ("b", "tres-per-node gres", "TRES_PER_NODE", lambda j: gres(j)),
    ("c", "mincpus", "MIN_CPUS", lambda j: str(j.cpus)),
    ("d", "mintmpdisk", "MIN_TMP_DISK", "0"),
    ("e", "endtime", "END_TIME", lambda j: clock(j.ends)),
    ("f", "feature", "FEATURES", "(null)"),
    ("g", "groupname", "GROUP", lambda j: j.group),
    ("h", "oversubscribe", "OVER_SUBSCRIBE", lambda j: shares(j)),
    ("i", "jobarrayid", "JOBID", lambda j: j.shown_id),
    ("j", "name", "NAME", lambda j: j.name),
    ("k", "comment", "COMMENT", lambda j: j.data.get("comment") or "(null)"),
    ("l", "timelimit", "TIME_LIMIT", lambda j: limit(j)),
    ("m", "minmemory", "MIN_MEMORY", lambda j: j.least_memory[1]),
    ("n", "reqnodes", "REQ_NODES", ""),
    ("o", "command", "COMMAND", lambda j: j.command or "(null)"),
    ("p", "priority", "PRIORITY", lambda j: "%.14f" % (priority(j) / 0xffffffff)),
    ("q", "qos", "QOS", lambda j: j.qos),
    ("r", "reason", "REASON", lambda j: j.reason),
    ("s", "selectjobinfo", "", ""),
    ("t", "statecompact", "ST", lambda j: j.code),
    ("u", "username", "USER", lambda j: j.user),
    ("v", "reservation", "RESERVATION", lambda j: j.reservation or "(null)"),
    ("w", "wckey", "WCKEY", "(null)"),
    ("x", "excnodes", "EXC_NODES", ""),
    ("y", "nice", "NICE", "0"),
    ("z", "sct", "S:C:T", "*:*:*"),
    ("A", "jobid", "JOBID", lambda j: str(number(j))),
    ("B", "batchhost", "EXEC_HOST", lambda j: j.where or "n/a"),
    ("C", "numcpus", "CPUS", lambda j: str(j.cpus)),
    ("D", "numnodes", "NODES", "1"),
    ("E", "dependency", "DEPENDENCY", lambda j: j.dependency),
    ("F", "arrayjobid", "ARRAY_JOB_ID", lambda j: str(j.base)),
    ("G", "groupid", "GROUP", lambda j: str(j.gid)),
    ("H", "sockets", "SOCKETS_PER_NODE", "*"),
    ("I", "cores", "CORES_PER_SOCKET", "*"),
    ("J", "threads", "THREADS_PER_CORE", "*"),
    ("K", "arraytaskid", "ARRAY_TASK_ID", lambda j: j.shown_task),
    ("L", "timeleft", "TIME_LEFT", lambda j: left(j)),
    ("M", "timeused", "TIME", lambda j: jobs.short_time(j.elapsed)),
    ("N", "nodelist", "NODELIST", lambda j: j.where),
    ("O", "contiguous", "CONTIGUOUS", "0"),
    ("P", "partition", "PARTITION", jobs.PARTITION),
    ("Q", "prioritylong", "PRIORITY", lambda j: str(priority(j))),
    ("R", "reasonlist", "NODELIST(REASON)", lambda j: j.where or "(%s)" % j.reason),
    ("S", "starttime", "START_TIME", lambda j: clock(j.started or j.predicted)),
    ("T", "state", "STATE", lambda j: j.state),
    ("U", "userid", "UID", lambda j: str(j.uid)),
    ("V", "submittime", "SUBMIT_TIME", lambda j: clock(j.data.get("submitted_at"))),
    ("W", "licenses", "LICENSES", "(null)"),
    ("X", "corespec", "CORE_SPEC", "N/A"),
    ("Y", "schednodes", "SCHEDNODES", lambda j: planned(j)),
    ("Z", "workdir", "WORK_DIR", lambda j: j.directory),
    ("", "accruetime", "ACCRUE_TIME",
     lambda j: "N/A" if j.is_held else clock(j.data.get("submitted_at"))),
    ("", "eligibletime", "ELIGIBLE_TIME",
     lambda j: "N/A" if j.is_held else clock(j.begins or j.data.get("submitted_at"))),
    ("", "lastschedeval", "LAST_SCHED_EVAL", lambda j: clock(j.data.get("submitted_at"))),
    ("", "pendingtime", "PENDING_TIME", lambda j: str(int(max(
        0, (j.data.get("started_at") or time.time()) - (j.data.get("submitted_at") or 0))))),
    ("", "allocnodes", "ALLOC_NODES", jobs.HOST), ("", "allocsid", "ALLOC_SID", "0"),
    ("", "associd", "ASSOC_ID", "0"), ("", "admin_comment", "ADMIN_COMMENT", "(null)"),
    ("", "system_comment", "SYSTEM_COMMENT", lambda j: j.launch_fault or "(null)"),
    ("", "batchflag", "BATCH_FLAG", lambda j: str(int(j.is_batch))),
    ("", "boardspernode", "BOARDS_PER_NODE", "0"), ("", "burstbuffer", "BURST_BUFFER", "(null)"),
    ("", "burstbufferstate", "BURST_BUFFER_STATE", "(null)"),
    ("", "cluster", "CLUSTER", jobs.CLUSTER),
    ("", "clusterfeature", "CLUSTER_FEATURES", "(null)"), ("", "container", "CONTAINER", "(null)"),
    ("", "cpus-per-task", "CPUS_PER_TASK", lambda j: str(max(1, j.cpus // j.tasks))),
    ("", "cpus-per-tres", "CPUS_PER_TRES", "N/A"), ("", "mem-per-tres", "MEM_PER_TRES", "N/A"),
    ("", "deadline", "DEADLINE", "N/A"), ("", "delayboot", "DELAY_BOOT", "0:00"),
    ("", "derivedec", "DERIVED_EC", "0"),
    ("", "exit_code", "EXIT_CODE", lambda j: j.exit.split(":")[0]),
    ("", "hetjobid", "HET_JOB_ID", "N/A"), ("", "hetjobidset", "HET_JOB_ID_SET", "N/A"),
    ("", "hetjoboffset", "HET_JOB_OFFSET", "N/A"),
    ("", "maxcpus", "MAX_CPUS", lambda j: str(j.cpus)), ("", "maxnodes", "MAX_NODES", "1"),
    ("", "mcslabel", "MCSLABEL", "(null)"), ("", "mintime", "TIME_MIN", "0:00"),
    ("", "network", "NETWORK", "(null)"), ("", "ntperboard", "NTASKS_PER_BOARD", "0"),
    ("", "ntpercore", "NTASKS_PER_CORE", "N/A"), ("", "ntpernode", "NTASKS_PER_NODE", "0"),
    ("", "ntpersocket", "NTASKS_PER_SOCKET", "N/A"),
    ("", "numtasks", "TASKS", lambda j: str(j.tasks)),
    ("", "origin", "ORIGIN", "NA"), ("", "originraw", "ORIGIN_RAW", "NA"),
    ("", "preempttime", "PREEMPT_TIME", "N/A"), ("", "prefer", "PREFER", "(null)"),
    ("", "profile", "PROFILE", "NotSet"), ("", "reboot", "REBOOT", "0"),
    ("", "reqswitch", "REQ_SWITCH", "0"),
    ("", "requeue", "REQUEUE", lambda j: str(int(requeue.is_possible(j)))),
    ("", "resizetime", "RESIZE_TIME", "N/A"),
    ("", "restartcnt", "RESTART_COUNT", lambda j: str(j.restarts)),
    ("", "siblingsactive", "ACTIVE_SIBLINGS", "NA"),
    ("", "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", "NA"),
    ("", "siblingsviable", "VIABLE_SIBLINGS", "NA"),
    ("", "siblingsviableraw", "VIABLE_SIBLINGS_RAW", "NA"),
    ("", "sperboard", "SOCKETS_PER_BOARD", "0"),
    ("", "stderr", "STDERR", lambda j: j.errors), ("", "stdin", "STDIN", lambda j: j.input),
    ("", "stdout", "STDOUT", lambda j: j.output),
    ("", "tres-alloc", "TRES_ALLOC", lambda j: j.tres_by_count()),
    ("", "tres-bind", "TRES_BIND", "N/A"), ("", "tres-freq", "TRES_FREQ", "N/A"),
    ("", "tres-per-job", "TRES_PER_JOB", lambda j: gres(j)),
    ("", "tres-per-socket", "TRES_PER_SOCKET", "N/A"),
    ("", "tres-per-task", "TRES_PER_TASK", "N/A"),
)
STEP_COLUMNS = (
    ("b", "tres-per-node gres", "TRES_PER_NODE", "N/A"),
    ("i", "stepid jobid", "STEPID", lambda s: "%s.%s" % (s.shown_id, s.label)),
    ("j", "stepname name", "NAME", lambda s: s.name),
    ("l", "timelimit", "TIME_LIMIT", "UNLIMITED"),
    ("u", "username", "USER", lambda s: s.user),
    ("A", "numtasks", "TASKS", "1"),
    ("C", "numcpus", "CPUS", lambda s: str(s.cpus)),
    ("F", "arrayjobid", "ARRAY_JOB_ID", lambda s: str(s.base)),
    ("K", "arraytaskid", "ARRAY_TASK_ID", lambda s: s.shown_task),
    ("M", "timeused", "TIME", lambda s: jobs.short_time(s.elapsed)),
    ("N", "nodes nodelist", "NODELIST", lambda s: s.where),
    ("P", "partition", "PARTITION", jobs.PARTITION),
    ("S", "starttime", "START_TIME", lambda s: clock(s.started)),
    ("T", "stepstate state", "STATE", lambda s: s.state),
    ("U", "userid", "UID", lambda s: str(s.uid)),
)
# What is sorted by number; anything else by its text.
SORTED = {
    "i": lambda j: (j.base, j.task or 0), "A": lambda j: j.raw, "F": lambda j: j.base,
    "K": lambda j: j.task or 0, "C": lambda j: j.cpus, "c": lambda j: j.cpus,
    "m": lambda j: j.mib, "l": lambda j: j.limit or float("inf"), "U": lambda j: j.uid,
    "L": lambda j: float("inf") if j.limit is None else j.limit - j.elapsed,
    "M": lambda j: j.elapsed, "p": lambda j: priority(j), "Q": lambda j: priority(j),
}


def clock(at):
    return jobs.clock(at) if at else "N/A"


def priority(job):
    return job.data.get("priority") or 0


def number(job):
    """Of an array's row its own."""
    return job.base if "[" in job.shown_id else job.raw


def shares(job):
    return "NO" if job.data.get("exclusive") else "YES" if job.data.get("share") else "OK"


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
        job.predicted = job.begins or starts.get(job.raw)


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
        head = (job.array, job.is_held)  # those that are held wait for something else
        if job.array is None or not job.is_pending or is_array_split:
            rows.append(job)
        elif head in heads:
            heads[head].append(job.task)
        else:
            heads[head] = [job.task]
            rows.append(job)
    for row in rows:
        head = (row.array, row.is_held)
        if head in heads and row.is_pending and not is_array_split:
            at_once = row.data.get("array_at_once")
            text = ranges(sorted(heads[head])) + ("%%%d" % at_once if at_once else "")
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
    for name in hosts.names(options.get("nodelist", jobs.HOST)):
        if name != jobs.HOST:
            raise Usage("squeue: error: Invalid node name %s" % name)
    states, users = states_of(options), users_of(options)
    names = listed(options, "name")
    return [job for job in fresh
            if (states is None or job.code in states) and (not users or job.user in users)
            and (not names or job.name in names)
            and jobs.is_chosen(job, options)]


def in_order(rows, text, columns):
    """`t,-i`: the last key first, as sorting keeps what is equal in place."""
    for key in reversed([part.strip() for part in text.split(",") if part.strip()]):
        letter = key.lstrip("+-#")
        if letter not in columns:
            raise Usage("squeue: error: Invalid sort specification: %s" % letter)
        value = columns[letter][1]
        by_text = (lambda row: value) if isinstance(value, str) else value
        rows.sort(key=SORTED.get(letter, by_text), reverse=key.startswith("-"))


def steps_of(rows, options):
    """Those that run, of all jobs or of `-s 7,8.0`."""
    wanted = [word.partition(".") for word in listed(options, "steps")]
    for job in rows:
        for part in steps.parts_of(job) if job.code in ("R", "S") else []:
            if part.state in ("RUNNING", "SUSPENDED") and (not wanted or any(
                    jobs.matches(job, text) and label in ("", part.label)
                    for text, _, label in wanted)):
                yield part


def shows_starts(options):
    return (re.search(r"%[-.0-9]*S", options.get("format", "")) is not None
            or "starttime" in options.get("Format", "").lower())


def show(options):
    rows = folded(chosen(options), "array" in options or "array-unique" in options)
    rows.sort(key=lambda job: (job.code, job.raw))
    table, usual = COLUMNS, START if "start" in options else LONG if "long" in options else SHORT
    if "start" in options:
        rows = [job for job in rows if job.is_pending]
        predict(rows)
        # As Slurm has them: by their start, those without one behind.
        rows.sort(key=lambda job: (job.predicted is None, job.predicted or 0, job.raw))
    elif shows_starts(options) and any(job.is_pending for job in rows):
        with contextlib.suppress(berth.Error):  # where too many look ahead, all else is known
            predict(rows)
    if "steps" in options:
        table, usual, rows = STEP_COLUMNS, STEPS, list(steps_of(rows, options))
    letters, named = tables.by_letter_and_name(table)
    if "sort" in options:
        in_order(rows, options["sort"], letters)
    if "Format" in options:
        fields, tail = tables.by_name("squeue", options["Format"], named)
    else:
        fields, tail = tables.by_percent(options.get("format", usual), letters)
    if "iterate" in options or ("long" in options and "noheader" not in options):
        print(time.strftime("%a %b %d %H:%M:%S %Y"))
    if "noheader" not in options:
        print(tables.heads(fields, tail))
    for row in rows:
        print(tables.values(fields, tail, row))


def run(arguments):
    options, rest = TABLE.read(arguments)
    if rest:
        raise Usage("squeue: error: Unrecognized option: %s" % rest[0])
    if "format" not in options and "Format" not in options:
        tables.from_environment("squeue", options, {"FORMAT": "format", "FORMAT2": "Format"})
    tables.from_environment("squeue", options, VARIABLES)
    if "json" in options or "yaml" in options:
        from . import json_form
        return json_form.show_jobs(chosen({"states": "all", "states*": ["all"], **options}))
    every = tables.seconds_of("squeue", options)
    show(options)
    while every:
        time.sleep(every)
        print()
        show(options)
        sys.stdout.flush()
    return 0
