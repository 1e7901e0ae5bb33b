"""sbatch: queues a script. It travels with the job, so that its file may be moved away at once."""
import os
import sys
import time

import berth

from . import jobs, processes, request, requeue
from .options import Usage

LARGEST = 120_000  # bytes of a script: it is an argument of the job's command

# Run by sh with the text of the script as $1 and the file for errors, if any, as $2. The script
# is executed from an unlinked file, by its own first line; what a job knows of itself only when it
# runs is told here. The shell stays, deaf to signals, to exit as scontrol requeue told it to; what
# it would say of a script that was ended by a signal goes nowhere.
PRELUDE = processes.FIRST_LINE + r"""
again=
trap again=1 %(told)d
for number in 1 2 3 10 12 13 14 15 16 23 24 25 26 27 28 29 30 $(seq 34 49) $(seq 51 64); do
  trap : "$number"
done
unset number
if [ -n "$2" ]; then
  errors=$(printf %%s "$2" | sed "s/%%j/$BERTH_JOB_ID/g; s/%%A/${BERTH_ARRAY_JOB_ID:-$BERTH_JOB_ID}/g
    s/%%a/${BERTH_ARRAY_TASK_ID:-4294967294}/g")
  exec 2>>"$errors" || exit 1
  unset errors
fi
script=$(mktemp) && printf '%%s\n' "$1" >"$script" && chmod 700 "$script" || exit 1
exec 9<"$script" || exit 1
rm "$script"
unset script
shift 2
exec 8>&2 2>/dev/null
/bin/sh -c 'exec 2>&8 8>&-; export SLURM_TASK_PID=$$
  case $BERTH_SLURM_SIGNAL in B:* | "") ;; *) trap "" "$BERTH_SLURM_SIGNAL" ;; esac
  exec /proc/self/fd/9 "$@"' "$0" "$@"
code=$?
[ -z "$again" ] || exit %(code)d
[ "$code" -ne %(code)d ] || exit %(other)d
exit "$code"
""" % {"told": requeue.TOLD, "code": requeue.CODE, "other": requeue.CODE + 1}


def script_of(options, words):
    """(text, name, arguments)"""
    if "wrap" in options:
        if words:
            raise Usage("sbatch: error: Script arguments not permitted with --wrap option")
        return "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n" % options["wrap"], \
            "wrap", []
    if not words:
        return sys.stdin.read(), "sbatch", []
    try:
        with open(words[0], encoding="utf-8", errors="surrogateescape") as file:
            return file.read(), os.path.basename(words[0]), words[1:]
    except OSError:
        raise Usage("sbatch: error: Unable to open file %s" % words[0]) from None


def check(text):
    if not text.startswith("#!"):
        raise Usage("sbatch: error: This does not look like a batch script.  The first\n"
                    "sbatch: error: line must start with #! followed by the path to an "
                    "interpreter.\n"
                    "sbatch: error: For instance: #!/bin/sh")
    if len(text.encode(errors="surrogateescape")) > LARGEST:
        raise Usage("sbatch: error: the script has %d bytes, berth takes %d at most"
                    % (len(text), LARGEST))


def refused(error):
    """Slurm's words where clients know them, else berth's."""
    text = str(error)
    if text.startswith("array"):
        return Usage("sbatch: error: Batch job submission failed: Invalid job array specification")
    print("sbatch: error: " + text, file=sys.stderr)
    if text.startswith("after"):
        return Usage("sbatch: error: Batch job submission failed: Job dependency problem")
    return Usage("sbatch: error: Batch job submission failed: Requested node configuration is not "
                 "available")


def wait_for(number):
    worst = 0
    for one in berth.Job(number).tasks():
        ended = jobs.Job(one.wait())
        code, _, signal = ended.exit.partition(":")
        worst = max(worst, 1 if signal != "0" or ended.code not in ("CD", "F") else int(code))
    return worst


def run(arguments):
    options, words = request.table("sbatch").read(arguments, stop_at_command=True)
    text, name, rest = script_of(options, words)
    check(text)
    options = {**request.directives("sbatch", text), **options}
    name = options.get("job-name", name)
    body = request.body("sbatch", options, name)
    usual = "slurm-%A_%a.out" if "array" in options else "slurm-%j.out"
    output = request.pattern(options.get("output", usual), name)
    errors = request.pattern(options["error"], name) if "error" in options else ""
    if output != "/dev/null":
        body["output"] = output
    errors = errors if errors != output else ""
    if "no-requeue" not in options:
        body["requeue_on"] = [requeue.CODE]
    body["command"] = ["/bin/sh", "-c", PRELUDE, name, text, errors, *rest]
    try:
        if "test-only" in options:
            berth.request("POST", "/v1/jobs?dry_run=true", body)
            when = time.strftime("%Y-%m-%dT%H:%M:%S")
            print("sbatch: Job to start at %s using %d processors on nodes %s in partition %s"
                  % (when, body.get("cpus", 1), jobs.HOST, jobs.PARTITION), file=sys.stderr)
            return 0
        answer = berth.request("POST", "/v1/jobs", body)
    except berth.Error as error:
        raise refused(error) from None
    number = answer["id"]
    if "parsable" in options:
        print(number)
    elif "quiet" not in options:
        print("Submitted batch job %d" % number)
    sys.stdout.flush()
    return wait_for(number) if "wait" in options else 0
