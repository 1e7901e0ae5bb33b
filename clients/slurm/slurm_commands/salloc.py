"""salloc: a shell, or a command, with a place on GPUs, by `berth run`."""
import os

from . import attended, request
from .options import Usage


def run(arguments):
    options, words = request.table("salloc").read(arguments, stop_at_command=True)
    if ":" in words[:1]:
        request.refuse_components("salloc", "':'")
    if "no-shell" in options:
        raise Usage("salloc: error: --no-shell is not supported, as a job lasts as long as its "
                    "command; use sbatch --wrap='sleep infinity', then srun --jobid --overlap")
    body = request.body("salloc", options, options.get("job-name", "interactive"))
    if "chdir" in options:
        try:
            os.chdir(body["directory"])
        except OSError as error:
            raise Usage("salloc: error: --chdir=%s: %s" % (options["chdir"], error.strerror)) \
                from None
    attended.run_as_job("salloc", body, [
        'echo "salloc: Granted job allocation $BERTH_JOB_ID" >&2; exec "$@"',
        *(words or [os.environ.get("SHELL", "/bin/sh")])])
