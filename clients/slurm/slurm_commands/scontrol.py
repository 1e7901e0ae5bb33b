"""scontrol: shows jobs and the node; holds, releases and changes jobs."""
import os
import sys

import berth

from . import jobs
from .options import Table, Usage, seconds

TABLE = Table("scontrol", """details d
oneliner o
all a
quiet Q
verbose v
clusters= M
local
hide""")


def found(text):
    if not jobs.is_id(text):
        raise Usage("slurm_load_jobs error: Invalid job id specified")
    all_jobs = [job for job in jobs.everything(ended=True) if jobs.matches(job, text)]
    if not all_jobs:
        raise Usage("slurm_load_jobs error: Invalid job id specified")
    return all_jobs


def text_of(job):
    detail = berth.request("GET", "/v1/jobs/%d" % job.raw)
    limit = "UNLIMITED" if job.limit is None else jobs.long_time(job.limit)
    ids = "JobId=%d" % job.raw
    if job.array is not None:
        ids += " ArrayJobId=%d ArrayTaskId=%d" % (job.array, job.task)
    attempts = len(detail.get("attempts", []))
    output = detail.get("output") or "/dev/null"
    tres = job.tres().split(",", 1)[1]
    lines = [
        "%s JobName=%s" % (ids, job.name),
        "   UserId=%s(%s) GroupId=%s MCS_label=N/A" % (job.user, job.uid, job.user),
        "   Priority=%d Nice=0 Account=berth QOS=normal" % job.data.get("priority", 0),
        "   JobState=%s Reason=%s Dependency=(null)" % (job.state, job.reason),
        "   Requeue=1 Restarts=%d BatchFlag=1 Reboot=0 ExitCode=%s"
        % (max(0, attempts - 1), job.exit),
        "   RunTime=%s TimeLimit=%s TimeMin=N/A" % (jobs.long_time(job.elapsed), limit),
        "   SubmitTime=%s EligibleTime=%s"
        % (jobs.clock(job.data.get("submitted_at")), jobs.clock(job.data.get("submitted_at"))),
        "   StartTime=%s EndTime=%s Deadline=N/A"
        % (jobs.clock(job.started), jobs.clock(job.ended)),
        "   Partition=%s AllocNode:Sid=%s:0" % (jobs.PARTITION, jobs.HOST),
        "   ReqNodeList=(null) ExcNodeList=(null)",
        "   NodeList=%s" % job.where,
        "   NumNodes=1 NumCPUs=%d NumTasks=1 CPUs/Task=%d ReqB:S:C:T=0:0:*:*"
        % (job.cpus, job.cpus),
        "   TRES=%s" % tres,
        "   MinCPUsNode=%d MinMemoryNode=%s MinTmpDiskNode=0" % (job.cpus, jobs.mib_text(job.mib)),
        "   Command=(null)",
        "   WorkDir=%s" % detail.get("directory", ""),
        "   StdErr=%s" % output, "   StdIn=/dev/null", "   StdOut=%s" % output,
    ]
    if job.gpus:
        lines.append("   TresPerJob=gres:gpu:%d" % job.gpus)
    return "\n".join(lines)


def show(words, options):
    what = words[0] if words else ""
    if what.rstrip("s") in ("job", "jobid"):
        chosen = found(words[1]) if len(words) > 1 else jobs.everything(ended=False)
        texts = [text_of(job) for job in chosen]
        if "oneliner" in options:
            texts = [" ".join(text.split()) for text in texts]
        print("\n\n".join(texts) if texts else "No jobs in the system")
        return 0
    from .sinfo import facts
    known = {letter: value for letter, (_, value) in facts().items()}
    if what.rstrip("s") == "node":
        print("NodeName=%s CPUTot=%s RealMemory=%s\n   Gres=%s\n   State=%s\n   Partitions=%s"
              % (jobs.HOST, known["c"], known["m"], known["G"], known["T"].upper(), jobs.PARTITION))
        return 0
    if what.rstrip("s") == "partition":
        print("PartitionName=%s\n   AllowGroups=ALL Default=YES MaxTime=UNLIMITED Nodes=%s\n   "
              "State=UP TotalNodes=1" % (jobs.PARTITION, jobs.HOST))
        return 0
    if what == "config":
        print("ClusterName             = berth\nSLURM_VERSION           = 22.05.8")
        return 0
    raise Usage("invalid entity:%s for keyword:show" % what)


def each(words, change):
    code = 0
    for text in ",".join(words).split(","):
        for job in found(text):
            if job.has_ended:
                continue
            try:
                change(job)
            except berth.Error as error:
                if "belongs to" in str(error):
                    print("Access/permission denied for job %s" % text, file=sys.stderr)
                else:
                    print("%s for job %s" % (error, text), file=sys.stderr)
                code = 1
    return code


def update(words):
    keys = dict(word.split("=", 1) for word in words if "=" in word)
    keys = {key.lower(): value for key, value in keys.items()}
    target = keys.pop("jobid", keys.pop("job", None))
    if target is None:
        raise Usage("No valid entity in update command")
    body = {}
    for key, value in keys.items():
        if key == "timelimit":
            body["time_limit_seconds"] = seconds(value)
        elif key in ("jobname", "name"):
            body["name"] = value
        elif key == "priority":
            body["priority"] = int(value)
        else:
            raise Usage("Update of this parameter is not supported: %s=%s" % (key, value))
    return each([target], lambda job: berth.request("POST", "/v1/jobs/%d/update" % job.raw, body))


def run(arguments):
    options, words = TABLE.read(arguments)
    if not words:
        raise Usage("scontrol: no command given")
    verb, rest = words[0], words[1:]
    if verb == "show":
        return show(rest, options)
    if verb == "ping":
        berth.request("GET", "/v1/version", patience=1)
        print("Slurmctld(primary) at %s is UP" % jobs.HOST)
        return 0
    if verb in ("hold", "uhold"):
        return each(rest, lambda job: berth.request("POST", "/v1/jobs/%d/hold" % job.raw))
    if verb == "release":
        return each(rest, lambda job: berth.request("POST", "/v1/jobs/%d/release" % job.raw))
    if verb == "suspend" or verb == "resume":
        return each(rest, lambda job: berth.request("POST", "/v1/jobs/%d/%s" % (job.raw, verb)))
    if verb == "update":
        return update(rest)
    if verb == "hostnames":
        print("\n".join((rest or [os.environ.get("SLURM_JOB_NODELIST", jobs.HOST)])[0].split(",")))
        return 0
    raise Usage("invalid keyword: %s" % verb)
