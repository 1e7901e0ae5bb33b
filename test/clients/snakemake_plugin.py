"""Stands in for snakemake-executor-plugin-slurm 2.7.1, of Snakemake 8 and 9.

What it looks up at its start, `sbatch` with --wrap, with a script on /dev/stdin and of an array, a
step of `srun` in the job, states by `sacct` and by `squeue`, the report of what was used, and
`scancel`.
"""
import csv
import getpass
import os
import re
import shlex
import uuid

from calls import call, expect, output, read, until

RUN = str(uuid.uuid4())


def at_start():
    """The most tasks of an array, how long squeue knows jobs, the account, the partition."""
    config = output("scontrol show config")
    expect("MaxArraySize", int(re.search(r"MaxArraySize\s*=?\s*(\d+)", config)[1]) > 1000, True)
    age = next(line for line in config.splitlines() if line.strip().startswith("MinJobAge"))
    expect("MinJobAge", re.match(r"^(\d+)\s*([a-zA-Z]*)", age.split("=")[1].strip())[1], "300")
    user = getpass.getuser()
    # It gives the words of the pipe to sacct, and goes on without an account as that refuses.
    expect("guess", call(shlex.split('sacct -nu "%s" -o Account%%256 | tail -1' % user))[0], 1)
    known = output(shlex.split('sacctmgr -n -s list user "%s" format=account%%256' % user))
    expect("accounts", "berth" in {line.strip().lower() for line in known.split("\n")}, True)
    return next(name.replace("*", "") for name in output("sinfo -o %P").split() if "*" in name)


def submit(partition, how, command, more=""):
    line = ("sbatch --parsable --job-name %s --output %s/%%%s.log --export=ALL --comment rule_a -A "
            "berth -p %s -t 5 --mem 100%s --ntasks=1 --cpus-per-task=1 -D %s"
            % (RUN, os.getcwd(), "A_%a" if "array" in more else "j", partition, more, os.getcwd()))
    if how == "wrap":
        code, out, err = call(line + ' --wrap="%s"' % command.replace('"', '\\"'))
    else:
        code, out, err = call(line + " /dev/stdin", input="#!/bin/sh\n" + command)
    expect("sbatch: " + err, [code, "submission failed" in err], [0, False])
    return out.strip().split(";")[0]


def by_sacct():
    out = output(shlex.split("sacct -X --parsable2 --clusters all --noheader "
                             "--format=JobIdRaw,State --starttime 2026-01-01T10:00 --endtime now "
                             "--name " + RUN))
    return {row[0]: row[1].split(" ")[0] for row in csv.reader(out.splitlines(), delimiter="|")}


def by_squeue():
    out = output(shlex.split("squeue --format='%i|%T' --states=all --noheader --name " + RUN))
    return dict(csv.reader(out.splitlines(), delimiter="|"))


def main():
    partition = at_start()
    jobs = [submit(partition, "wrap", 'srun -n1 --cpu-bind=q sh -c "echo step of $SLURM_JOB_ID"'),
            submit(partition, "stdin", "exit 2\n", " --gpus=1 --requeue"),
            submit(partition, "wrap", "echo $SLURM_ARRAY_TASK_ID", " --array=1-2")]
    until("sacct", lambda: [by_sacct().get(job) for job in jobs[:2]] == ["COMPLETED", "FAILED"])
    until("squeue", lambda: [by_squeue().get(job) for job in (jobs[0], jobs[2] + "_2")]
          == ["COMPLETED"] * 2)
    expect("an array's task", read("%s_2.log" % jobs[2]), "\n")  # the shell of sbatch filled it in
    expect("the node", bool(output("sacct -j %s -n -X -o nodelist%%-256" % jobs[1]).strip()), True)
    used = output(shlex.split("sacct --name=%s --parsable2 --noheader "
                              "--format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,"
                              "ReqMem" % RUN))
    rows = {line.split("|")[0]: line.split("|") for line in used.strip().split("\n")}
    expect("rule and memory", rows[jobs[0]][2:3] + rows[jobs[0]][-1:], ["rule_a", "100M"])
    expect("its step", jobs[0] + ".0" in rows, True)
    lasting = [submit(partition, "wrap", "sleep 1000") for _ in range(2)]
    output("scancel %s --clusters=all" % " ".join(lasting))
    until("cancelled", lambda: [by_sacct()[job] for job in lasting] == ["CANCELLED"] * 2)


main()
