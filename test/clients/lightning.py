"""Stands in for PyTorch Lightning 2.6.2: SLURMEnvironment and the signal that asks for a requeue.

What it reads of a job in each of two tasks, USR1 that comes to the steps before the limit, and
`scontrol requeue` by rank 0 inside its handler; the other tasks go as SIGTERM comes. `lightning.py
FOLDER` is what a task runs.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import time

from calls import expect, output, read, until, write

SCRIPT = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=00:05:00
#SBATCH --signal=SIGUSR1@90
#SBATCH --output=train-%j.out
#SBATCH --open-mode=append
srun {command}
"""


def environment():
    """As SLURMEnvironment has it."""
    env = os.environ
    if "SLURM_NTASKS" not in env or env.get("SLURM_JOB_NAME") in ("bash", "interactive"):
        sys.exit("srun is not used")
    if int(env["SLURM_NTASKS"]) > 1 and "SLURM_NTASKS_PER_NODE" not in env:
        sys.exit("--ntasks is not supported")
    expect("devices", int(env["SLURM_NTASKS_PER_NODE"]), 2)
    expect("nodes", int(env["SLURM_NNODES"]), 1)
    nodes = re.sub(r"\[(.*?)[,-].*\]", "\\1", env["SLURM_NODELIST"])
    root = re.sub(r"\[(.*?)\]", "\\1", nodes).split(" ")[0].split(",")[0]
    port = int(env["SLURM_JOB_ID"][-4:]) + 15000
    return [root, port, env["SLURM_NTASKS"], env["SLURM_PROCID"], env["SLURM_LOCALID"],
            env["SLURM_NODEID"], env.get("SLURM_RESTART_COUNT")]


def train(folder):
    told, is_ending = environment(), []
    rank, job = os.environ["SLURM_PROCID"], os.environ["SLURM_JOB_ID"]
    assert re.match("[0-9_-]+", job)

    def requeue(*_):
        write(os.path.join(folder, "checkpoint." + rank), "step 1")
        if rank == "0":
            print("requeue:", subprocess.call(["scontrol", "requeue", job]), flush=True)

    signal.signal(signal.SIGUSR1, requeue)
    signal.signal(signal.SIGTERM, lambda *_: is_ending.append(True))
    write(os.path.join(folder, "ready.%s.%s" % (rank, told[-1])), repr(told))
    while not is_ending and told[-1] is None:  # a step of the training
        time.sleep(0.05)


def main():
    command = "%s %s %s" % (sys.executable, os.path.abspath(__file__), os.getcwd())
    path = write("train.sh", SCRIPT.format(command=command))
    job = re.search(r"\d+", output(["sbatch", path]))[0]
    host = socket.gethostname().split(".")[0]
    for run in (None, "1"):
        for rank in "01":
            path = "ready.%s.%s" % (rank, run)
            until(path, lambda: os.path.exists(path) and read(path).endswith("]"))
            expect("rank " + rank, read(path),
                   repr([host, int(job[-4:]) + 15000, "2", rank, rank, "0", run]))
        if run is None:  # as the notice before the limit does
            output(["scancel", "--signal=USR1", job])
    until("it ends", lambda: output(["sacct", "-n", "-X", "-P", "-o", "State", "-j", job])
          == "COMPLETED\n")
    expect("checkpoints", [read("checkpoint." + rank) for rank in "01"], ["step 1"] * 2)
    expect("rank 0 asked", "requeue: 0\n" in read("train-%s.out" % job), True)


if __name__ == "__main__":
    train(sys.argv[1]) if len(sys.argv) > 1 else main()
