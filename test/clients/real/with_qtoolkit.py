"""Runs qtoolkit's SlurmIO itself: submits, looks by both commands, cancels."""
import os

from qtoolkit.core.data_objects import ProcessPlacement, QResources
from qtoolkit.io.slurm import SlurmIO
from qtoolkit.manager import QueueManager


def main():
    manager, folder = QueueManager(SlurmIO()), os.getcwd()
    asks = QResources(job_name="qt", queue_name="gpu", time_limit=3661, memory_per_thread=100,
                      nodes=1, processes_per_node=1, gpus_per_job=1,
                      process_placement=ProcessPlacement.EVENLY_DISTRIBUTED)
    job = manager.submit(commands=["sleep 1000"], options=asks, work_dir=folder).job_id
    shown, listed = manager.get_job(job), manager.get_jobs_list(jobs=[job])
    print(listed[0].name, listed[0].info.time_limit, shown.job_id == job,
          manager.cancel(job).status.name, manager.get_job(job).sub_state.name)


if __name__ == "__main__":
    main()
