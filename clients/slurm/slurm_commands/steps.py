"""The steps of jobs, which berth does not know: srun notes them in its user's files for sacct.

Each run of a job has a file, with a line of JSON for each beginning and end of a step. Its name says
when the run began, because jobs of another berthd may have the same numbers.
"""
import contextlib
import fcntl
import json
import os
import time

from . import jobs

KEPT = 90 * 86400  # seconds
SLACK = 2  # seconds between a start as berth has it and as the job itself does


def state_folder(name):
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "berth", name)


def folder():
    return state_folder("slurm-steps")


def file_of_this_run(where):
    run = [os.environ.get(name, "") for name in
           ("SLURM_JOB_ID", "BERTH_ATTEMPT", "SLURM_JOB_START_TIME")]
    return os.path.join(where, "-".join(run)) if all(map(str.isdigit, run)) else None


def begin(name):
    """The step's number. A step that cannot be noted runs all the same."""
    path = file_of_this_run(folder())
    if path is None:
        return 0
    try:
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        with open(path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = sum('"began"' in line for line in file)
            if number == 0:
                forget_old(folder())
            file.write(json.dumps({"step": number, "name": name, "began": time.time()}) + "\n")
        return number
    except OSError:
        return 0


def end(number, code):
    path = file_of_this_run(folder())
    try:
        if path is not None:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"step": number, "ended": time.time(), "code": code}) + "\n")
    except OSError:
        pass


def forget_old(where):
    for entry in os.scandir(where):
        with contextlib.suppress(FileNotFoundError):  # another step's forgot it
            if entry.stat().st_mtime < time.time() - KEPT:
                os.unlink(entry.path)


class Part:
    """The batch script or a step of a job, where sacct has a row of its own for it."""

    def __init__(self, job, label, name):
        self.job, self.label, self.name = job, label, name
        self.state, self.exit, self.started, self.ended = job.state, job.exit, job.started, job.ended
        if job.state in ("TIMEOUT", "CANCELLED"):
            self.state, self.exit = "CANCELLED", "0:15"
        elif not job.exit.endswith(":0") and job.state == "FAILED":
            self.state = "CANCELLED"  # a signal, as Slurm has it

    def __getattr__(self, name):
        return getattr(self.job, name)

    @property
    def elapsed(self):
        if self.label == "batch":
            return self.job.elapsed
        return max(0, (self.ended or time.time()) - self.started)

    def finish(self, at, code):
        self.ended = at
        self.exit = jobs.exit_text(code)
        is_signal = not self.exit.endswith(":0")
        self.state = "COMPLETED" if code == 0 else "CANCELLED" if is_signal else "FAILED"


def parts_of(job):
    """The script, unless srun or salloc began the job, and the steps of its last run."""
    lines = notes_of(job)
    steps = {}
    for line in lines:
        number = line["step"]
        if "began" in line:
            steps[number] = Part(job, str(number), line["name"])
            steps[number].started = line["began"]
            steps[number].state, steps[number].exit = (
                ("CANCELLED", "0:9") if job.has_ended else ("RUNNING", "0:0"))
        elif number in steps:
            steps[number].finish(line["ended"], line["code"])
    return ([Part(job, "batch", "batch")] if job.is_batch else []) + list(steps.values())


def notes_of(job):
    runs = []
    try:
        for name in os.listdir(folder()):
            number, attempt, began = map(int, name.split("-"))
            if number == job.raw and -SLACK <= began - job.started <= job.elapsed + SLACK:
                runs.append((attempt, name))
        if not runs:
            return []
        with open(os.path.join(folder(), max(runs)[1]), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        return []
