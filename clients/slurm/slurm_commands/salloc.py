"""salloc: a shell, or a command, with a place on GPUs, by `berth run`."""
import os

from . import jobs, request


def run(arguments):
    options, words = request.table("salloc").read(arguments, stop_at_command=True)
    body = request.body("salloc", options, options.get("job-name", "interactive"))
    command = ["berth", "run", "--name", body["name"], "--gpus", str(body["gpus"])]
    if "vram_bytes" in body:
        command += ["--vram", str(body["vram_bytes"])]
    if "time_limit_seconds" in body:
        command += ["--time", "%ds" % body["time_limit_seconds"]]
    inner = (jobs.ATTENDED +
             'echo "salloc: Granted job allocation $BERTH_JOB_ID" >&2; exec "$@"')
    command += ["--", "/bin/sh", "-c", inner, "salloc",
                *(words or [os.environ.get("SHELL", "/bin/sh")])]
    environment = dict(pair.split("=", 1) for pair in body["environment"])
    os.execvpe("berth", command, environment)
