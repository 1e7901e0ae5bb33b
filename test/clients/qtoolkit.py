"""Stands in for qtoolkit 0.1.5, which jobflow-remote runs: SlurmIO submits, looks and cancels.

A script with its header, `squeue` with fields parted by <><> of a job named twice, `scontrol show
job -o` read as words of KEY=VALUE, `scancel -v` whose answer is in its errors; each by the shell.
"""
import re

from calls import call, expect, output, until, write

FIELDS = "%i %t %r %j %u %P %l %D %C %M %m".split()
STATES = "BF CA CD CF CG DL F NF OOM PD PR R RD RF RH RS RV SI SE SO S ST TO".split()


def submit(name, header, command):
    lines = ["#!/bin/bash", "", "#SBATCH --job-name=" + name, "#SBATCH --nodes=1",
             "#SBATCH --ntasks-per-node=1", *("#SBATCH --" + one for one in header), command]
    write(name + ".script", "\n".join(lines))
    code, out, err = call("sbatch %s.script" % name)
    expect("sbatch says nothing else: " + err, code, 0)
    match = re.match(r"(.*:\s*)?([Gg]ranted job allocation|[Ss]ubmitted batch job)\s+"
                     r"(?P<jobid>\d+)", out.strip())
    return match.group("jobid")


def listed(*jobs):
    jobs = jobs if len(jobs) > 1 else jobs * 2
    lines = output("SLURM_TIME_FORMAT='standard' squeue --noheader -o '%s' --jobs=%s"
                   % ("<><> ".join(FIELDS), ",".join(jobs))).splitlines()
    rows = [[word.strip() for word in line.split("<><>")] for line in lines if "<><>" in line]
    for row in rows:
        expect("fields", len(row), len(FIELDS))
        expect("a state that it knows", row[1] in STATES, True)
    return {row[0]: dict(zip(FIELDS, row)) for row in rows}


def shown(job):
    text = output("SLURM_TIME_FORMAT='standard' scontrol show job -o " + job)
    return {word.split("=", 1)[0]: word.split("=", 1)[1] for word in text.split()}


def main():
    first = submit("first", ["time=1-2:1:1", "mem-per-cpu=100", "gres=gpu:1", "output=out",
                             "error=err", "qos=high", "priority=10", "account=lab",
                             "partition=gpu", "mail-user=a@example.org", "mail-type=NONE"],
                   "sleep 1000")
    later = submit("later", ["array=1-3", "begin=now+1hour"], "true")
    row = until("it runs", lambda: listed(first)[first]["%t"] == "R" and listed(first)[first])
    expect("its row", [row[field] for field in ("%j", "%l", "%D", "%C", "%m")],
           ["first", "1-02:01:01", "1", "1", "100M"])
    expect("the array's", sorted(listed(first, later)), sorted([first, later + "_[1-3]"]))
    told = shown(first)
    expect("it in words", [told[key] for key in ("JobId", "JobName", "JobState", "MinMemoryCPU",
                                                 "NumNodes", "NumCPUs", "CPUs/Task", "TimeLimit")],
           [first, "first", "RUNNING", "100M", "1", "1", "1", "1-02:01:01"])
    for job in (first, later):
        code, _, err = call("scancel -v " + job)
        expect("scancel", code, 0)
        match = re.match(r"(.*:\s*)?(Terminating job)\s+(?P<jobid>\d+)", err.strip())
        expect("the job that it names", match.group("jobid"), job)
    until("it is gone", lambda: not listed(first))
    expect("what became of it", shown(first)["JobState"], "CANCELLED")
    expect("of none", call("scontrol show job -o 999999")[0], 1)


main()
