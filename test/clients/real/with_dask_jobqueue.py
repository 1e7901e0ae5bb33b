"""Runs dask-jobqueue itself: a cluster of two jobs, then as many as it likes, and none."""
import os
import subprocess
import sys
import time

from dask_jobqueue import SLURMCluster
from distributed import Client


def queue():
    return subprocess.check_output(["squeue", "-h", "-n", "dask-worker"], universal_newlines=True)


def main():
    cluster = SLURMCluster(queue="gpu", account="lab", cores=1, memory="500MB", interface="lo",
                           walltime="00:10:00", log_directory=os.getcwd(), python=sys.executable,
                           job_extra_directives=["--gpus=1"])
    with cluster, Client(cluster) as client:
        cluster.scale(2)
        client.wait_for_workers(2, timeout=120)
        gpus = client.run(lambda: os.environ["CUDA_VISIBLE_DEVICES"]).values()
        cluster.adapt(minimum=1, maximum=3)
        total = sum(client.gather(client.map(lambda at: time.sleep(0.5) or at, range(20))))
    end = time.monotonic() + 60
    while queue() and time.monotonic() < end:
        time.sleep(1)
    print("gpus %d, sum %d, left %r" % (len(set(gpus)), total, queue()))


if __name__ == "__main__":
    main()
