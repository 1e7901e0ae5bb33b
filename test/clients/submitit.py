"""Stands in for submitit 1.5.4, and so for hydra-submitit-launcher, which calls nothing else.

An array, a job of two tasks, one that is cancelled and one that is preempted: the script that it
writes and moves away, `srun` in it with a log for each task, `sacct` for the states, `scancel` with
and without a signal, `scontrol requeue` from inside. `submitit.py FOLDER` is what a task runs.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from calls import expect, output, read, until, write


def script(parameters, name, command):
    lines = ["#!/bin/bash", "", "# Parameters"]
    lines += ["#SBATCH --%s=%s" % pair for pair in sorted(parameters.items())]
    logs = "--output %s_%%t_log.out --error %s_%%t_log.err" % (name, name)
    return "\n".join(lines + ["", "# command", "export SUBMITIT_EXECUTOR=slurm",
                              "srun --unbuffered %s %s" % (logs, command), ""])


def submit(work, tasks=1, **more):
    """The job's number; the tasks do work[n], or all the only one."""
    name = "%s/%%%s" % (os.getcwd(), "A_%a" if len(work) > 1 else "j")
    parameters = {"cpus-per-task": 1, "error": name + "_0_log.err", "job-name": "submitit",
                  "mem": "256MB", "nodes": 1, "ntasks-per-node": tasks, "open-mode": "append",
                  "output": name + "_0_log.out", "signal": "USR2@40", "time": 1,
                  "wckey": "submitit", **more}
    if len(work) > 1:
        parameters["array"] = "0-%d%%%d" % (len(work) - 1, len(work))
    command = "%s -u %s %s" % (sys.executable, os.path.abspath(__file__), os.getcwd())
    path = write("submission_file.sh", script(parameters, name, command))
    number = re.search(r"job (?P<id>[0-9]+)", output(["sbatch", path])).group("id")
    os.rename(path, number + "_submission.sh")
    for task, what in enumerate(work):
        job = number if len(work) == 1 else "%s_%d" % (number, task)
        write("%s.part" % job, json.dumps({"work": what, "seen": 0}))
        os.rename("%s.part" % job, "%s_submitted.json" % job)
    return number


def states(*numbers):
    """By job, as read_info() of submitit has them."""
    words = ["sacct", "-o", "JobID,State,NodeList", "--parsable2"]
    lines = output(words + [word for one in numbers for word in ("-j", one)]).splitlines()
    found = {}
    for line in lines[1:]:
        stats = dict(zip(lines[0].split("|"), line.split("|")))
        if "." in stats["JobID"]:
            continue
        ranges = re.search(r"(\d+)_\[((\d+(-\d+)?(,)?)+)(\%\d+)?\]", stats["JobID"])
        if not ranges:
            found[stats["JobID"]] = stats["State"]
        for part in ranges.group(2).split(",") if ranges else []:
            low, _, high = part.partition("-")
            for task in range(int(low), int(high or low) + 1):
                found["%s_%d" % (ranges.group(1), task)] = stats["State"]
    return found


def result(job, rank=0):
    path = "%s_%d_result.json" % (job, rank)
    return json.loads(until(path, lambda: os.path.exists(path) and read(path)))


def inside(folder):
    """A task: its work, and what it was told; a checkpoint and a requeue on USR2."""
    env = os.environ
    job = env["SLURM_JOB_ID"]
    if "SLURM_ARRAY_JOB_ID" in env:
        job = "%s_%s" % (env["SLURM_ARRAY_JOB_ID"], env["SLURM_ARRAY_TASK_ID"])
    path = os.path.join(folder, job + "_submitted.json")
    delayed = json.loads(until(path, lambda: os.path.exists(path) and read(path)))
    result_path = os.path.join(folder, "%s_%s_result.json" % (job, env["SLURM_PROCID"]))

    def requeue(*_):
        write(path, json.dumps({"work": delayed["work"], "seen": delayed["seen"] + 1}))
        subprocess.check_call(["scontrol", "requeue", job], timeout=60)
        sys.exit(-1)

    signal.signal(signal.SIGUSR2, requeue)
    for ignored in (signal.SIGTERM, signal.SIGCONT):
        signal.signal(ignored, lambda *_: print("bypassed", flush=True))
    told = [env[name] for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NODEID",
                                   "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST")]
    write(os.path.join(folder, job + "_ready"), "")
    if delayed["work"] == "sleep" and delayed["seen"] == 0:
        while True:
            time.sleep(0.1)
    is_good = delayed["work"] != "raise"
    write(result_path + ".part", json.dumps([is_good, delayed["seen"], told,
                                             env.get("SLURM_RESTART_COUNT")]))
    os.rename(result_path + ".part", result_path)
    print("done" if is_good else "raised", job, flush=True)
    sys.exit(0 if is_good else 1)


def main():
    host = socket.gethostname().split(".")[0]
    alone = ["0", "0", "1", "0", "1", host]
    preempted = submit(["sleep"])
    array = submit(["square", "square", "raise"])
    for task, is_good in enumerate([True, True, False]):
        expect("task %d" % task, result("%s_%d" % (array, task)), [is_good, 0, alone, None])
    until("the array's states", lambda: sorted(states(array).values())
          == ["COMPLETED", "COMPLETED", "FAILED"])
    expect("its log", read("%s_1_0_log.out" % array), "done %s_1\n" % array)
    pair = submit(["square"], tasks=2, **{"gpus-per-node": 1})
    for rank in ("0", "1"):
        expect("rank " + rank, result(pair, int(rank))[2], [rank, rank, "2", "0", "1", host])
    until("it runs", lambda: os.path.exists(preempted + "_ready"))
    for sent in ("SIGTERM", "USR2"):
        output(["scancel", preempted, "--signal", sent])
    expect("preempted", result(preempted), [True, 1, alone, "1"])
    expect("its log is appended", read(preempted + "_0_log.out").split("\n")[0], "bypassed")
    waiting = submit(["square"], dependency="afterany:" + array, begin="now+1hour")
    expect("it waits", states(waiting)[waiting], "PENDING")
    output(["scancel", waiting])
    until("it is cancelled", lambda: states(waiting)[waiting].split()[0] == "CANCELLED")


if __name__ == "__main__":
    inside(sys.argv[1]) if len(sys.argv) > 1 else main()
