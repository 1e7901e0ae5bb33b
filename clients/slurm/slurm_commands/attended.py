"""Jobs of a terminal: what srun and salloc ask for as options of `berth run`."""
import os

from . import jobs
from .options import Usage

# What `berth run` has from its own process; and the words by which programs are compared.
OF_THE_PROCESS = {"directory", "environment", "umask", "program_words"}

# Options of `berth run` by keys of POST /v1/jobs.
PASSED = {
    "name": "--name", "gpus": "--gpus", "vram_bytes": "--vram", "cpus": "--cpus",
    "mem_bytes": "--mem", "class": "--class", "share": "--share", "comment": "--comment",
    "notify": "--notify", "notify_on": "--notify-on",
}

# By other keys: Slurm's option, and what to do without it.
REFUSED = {
    "array": ("--array", "submit the array with sbatch"),
    "begin_at": ("--begin", "submit a script with sbatch --begin"),
    "held": ("--hold", "submit a script with sbatch --hold"),
}


def run_as_job(command, body, words):
    """Becomes `berth run` with the words, for the shell, as the job's command."""
    for key, (option, instead) in REFUSED.items():
        if key in body:
            raise Usage("%s: error: %s is not supported for a job of this terminal; %s"
                        % (command, option, instead))
    options = [word for key, option in PASSED.items() if key in body
               for word in (option, str(body[key]))]
    for wait in body.get("after", []):
        task = "_%d" % wait["task"] if "task" in wait else ""
        options += ["--" + wait["when"], "%d%s" % (wait["job"], task)]
    if "gpu_types" in body:
        options += ["--gpu-type", ",".join(body["gpu_types"])]
    if body.get("exclusive"):
        options += ["--exclusive"]
    if "time_limit_seconds" in body:
        options += ["--time", "%ds" % body["time_limit_seconds"]]
    if "warning_signal" in body:
        notice = max(1, int(body["warning_seconds"]))
        options += ["--signal", "%s@%ds" % (body["warning_signal"], notice)]
    known = {*OF_THE_PROCESS, *PASSED, "after", "gpu_types", "exclusive", "time_limit_seconds",
             "warning_signal", "warning_seconds"}
    for key in body.keys() - known:
        raise Usage("%s: error: '%s' of a job is not supported here; submit a script with sbatch"
                    % (command, key))
    environment = dict(pair.split("=", 1) for pair in body["environment"])
    os.execvpe("berth", ["berth", "run", *options, "--", "/bin/sh", "-c",
                         jobs.ATTENDED + words[0], command, *words[1:]], environment)
