"""sacct: the jobs of berth's journal, also those that ended long ago."""
import re
import time

from . import jobs, steps
from .options import Table, Usage, listed

TABLE = Table("sacct", """jobs= j
format= o
parsable2 P
parsable p
noheader n
allocations X
starttime= S
endtime= E
state= s
user= u
name=
duplicates D
allusers a
long l
brief b
delimiter=
clusters= M
partition= r
account= A
units=
noconvert
truncate T
array
helpformat e""")

USUAL = "jobid,jobname,partition,account,alloccpus,state,exitcode"
BRIEF = "jobid,state,exitcode"
# Name as a header has it, width in a table, of the job, of its script and steps.
FIELDS = {
    "jobid": ("JobID", -12, lambda j: j.shown_id, lambda j: "%s.%s" % (j.shown_id, j.label)),
    "jobidraw": ("JobIDRaw", -12, lambda j: str(j.raw), lambda j: "%d.%s" % (j.raw, j.label)),
    "jobname": ("JobName", 10, lambda j: j.name, None),
    "partition": ("Partition", 10, lambda j: jobs.PARTITION, lambda j: ""),
    "account": ("Account", 10, lambda j: "berth", lambda j: "berth"),
    "user": ("User", 9, lambda j: j.user, lambda j: ""),
    "uid": ("UID", 6, lambda j: str(j.uid), lambda j: ""),
    "alloccpus": ("AllocCPUS", 10, lambda j: str(j.cpus), None),
    "ncpus": ("NCPUS", 10, lambda j: str(j.cpus), None),
    "reqcpus": ("ReqCPUS", 8, lambda j: str(j.cpus), None),
    "nnodes": ("NNodes", 8, lambda j: "1", None),
    "allocnodes": ("AllocNodes", 10, lambda j: "1", None),
    "state": ("State", 10, lambda j: state(j), lambda j: j.state),
    "exitcode": ("ExitCode", 8, lambda j: j.exit, None),
    "derivedexitcode": ("DerivedExitCode", 15, lambda j: "0:0", lambda j: ""),
    "elapsed": ("Elapsed", 10, lambda j: jobs.long_time(j.elapsed), None),
    "elapsedraw": ("ElapsedRaw", 10, lambda j: str(int(j.elapsed)), None),
    "suspended": ("Suspended", 10, lambda j: jobs.long_time(j.suspended), None),
    "timelimit": ("Timelimit", 10, lambda j: limit(j), lambda j: ""),
    "start": ("Start", 19, lambda j: jobs.clock(j.started), None),
    "end": ("End", 19, lambda j: jobs.clock(j.ended), None),
    "submit": ("Submit", 19, lambda j: jobs.clock(j.data.get("submitted_at")), None),
    "eligible": ("Eligible", 19, lambda j: jobs.clock(j.data.get("submitted_at")), None),
    "nodelist": ("NodeList", 15, lambda j: j.where or "None assigned", None),
    "reason": ("Reason", 22, lambda j: j.reason, lambda j: ""),
    "reqmem": ("ReqMem", 10, lambda j: jobs.mib_text(j.mib), lambda j: ""),
    "reqtres": ("ReqTRES", 10, lambda j: j.tres(), lambda j: ""),
    "alloctres": ("AllocTRES", 10, lambda j: "" if j.is_pending else j.tres(), None),
    "workdir": ("WorkDir", 20, lambda j: j.data.get("directory", ""), lambda j: ""),
    "cluster": ("Cluster", 10, lambda j: "berth", None),
    "qos": ("QOS", 10, lambda j: "normal", lambda j: ""),
    "priority": ("Priority", 10, lambda j: str(j.data.get("priority", 0)), lambda j: ""),
    "comment": ("Comment", 14, lambda j: j.data.get("comment", ""), lambda j: ""),
    "maxrss": ("MaxRSS", 10, lambda j: "", None),
    "totalcpu": ("TotalCPU", 10, lambda j: "", None),
}


def state(job):
    """A rule of berth's that ended the job is nobody."""
    by = job.data.get("cancelled_by")
    return job.state if by is None else "%s by %s" % (job.state, by)


def limit(job):
    return "UNLIMITED" if job.limit is None else jobs.long_time(job.limit)


def instant(text, otherwise):
    if not text or text == "now":
        return otherwise
    ago = re.fullmatch(r"now-(\d+)(second|minute|hour|day|week)s?", text)
    if ago:
        unit = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}[ago[2]]
        return time.time() - int(ago[1]) * unit
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"):
        try:
            return time.mktime(time.strptime(text, form))
        except ValueError:
            pass
    if text == "today":
        return midnight()
    raise Usage("sacct: error: Invalid time specification: %s" % text)


def midnight():
    now = time.localtime()
    return time.mktime(now[:3] + (0, 0, 0) + now[6:8] + (-1,))


def chosen(options):
    wanted = [text.split(".")[0] for text in listed(options, "jobs")]
    for text in wanted:
        if not jobs.is_id(text):
            raise Usage("sacct: fatal: Bad job/step specified: %s" % text)
    begin = instant(options.get("starttime"), 0 if wanted else midnight())
    end = instant(options.get("endtime"), time.time() + 1)
    users, names = listed(options, "user"), listed(options, "name")
    states = {jobs.CODES.get(word.upper(), word.upper()) for word in listed(options, "state")}
    is_own = not users and not wanted and "allusers" not in options

    def is_in(job):
        return ((not wanted or any(jobs.matches(job, text) for text in wanted))
                and (job.ended or time.time()) >= begin
                and (job.data.get("submitted_at") or 0) <= end
                and (not users or job.user in users or str(job.uid) in users)
                and (not is_own or job.user == jobs.me())
                and (not names or job.name in names) and (not states or job.code in states))

    return [job for job in jobs.everything(ended=True) if is_in(job)]


def folded(found):
    """Waiting tasks of an array are one row."""
    from .squeue import folded as rows_of
    return rows_of(sorted(found, key=lambda job: (job.base, job.is_pending, job.raw)), False)


def columns_of(options):
    text = ",".join(options.get("format*", [])) or (BRIEF if "brief" in options else USUAL)
    if "long" in options:
        text = "jobid,jobidraw,jobname,partition,alloccpus,elapsed,state,exitcode,reqmem,alloctres"
    columns = []
    for part in text.split(","):
        name, _, width = part.strip().partition("%")
        if not name:
            continue
        if name.lower() not in FIELDS:
            raise Usage('sacct: error: Invalid field requested: "%s"' % name)
        field = FIELDS[name.lower()]
        columns.append((field, int(width) if width else field[1]))
    return columns


def fixed(text, width):
    size = abs(width)
    text = text if len(text) <= size else text[:size - 1] + "+"
    return text.ljust(size) if width < 0 else text.rjust(size)


def run(arguments):
    options, rest = TABLE.read(arguments)
    if rest:
        raise Usage("sacct: error: Unknown arguments:\nsacct: error:  %s" % rest[0])
    if "helpformat" in options:
        names = sorted(field[0] for field in FIELDS.values())
        for at in range(0, len(names), 4):
            print(" ".join(name.ljust(19) for name in names[at:at + 4]))
        return 0
    columns = columns_of(options)
    rows = [[field[0] for field, _ in columns]] if "noheader" not in options else []
    for job in folded(chosen(options)):
        rows.append([field[2](job) for field, _ in columns])
        if "allocations" not in options and job.started:
            rows += [[(field[3] or field[2])(part) for field, _ in columns]
                     for part in steps.parts_of(job)]
    bar = options.get("delimiter", "|")
    for number, row in enumerate(rows):
        if "parsable2" in options:
            print(bar.join(row))
        elif "parsable" in options:
            print(bar.join(row) + bar)
        else:
            print("".join(fixed(text, width) + " " for text, (_, width) in zip(row, columns)))
            if number == 0 and "noheader" not in options:
                print("".join("-" * abs(width) + " " for _, width in columns))
    return 0
