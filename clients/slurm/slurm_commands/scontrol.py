"""scontrol: shows jobs and the node; holds, releases and changes jobs."""
import os
import re
import shlex
import sys
import time

import berth

from . import hosts, jobs, processes, request, requeue
from .options import Table, Usage, mebibytes, seconds

TABLE = Table("scontrol", """details d
oneliner o
all a
quiet Q
verbose v
clusters= M
local
json
yaml
hide""")


NOTHING = {"license": "No licenses configured in Slurm."}
# What berth cannot do, and what to do instead.
REFUSED = {
    "requeuehold": "berth has no held requeue; use `scontrol requeue`, or scancel and submit held",
    "notify": "berth has no way to write into a job's output",
    "reboot": "berth does not reboot the machine",
    "create": "an operator reserves GPUs with `berth reserve`",
    "delete": "an operator ends reservations with `berth unreserve`",
    "reconfigure": "berth.toml is read by berthd; ask its administrator",
    "shutdown": "berthd is a service of the machine's; ask its administrator",
    "takeover": "there is one berthd, and no backup of it",
    "token": "berth's socket needs no token",
}


MOST_TASKS = 4096  # of an array, as berthd has it

# What an update does not change, and why.
FIXED = {
    "dependency": "berth keeps what a job waits for as it was submitted",
}


def wait_job(words):
    """Until it runs; ended is an error, as in Slurm."""
    while True:
        job = found(need("wait_job", words))[0]
        if job.has_ended:
            raise Usage("scontrol: Job %s no longer running" % words[0])
        if job.code in ("R", "S"):
            print("scontrol: Nodes are ready for job %s" % words[0])
            return 0
        time.sleep(0.5)


def need(verb, words):
    if not words:
        raise Usage("too few arguments for keyword:%s" % verb)
    return words[0]


def list_pids(words):
    text, _, step = words[0].partition(".") if words else ("", "", "")
    chosen = found(text) if text else jobs.everything(ended=False)
    rows = []
    for job in chosen:
        own = processes.of(job) if job.started and not job.has_ended else []
        rows += [(pid, job.raw, processes.step_of(pid) or "batch") for pid, _ in own]
    rows = [row for row in rows if step in ("", row[2])]
    if text and not rows:
        print("There are no steps for job %s on node %s." % (words[0], jobs.HOST), file=sys.stderr)
    print("PID      JOBID    STEPID   LOCALID GLOBALID")
    for pid, number, label in rows:
        print("%-8d %-8d %-8s %-7s %-8s" % (pid, number, label, "-", "-"))
    return 0 if rows else 1


def write_script(words):
    if words[:1] != ["batch_script"] or len(words) < 2:
        raise Usage("invalid entity:%s for keyword:write" % " ".join(words[:1]))
    job = found(words[1])[0]
    if not job.script:
        raise Usage("job script retrieval failed: job %s has no batch script" % words[1])
    path = words[2] if len(words) > 2 else "slurm-%s.sh" % words[1]
    if path == "-":
        sys.stdout.buffer.write(job.script[0].encode("utf-8", "surrogateescape"))
        return 0
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(job.script[0])
    except OSError as error:
        raise Usage("failed to open file `%s`: %s" % (path, error.strerror)) from None
    print("batch script for job %s written to %s" % (words[1], path))
    return 0


def found(text):
    if not jobs.is_id(text):
        raise Usage("scontrol_print_job error: Invalid job id specified")
    all_jobs = [job for job in jobs.everything(ended=True) if jobs.matches(job, text)]
    if not all_jobs:
        raise Usage("slurm_load_jobs error: Invalid job id specified")
    return all_jobs


def text_of(job):
    limit = "UNLIMITED" if job.limit is None else jobs.long_time(job.limit)
    ids = "JobId=%d" % job.raw
    if job.array is not None:
        ids += " ArrayJobId=%d ArrayTaskId=%d" % (job.array, job.task)
        if job.data.get("array_at_once"):
            ids += " ArrayTaskThrottle=%d" % job.data["array_at_once"]
    attempts = job.detail.get("attempts", [])
    suspended_at = attempts[-1]["ended_at"] if job.code == "S" and attempts else None
    submitted = jobs.clock(job.data.get("submitted_at"))
    is_late = job.is_held or job.reason == "JobArrayTaskLimit"
    lines = [
        "%s JobName=%s" % (ids, job.name),
        "   UserId=%s(%s) GroupId=%s(%s) MCS_label=N/A" % (job.user, job.uid, job.group, job.gid),
        "   Priority=%d Nice=0 Account=%s QOS=%s"
        % (job.data.get("priority", 0), job.account, job.qos),
        "   JobState=%s Reason=%s Dependency=%s"
        % (job.state, job.reason, job.dependency),
        "   Requeue=%d Restarts=%d BatchFlag=%d Reboot=0 ExitCode=%s"
        % (requeue.is_possible(job), job.restarts, job.is_batch,
           "0:15" if job.code == "CA" and job.started else job.exit),
        "   RunTime=%s TimeLimit=%s TimeMin=N/A" % (jobs.long_time(job.elapsed), limit),
        "   SubmitTime=%s EligibleTime=%s"
        % (submitted, "Unknown" if is_late else jobs.clock(job.begins or job.data["submitted_at"])),
        "   AccrueTime=%s" % ("Unknown" if job.is_held else submitted),
        "   StartTime=%s EndTime=%s Deadline=%s"
        % (jobs.clock(job.started or job.predicted), jobs.clock(job.ends), job.deadline),
        "   SuspendTime=%s SecsPreSuspend=%d LastSchedEval=%s Scheduler=Main"
        % (jobs.clock(suspended_at) if suspended_at else "None",
           job.elapsed if suspended_at else 0, submitted),
        "   Partition=%s AllocNode:Sid=%s:0" % (jobs.PARTITION, jobs.HOST),
        "   ReqNodeList=(null) ExcNodeList=(null)",
        "   NodeList=%s" % job.where,
    ] + (["   BatchHost=%s" % job.where] if job.where else []) + [
        "   NumNodes=1 NumCPUs=%d NumTasks=%d CPUs/Task=%d ReqB:S:C:T=0:0:*:*"
        % (job.cpus, job.tasks, max(1, job.cpus // job.tasks)),
        "   TRES=%s" % job.tres_by_count(),
        "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
        "   MinCPUsNode=%d MinMemory%s=%s MinTmpDiskNode=0" % (job.cpus, *job.least_memory),
        "   Features=(null) DelayBoot=00:00:00",
    ] + (["   Reservation=%s" % job.reservation] if job.reservation else []) + [
        "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)",
        "   Command=%s" % (job.command or "(null)"),
        "   WorkDir=%s" % job.directory,
    ] + (["   Comment=%s " % job.data["comment"]] if job.data.get("comment") else []) + (
        ["   SystemComment=%s " % job.launch_fault] if job.launch_fault else []) + [
        "   StdErr=%s" % job.errors, "   StdIn=%s" % job.input, "   StdOut=%s" % job.output,
        "   Power=",
    ]
    if job.gpus:
        lines.append("   TresPerJob=gres:gpu:%d" % job.gpus)
    return "\n".join(lines) + "\n   "


def node_text():
    from .sinfo import Node
    node = Node()
    return """NodeName=%s CoresPerSocket=%d
   CPUAlloc=%d CPUEfctv=%d CPUTot=%d CPULoad=%.2f
   Gres=%s
   RealMemory=%d AllocMem=%d Sockets=1 Boards=1
   State=%s ThreadsPerCore=1 TmpDisk=0 Weight=1
   Partitions=%s
   CfgTRES=%s
   AllocTRES=%s
""" % (jobs.HOST, node.cores, node.used, node.cores, node.cores, os.getloadavg()[0], node.gres,
       node.mib, node.used_mib, node.state.upper(), jobs.PARTITION, node.tres, node.used_tres)


def partition_text():
    return """PartitionName=%s
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   Default=YES DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=%s MinNodes=0
   Nodes=%s
   State=UP TotalCPUs=%d TotalNodes=1
""" % (jobs.PARTITION, jobs.longest_time("UNLIMITED"), jobs.HOST, os.cpu_count() or 1)


def config_text():
    """What programs look up; a key that is not there has no meaning here."""
    keys = {
        "AccountingStorageType": "accounting_storage/slurmdbd", "ClusterName": jobs.CLUSTER,
        "JobRequeue": "1", "KillWait": "%d sec" % requeue.GRACE,
        "MaxArraySize": str(jobs.LARGEST_ARRAY + 1), "MinJobAge": "%d sec" % jobs.RECENT,
        "SLURM_VERSION": "22.05.8", "SlurmctldHost[0]": jobs.HOST,
    }
    return "\n".join(["Configuration data as of %s" % jobs.clock(time.time())]
                     + ["%-23s = %s" % pair for pair in keys.items()])


def say(text, options):
    print(" ".join(text.split()) if "oneliner" in options else text)
    return 0


def show(words, options):
    words = [part for word in words[:1] for part in word.split("=", 1)] + words[1:]
    what = words[0].lower() if words else ""
    if what.rstrip("s") in ("job", "jobid"):
        chosen = found(words[1]) if len(words) > 1 else jobs.everything(ended=False)
        if "json" in options or "yaml" in options:
            from . import json_form
            return json_form.show_jobs(chosen)
        texts = [text_of(job) for job in chosen]
        if "oneliner" in options:
            texts = [" ".join(text.split()) for text in texts]
        between = "\n" if "oneliner" in options else "\n\n"
        print(between.join(texts) if texts else "No jobs in the system")
        return 0
    if what.rstrip("s") == "hostname":
        told = words[1:] or [os.environ.get("SLURM_JOB_NODELIST", jobs.HOST)]
        print("\n".join(name for text in told for name in hosts.names(text)))
        return 0
    if what in ("hostlist", "hostlistsorted"):
        every = [name for text in words[1:] for name in hosts.names(text)]
        print(hosts.shortest(sorted(every) if what.endswith("sorted") else every))
        return 0
    if what.rstrip("s") == "node" and len(words) > 1 and jobs.HOST not in hosts.names(words[1]):
        print("Node %s not found" % words[1])
        return 1
    if what.rstrip("s") == "node":
        if "json" in options or "yaml" in options:
            from . import json_form, sinfo
            return json_form.show_nodes([sinfo.Node()])
        return say(node_text(), options)
    if what.rstrip("s") == "partition":
        return say(partition_text(), options)
    if what and "reservations".startswith(what) or what == "reservationname":
        from . import reservations
        return reservations.show(words[1:2], options)
    if what.rstrip("s") in NOTHING:
        print(NOTHING[what.rstrip("s")])
        return 0
    if what == "config":
        print(config_text())
        return 0
    raise Usage("invalid entity:%s for keyword:show" % what)


def chosen_by(words):
    """(text, jobs) of each word: `7,8_3`, `JobId=7`, `JobName=train` for those that wait."""
    for word in words:
        key, equals, value = word.partition("=")
        key = key.lower() if equals else ""
        if key in ("name", "jobname"):
            for job in jobs.everything(ended=False):
                if job.name == value and job.is_pending:
                    yield job.id, [job]
            continue
        for text in (value if key in ("job", "jobid") else word).split(","):
            try:
                yield text, [job for job in found(text) if not job.has_ended]
            except Usage:
                raise Usage("Invalid job id specified for job %s\nslurm_suspend error: Invalid job "
                            "id specified" % text) from None


def each(verb, words, change, which=list):
    """`which`: of an array the tasks that the verb is for."""
    if not words:
        raise Usage("too few arguments for keyword:%s" % verb)
    code = 0
    for text, chosen in chosen_by(words):
        if not chosen:
            print("Job/step already completing or completed for job %s" % text, file=sys.stderr)
            code = 1
        outcomes = {}  # the jobs by why they were refused, "" of those that were not
        for job in which(chosen):
            outcomes.setdefault(refusal(change, job), []).append(job)
        code = max(code, say_refused(text, outcomes))
    return code


def refusal(change, job):
    try:
        change(job)
    except berth.Error as error:
        why = re.sub(r"^job \S+: ", "", str(error))
        return "Access/permission denied" if "belongs to" in why else why
    return ""


def say_refused(text, outcomes):
    """Where only some tasks of an array were refused, a line for each kind, as Slurm's."""
    if not any(outcomes):
        return 0
    if len(outcomes) == 1:
        print("%s for job %s" % (next(iter(outcomes)), text), file=sys.stderr)
        return 1
    from .squeue import ranges
    for why, found in outcomes.items():
        print("%d_%s: %s" % (found[0].base, ranges(sorted(job.task for job in found)),
                             why or "No error"), file=sys.stderr)
    return 1


def that_wait(chosen):
    """As Slurm, which holds and releases what waits of an array; where all run, all are refused."""
    return [job for job in chosen if job.is_pending] or chosen


def hold(job):
    """Nothing to do is no error, here and below, as in Slurm."""
    if not job.is_held:
        berth.request("POST", "/v1/jobs/%s/hold" % job.handle)


def release(job):
    if job.is_held or not job.is_pending:
        berth.request("POST", "/v1/jobs/%s/release" % job.handle)


def stop_or_go_on(verb):
    def ask(job):
        if job.is_pending:
            raise berth.Error("Job is pending execution")
        berth.request("POST", "/v1/jobs/%s/%s" % (job.handle, verb))
    return ask


def again(words):
    """Of an array all tasks that run; a job or a task that does not is refused."""
    if not words:
        raise Usage("too few arguments for keyword:requeue")
    for text in ",".join(words).split(","):
        try:
            chosen = found(text)
        except Usage:
            raise Usage("Invalid job id specified for job %s" % text) from None
        running = [job for job in chosen if job.started and not job.has_ended]
        for job in running or chosen[:1]:
            requeue.run(job, text)
    return 0


def to_top(words):
    """Gives the jobs, the first before the second, larger priorities than all others have that
    their user lets wait."""
    chosen = [job for _, found in chosen_by([need("top", words), *words[1:]]) for job in found
              if job.is_pending]
    moved = {job.raw for job in chosen}
    others = [job.data.get("priority", 0) for job in jobs.everything(ended=False)
              if job.is_pending and job.raw not in moved and job.uid in {one.uid for one in chosen}]
    above = max(others, default=0) + len(chosen)
    ranks = {job.raw: above - at for at, job in enumerate(chosen)}

    def move(job):
        if job.raw in ranks:  # one that runs is ahead of all that wait
            change_job(job, {"priority": ranks[job.raw]}, None)
    return each("top", words, move)


def ping():
    try:
        berth.request("GET", "/v1/version", patience=1)
    except berth.Unreachable:
        stars = "*" * 41
        print("Slurmctld(primary) at %s is DOWN\n%s\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n%s"
              % (jobs.HOST, stars, stars))
        return 1
    print("Slurmctld(primary) at %s is UP" % jobs.HOST)
    return 0


def checked(key, value, read):
    try:
        return read(value)
    except ValueError:
        raise Usage("Invalid %s value: %s\nRequest aborted" % (key, value)) from None


def change_job(job, body, limit):
    """`limit`: None, `20`, or `+5` and `-5` by which the job's own is changed."""
    if limit is not None:
        value, sign = seconds(limit.lstrip("+-")), limit[0]
        if value is None or (sign in "+-" and job.limit is None):
            why = "a limit is not lifted" if value is None else "the job has no limit"
            raise Usage("Invalid TimeLimit value: %s: %s\nRequest aborted" % (limit, why))
        if sign in "+-":
            value = job.limit + (value if sign == "+" else -value)
        body = {**body, "time_limit_seconds": value}
    berth.request("POST", "/v1/jobs/%s/update" % job.handle, body)


def update(words):
    if len(words) > 1 and words[0].lower() in ("job", "jobid"):
        words = ["JobId=" + words[1], *words[2:]]
    typed = dict(word.split("=", 1) for word in words if "=" in word)
    keys = {key.lower(): value for key, value in typed.items()}
    target = keys.pop("jobid", keys.pop("job", None))
    if target is None:
        raise Usage("No valid entity in update command")
    body, limit = {}, None
    for key, value in keys.items():
        name = next(name for name in typed if name.lower() == key)
        if key == "timelimit":
            limit = value
            checked(name, value.lstrip("+-"), seconds)
        elif key in ("jobname", "name"):
            body["name"] = value
        elif key == "comment":
            body["comment"] = value
        elif key == "starttime":
            body["begin_at"] = request.begin_at("scontrol", value)
        elif key == "arraytaskthrottle":  # 0: no bound
            body["array_at_once"] = checked(name, value, int) or MOST_TASKS
        elif key == "numcpus":  # `4`, and `4-4` as Slurm shows it
            body["cpus"] = checked(name, value.split("-")[0], int)
        elif key == "minmemorynode":
            body["mem_bytes"] = checked(name, value, mebibytes) << 20
        elif key in FIXED:
            raise Usage("Update of this parameter is not supported: %s=%s: %s\nRequest aborted"
                        % (name, value, FIXED[key]))
        elif key == "priority":
            body["priority"] = checked(name, value, int)
        else:
            raise Usage("Update of this parameter is not supported: %s=%s\nRequest aborted"
                        % (name, value))
    return each("update", [target], lambda job: change_job(job, body, limit))


def run(arguments):
    options, words = TABLE.read(arguments)
    if not words:
        return each_line()
    return command(words, options)


def each_line():
    """Commands on standard input, as Slurm's, until `exit`."""
    while True:
        print("scontrol: ", end="", flush=True)
        line = sys.stdin.readline() or "exit"
        try:
            words = shlex.split(line)
            if words[:1] in (["exit"], ["quit"], ["q"]):
                print()
                return 0
            if words:
                run(words)
        except (Usage, ValueError, berth.Error) as error:  # a quote that is not closed
            print(error, file=sys.stderr)


def command(words, options):
    verb, rest = words[0], words[1:]
    if verb == "show":
        return show(rest, options)
    if verb == "ping":
        return ping()
    if verb in ("hold", "uhold", "holdu"):
        return each(verb, rest, hold, that_wait)
    if verb == "release":
        return each(verb, rest, release, that_wait)
    if verb in ("suspend", "resume"):
        return each(verb, rest, stop_or_go_on(verb))
    if verb == "update":
        return update(rest)
    if verb == "requeue":
        return again(rest)
    if verb == "top":
        return to_top(rest)
    if verb == "wait_job":
        return wait_job(rest)
    if verb == "listpids":
        return list_pids(rest)
    if verb == "write":
        return write_script(rest)
    if verb in REFUSED:
        raise Usage("scontrol %s is not supported: %s" % (verb, REFUSED[verb]))
    raise Usage("invalid keyword: %s" % verb)
