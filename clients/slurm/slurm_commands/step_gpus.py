"""The GPUs of a step and of each of its tasks, by its options."""
import os

from . import leases, request
from .options import Usage

ASKS = ("gpus", "gpus-per-node", "gpus-per-task", "ntasks-per-gpu", "gres")


def visible():
    """Those of the job, or of the task that begins the step, as berth named them."""
    return [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]


def bound(options):
    """How GPUs go to tasks: as --gpu-bind says, else as the option that asks for them implies."""
    if "gpu-bind" in options:
        return options["gpu-bind"]
    if "gpus-per-task" in options:
        return "per_task:" + options["gpus-per-task"].rpartition(":")[2]
    if "ntasks-per-gpu" in options:
        return "single:" + options["ntasks-per-gpu"]
    return "none"


def with_inherited(options, tasks, have):
    """The options, with what the job was asked for per task if the step itself asks for nothing."""
    told = dict(options)
    if "SLURM_GPU_BIND" in os.environ:
        told.setdefault("gpu-bind", os.environ["SLURM_GPU_BIND"])
    per_task = os.environ.get("SLURM_GPUS_PER_TASK", "").rpartition(":")[2]
    if per_task.isdigit() and not any(name in options for name in ASKS):
        if int(per_task) * tasks <= have:
            told["gpus-per-task"] = per_task
    return told


def tasks_by_gpus(options):
    """How many tasks the GPUs imply where no option gives their number; else None."""
    if "gpus" not in options or "ntasks" in options:
        return None
    count = request.gpus("srun", {"gpus": options["gpus"]})[0]
    if "ntasks-per-gpu" in options:
        return count * request.number("srun", options, "ntasks-per-gpu", 1)
    if "gpus-per-task" in options:
        per_task = request.gpus("srun", {"gpus-per-task": options["gpus-per-task"]})[0]
        return count // max(1, per_task)
    return None


def asked(options, tasks):
    """How many GPUs the step asks for; None if it does not say, and so has all."""
    if not any(name in options for name in ASKS):
        return None
    if "gpus" in options:
        return request.gpus("srun", {"gpus": options["gpus"]})[0]
    if "ntasks-per-gpu" in options:
        return -(-tasks // max(1, request.number("srun", options, "ntasks-per-gpu", 1)))
    return request.gpus("srun", {**options, "ntasks": str(tasks)})[0]


def of_step(options, tasks, job, waiting):
    """(those of the step, those of each task, whether the step waited for them alone). waiting is
    called once if it has to wait, None if it may share."""
    have = visible()
    options = with_inherited(options, tasks, len(have))
    count = asked(options, tasks)
    if count is None:
        step = have
    elif count > len(have):
        raise Usage("srun: error: the step asks for %d GPUs, the job has %d\n"
                    "srun: error: Unable to create step for job %s: Invalid generic resource "
                    "(gres) specification"
                    % (count, len(have), job))
    else:
        step = leases.take("gpus", have, count, waiting) if waiting and count else have[:count]
    return step, [of_task(bound(options), step, task) for task in range(tasks)], bool(count)


def of_task(bind, step, task):
    kind, _, value = bind.replace("verbose,", "").replace("v,", "").partition(":")
    try:
        if kind in ("none", "closest") or not step:
            return step
        if kind == "single":
            return [step[task // max(1, int(value or 1)) % len(step)]]
        if kind == "per_task":
            return [step[at % len(step)]
                    for at in range(task * int(value), (task + 1) * int(value))][:len(step)]
        if kind in ("map_gpu", "mask_gpu"):
            every = [one for part in value.split(",") for one in repeated(part)]
            one = every[task % len(every)]
            if kind == "map_gpu":
                return [step[int(one, 0)]]
            mask = int(one, 16)
            return [name for at, name in enumerate(step) if mask >> at & 1]
    except (ValueError, IndexError):
        pass
    raise Usage("srun: error: Invalid --gpu-bind argument: %s, for %d GPUs" % (bind, len(step)))


def repeated(part):
    """`2*3` is 2 three times."""
    one, _, times = part.partition("*")
    return [one] * int(times or 1)
