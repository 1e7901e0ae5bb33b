"""Stands in for dask-jobqueue 0.9.0: SLURMCluster scales to two jobs, computes, closes.

A script with its header lines in a temporary file that goes as `sbatch` has answered, the first
number of that answer, `scancel` of each job. A job runs `dask_jobqueue.py WORKER SCHEDULER`.
"""
import os
import re
import socket
import sys
import tempfile

from calls import expect, output, read, until


def submit(name, scheduler):
    lines = ["#!/usr/bin/env bash", "", "#SBATCH -J dask-worker",
             "#SBATCH -e %s/dask-worker-%%J.err" % os.getcwd(),
             "#SBATCH -o %s/dask-worker-%%J.out" % os.getcwd(), "#SBATCH -p gpu",
             "#SBATCH -A lab", "#SBATCH -n 1", "#SBATCH -N 1", "#SBATCH --cpus-per-task=1",
             "#SBATCH --mem=477M", "#SBATCH -t 00:10:00", "#SBATCH --gpus=1", "",
             "%s %s %s %s" % (sys.executable, os.path.abspath(__file__), name, scheduler), ""]
    with tempfile.NamedTemporaryFile("w", suffix=".sh", dir=".") as file:
        file.write("\n".join(lines))
        file.flush()
        return re.search(r"(?P<job_id>\d+)", output(["sbatch", file.name])).group("job_id")


def work(name, scheduler):
    """A worker: it says its name and GPU, adds up what it is sent, and goes as it is told to."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(scheduler)
        print("Start worker", name, file=sys.stderr, flush=True)
        connection.sendall(("%s %s\n" % (name, os.environ["CUDA_VISIBLE_DEVICES"])).encode())
        lines = connection.makefile()
        for line in lines:
            connection.sendall(("%d\n" % sum(map(int, line.split()))).encode())


def main():
    scheduler = os.path.join(os.getcwd(), "scheduler")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(scheduler)
    listener.listen()
    listener.settimeout(60)
    jobs = [submit("SLURMCluster-%d" % at, scheduler) for at in range(2)]
    workers = [listener.accept()[0] for _ in jobs]
    files = [worker.makefile() for worker in workers]
    expect("names, and GPUs of their own", sorted(file.readline() for file in files)[0][:15],
           "SLURMCluster-0 ")
    for worker, file in zip(workers, files):
        worker.sendall(b"1 2 3\n")
        expect("a sum", file.readline(), "6\n")
    for job in jobs:
        output(["scancel", job])
    for file in files:
        expect("the worker is gone", file.readline(), "")
    until("no job is left", lambda: not output(["squeue", "-h", "-n", "dask-worker"]))
    expect("its log", read("dask-worker-%s.err" % jobs[0]).split("\n")[0][:12], "Start worker")


if __name__ == "__main__":
    work(*sys.argv[1:]) if len(sys.argv) > 1 else main()
