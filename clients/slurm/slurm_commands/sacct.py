"""sacct: the jobs of berth's journal, also those that ended long ago."""
import os
import pwd
import re
import time

from . import jobs, moments, steps
from .options import Table, Usage, listed, seconds

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
uid=
gid= g
group=
name=
duplicates D
allusers a
allclusters L
associations= x
batch-script B
env-vars
long l
brief b
completion c
constraints= C
delimiter=
clusters= M
partition= r
accounts= A
qos= q
nodelist= N
nnodes= i
ncpus= I
reason= R
timelimit-min= k
timelimit-max= K
wckeys= W
flags= F
file= f
units=
noconvert
truncate T
array
local
federation
use-local-uid
whole-hetjob?
json
yaml
verbose v
helpformat e""")

USUAL = "jobid,jobname,partition,account,alloccpus,state,exitcode"
BRIEF = "jobid,state,exitcode"
LONG = """jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,
maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,
mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,
reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,
maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres,tresusageinave,
tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,
tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,
tresusageoutave,tresusageouttot""".replace("\n", "")
# Name as a header has it, width in a table, of the job, of its script and steps (None: the same).
KNOWN = (
    ("JobID", -12, lambda j: j.shown_id, lambda j: "%s.%s" % (j.shown_id, j.label)),
    ("JobIDRaw", -12, lambda j: str(j.raw), lambda j: "%d.%s" % (j.raw, j.label)),
    ("JobName", 10, lambda j: j.name, None),
    ("Partition", 10, lambda j: jobs.PARTITION, lambda j: ""),
    ("Account", 10, lambda j: j.account, None),
    ("User", 9, lambda j: j.user, lambda j: ""), ("UID", 6, lambda j: str(j.uid), lambda j: ""),
    ("Group", 9, lambda j: j.group, lambda j: ""), ("GID", 6, lambda j: str(j.gid), lambda j: ""),
    ("AllocCPUS", 10, lambda j: str(j.cpus), None), ("NCPUS", 10, lambda j: str(j.cpus), None),
    ("ReqCPUS", 8, lambda j: str(j.cpus), None),
    ("NNodes", 8, lambda j: "1", None), ("AllocNodes", 10, lambda j: "1", None),
    ("ReqNodes", 8, lambda j: "1", None),
    ("NTasks", 8, lambda j: "", lambda j: "1" if j.label == "batch" else str(j.job.tasks)),
    ("State", 10, lambda j: state(j), lambda j: j.state),
    ("ExitCode", 8, lambda j: j.exit, None),
    ("DerivedExitCode", 15, lambda j: "0:0", lambda j: ""),
    ("Elapsed", 10, lambda j: jobs.long_time(j.elapsed), None),
    ("ElapsedRaw", 10, lambda j: str(int(j.elapsed)), None),
    ("CPUTime", 10, lambda j: jobs.long_time(int(j.elapsed) * j.cpus), None),
    ("CPUTimeRAW", 10, lambda j: str(int(j.elapsed) * j.cpus), None),
    ("Suspended", 10, lambda j: jobs.long_time(j.suspended), None),
    ("Timelimit", 10, lambda j: limit(j), lambda j: ""),
    ("TimelimitRaw", 12, lambda j: "UNLIMITED" if j.limit is None else str(int(j.limit) // 60),
     lambda j: ""),
    ("Start", 19, lambda j: jobs.clock(j.started), None),
    ("End", 19, lambda j: jobs.clock(j.ended), None),
    ("Submit", 19, lambda j: jobs.clock(j.data.get("submitted_at")), None),
    ("Eligible", 19, lambda j: jobs.clock(j.data.get("submitted_at")), None),
    ("Reserved", 10, lambda j: jobs.long_time(waited(j)), lambda j: ""),
    ("ResvCPU", 10, lambda j: jobs.long_time(waited(j) * j.cpus), lambda j: ""),
    ("ResvCPURAW", 10, lambda j: str(waited(j) * j.cpus), lambda j: ""),
    ("NodeList", 15, lambda j: j.where or "None assigned", None),
    ("Reason", 22, lambda j: j.reason, lambda j: ""),
    ("ReqMem", 10, lambda j: jobs.mib_text(j.mib), lambda j: ""),
    ("ReqTRES", 10, lambda j: j.tres(), lambda j: ""),
    ("AllocTRES", 10, lambda j: "" if j.is_pending else j.tres(), None),
    ("WorkDir", 20, lambda j: j.directory, lambda j: ""),
    ("Cluster", 10, lambda j: jobs.CLUSTER, None), ("QOS", 10, lambda j: j.qos, lambda j: ""),
    ("Priority", 10, lambda j: str(j.data.get("priority") or 0), lambda j: ""),
    ("Comment", 14, lambda j: j.data.get("comment") or "", lambda j: ""),
    ("SystemComment", 19, lambda j: j.launch_fault, lambda j: ""),
    ("Reservation", 20, lambda j: j.reservation, lambda j: ""),
    ("Flags", 20, lambda j: flags(j), lambda j: ""),
    ("SubmitLine", 20, lambda j: j.asked.get("line") or "", lambda j: ""),
    ("Layout", 9, lambda j: "", lambda j: "Unknown" if j.label == "batch" else "Block"),
)
# What berth does not know: empty, with Slurm's width.
UNKNOWN = """AdminComment 19,AssocID 7,AveCPU 10,AveCPUFreq 10,AveDiskRead 14,AveDiskWrite 14,
AvePages 10,AveRSS 10,AveVMSize 10,BlockID 16,Constraints 19,ConsumedEnergy 14,
ConsumedEnergyRaw 17,Container 17,DBIndex 8,MaxDiskRead 12,MaxDiskReadNode 15,MaxDiskReadTask 15,
MaxDiskWrite 12,MaxDiskWriteNode 16,MaxDiskWriteTask 16,MaxPages 8,MaxPagesNode 12,
MaxPagesTask 14,MaxRSS 10,MaxRSSNode 10,MaxRSSTask 10,MaxVMSize 10,MaxVMSizeNode 14,
MaxVMSizeTask 14,McsLabel 9,MinCPU 10,MinCPUNode 10,MinCPUTask 10,QOSRAW 10,ReqCPUFreq 10,
ReqCPUFreqGov 13,ReqCPUFreqMax 13,ReqCPUFreqMin 13,ReservationId 15,
SystemCPU 10,TotalCPU 10,TRESUsageInAve 14,TRESUsageInMax 14,
TRESUsageInMaxNode 18,TRESUsageInMaxTask 18,TRESUsageInMin 14,TRESUsageInMinNode 18,
TRESUsageInMinTask 18,TRESUsageInTot 14,TRESUsageOutAve 15,TRESUsageOutMax 15,
TRESUsageOutMaxNode 19,TRESUsageOutMaxTask 19,TRESUsageOutMin 15,TRESUsageOutMinNode 19,
TRESUsageOutMinTask 19,TRESUsageOutTot 15,UserCPU 10,WCKey 10,WCKeyID 8""".replace("\n", "")
FIELDS = {field[0].lower(): field for field in KNOWN}
FIELDS.update((name.lower(), (name, int(width), lambda j: "", None))
              for name, width in map(str.split, UNKNOWN.split(",")))


def waited(job):
    """Seconds until its first start."""
    began = job.data.get("started_at") or job.ended or time.time()
    return max(0, int(began - (job.data.get("submitted_at") or began)))


def flags(job):
    return "SchedMain" if job.started else ""


def state(job):
    """A rule of berth's that ended the job is nobody."""
    by = job.data.get("cancelled_by")
    return job.state if by is None else "%s by %s" % (job.state, by)


def limit(job):
    return "UNLIMITED" if job.limit is None else jobs.long_time(job.limit)


def instant(options, name, otherwise):
    try:
        return moments.instant(options[name]) if name in options else otherwise
    except ValueError:
        raise Usage("sacct: error: Invalid time specification \"%s\" for --%s"
                    % (options[name], name)) from None


def refuse_foreign(options):
    for name in ("completion", "file"):
        if name in options:
            raise Usage("sacct: error: --%s: berth has no records of jobs but its own; leave it "
                        "out" % name)


def read(options, name, reader):
    try:
        return reader(options[name])
    except ValueError:
        raise Usage("sacct: error: Invalid --%s value: %s" % (name, options[name])) from None


def bounds(text):
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def is_sized(job, options):
    """By --ncpus, --nnodes and the bounds of the time limit."""
    for name, value in (("ncpus", job.cpus), ("nnodes", 1)):
        if name in options:
            low, high = read(options, name, bounds)
            if not low <= value <= high:
                return False
    limit = job.limit or float("inf")
    lowest = read(options, "timelimit-min", seconds) if "timelimit-min" in options else 0
    highest = read(options, "timelimit-max", seconds) if "timelimit-max" in options else None
    return (lowest or 0) <= limit <= (highest or float("inf"))


def steps_wanted(options):
    """(job's text, step or "") of each word of -j."""
    wanted = []
    for word in re.split(r",(?![^\[]*\])", ",".join(options.get("jobs*", []))):
        text, dot, step = word.partition(".")
        if word and (not jobs.is_id(text) or (dot and step not in ("batch", "extern")
                                              and not step.isdigit())):
            raise Usage("sacct: fatal: Bad job/step specified: %s" % word)
        if word:
            wanted.append((text, step))
    return wanted


def midnight():
    return moments.instant("midnight")


def users_of(options):
    users = listed(options, "user") + listed(options, "uid")
    for user in users:
        if not user.isdigit():
            try:
                pwd.getpwnam(user)
            except KeyError:
                raise Usage("sacct: error: Invalid user id: %s" % user) from None
    return users


def states_in(options, begin, end):
    """Whether a job was in one of the states that are asked for, at some time of the window. Of what
    runs and waits without a start of that, now."""
    words = [word.upper() for word in listed(options, "state")]
    for word in words:
        if word not in jobs.CODES and word not in jobs.CODES.values():
            raise Usage("sacct: fatal: unrecognized job state value '%s'" % word)
    states = {jobs.CODES.get(word, word) for word in words}
    now = time.time()
    since = begin if "starttime" in options else now

    def was(job, code):
        data = job.data
        ended = int(job.ended or now + 1)  # times are told in whole seconds
        if code == "R":
            return (data.get("started_at") is not None and int(data["started_at"]) <= end
                    and ended >= since)
        if code == "PD":
            over = int(data.get("started_at") or ended)
            return int(data.get("submitted_at", 0)) <= end and over > since
        return job.code == code and (not job.ended or begin <= ended <= end)
    return lambda job: not states or any(was(job, code) for code in states)


def chosen(options):
    wanted = steps_wanted(options)
    begin = instant(options, "starttime", 0 if wanted else midnight())
    end = instant(options, "endtime", time.time() + 1)
    users, names = users_of(options), listed(options, "name")
    groups = listed(options, "gid") + listed(options, "group")
    was_in = states_in(options, begin, end)
    reasons, marks = listed(options, "reason"), listed(options, "flags")
    is_own = not users and not wanted and "allusers" not in options

    def is_in(job):
        return ((not wanted or any(jobs.matches(job, text) for text, _ in wanted))
                and (job.ended or time.time()) >= begin
                and int(job.data.get("submitted_at") or 0) <= end
                and (not users or job.user in users or str(job.uid) in users)
                and (not is_own or job.user == jobs.me())
                and (not groups or job.group in groups or str(job.gid) in groups)
                and (not names or job.name in names) and was_in(job)
                and (not reasons or job.reason in reasons) and (not marks or flags(job) in marks)
                and is_sized(job, options) and jobs.is_chosen(job, options))

    return [job for job in jobs.everything(ended=True) if is_in(job)]


def rows_of(job, options):
    """The job and its parts; of `-j 7.0` that part alone."""
    wanted = [step for text, step in steps_wanted(options) if jobs.matches(job, text)]
    if "" in wanted or not wanted:
        yield job, False
    if "allocations" not in options and job.started:
        for part in steps.parts_of(job):
            if "" in wanted or not wanted or part.label in wanted:
                yield part, True


def print_script(job):
    print("Batch Script for %s\n%s" % (job.shown_id, "-" * 80))
    print(job.script[0] if job.script else "NONE")


def folded(found):
    """Waiting tasks of an array are one row."""
    from .squeue import folded as together
    return together(sorted(found, key=lambda job: (job.base, job.is_pending, job.raw)), False)


def columns_of(options):
    text = ",".join(options.get("format*", [])) or (
        BRIEF if "brief" in options else os.environ.get("SACCT_FORMAT") or USUAL)
    if "long" in options:
        text = LONG
    columns = []
    for part in text.split(","):
        name, _, width = part.strip().partition("%")
        if not name:
            continue
        if name.lower() not in FIELDS:
            raise Usage('sacct: error: Invalid field requested: "%s"' % name)
        field = FIELDS[name.lower()]
        if width and not width.lstrip("-").isdigit():
            raise Usage('sacct: error: Invalid width of a field: "%s"' % part)
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
        names = sorted((field[0] for field in FIELDS.values()), key=str.lower)
        for at in range(0, len(names), 4):
            print(" ".join(name.ljust(19) for name in names[at:at + 4]))
        return 0
    refuse_foreign(options)
    if "json" in options or "yaml" in options:
        from . import json_form
        return json_form.show_records(folded(chosen(options)))
    if "batch-script" in options or "env-vars" in options:
        for job in folded(chosen(options)):
            print_script(job)
        return 0
    columns = columns_of(options)
    rows = [[field[0] for field, _ in columns]] if "noheader" not in options else []
    for job in folded(chosen(options)):
        for row, is_part in rows_of(job, options):
            rows.append([((is_part and field[3]) or field[2])(row) for field, _ in columns])
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
