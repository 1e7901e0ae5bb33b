"""srun --jobid: a step of a job from outside of it, with what that job's processes were told."""
import os
import time

import berth

from . import jobs, processes
from .options import Usage


def enter(number):
    """Gives this process the job's variables, or refuses."""
    def refuse(why):
        raise Usage("srun: error: Unable to confirm allocation for job %s: %s" % (number, why))
    try:
        job = jobs.Job(berth.Job(number).show())
    except berth.Error:
        refuse("Invalid job id specified")
    if job.uid != os.getuid() and os.getuid() != 0:
        refuse("Access/permission denied")
    if job.has_ended:
        refuse("Job/step already completing or completed")
    if job.state != "RUNNING":
        refuse("it is %s, and a step begins in a job that runs" % job.state)
    told = variables_of(job)
    if told is None:
        refuse("none of its processes says what berth told it, as those of sbatch, salloc and srun "
               "do; begin the step in its script")
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]
    os.environ.update(told)


def variables_of(job):
    """What berth and sbatch told the job's first process, which no step has narrowed."""
    for pid, is_step in processes.of(job):
        words = [os.fsdecode(word) for word in processes.words_of(pid, "environ")]
        found = dict(word.split("=", 1) for word in words if "=" in word)
        if not is_step and "SLURM_JOB_ID" in found:
            told = {mark.partition(":")[0] for mark in found.get("BERTH_SET", "").split(",")}
            return {name: value for name, value in found.items()
                    if name in told or name.startswith(("SLURM_", "BERTH_SET", "CUDA_VIS"))}
    return None


def wait_for_end(number):
    """berth ends a job's own processes, and this step is none of them."""
    while True:
        try:
            berth.Job(number).wait()
            return
        except berth.Error:  # berthd is away
            time.sleep(1)
