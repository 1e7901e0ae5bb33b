"""sbatch: queues a script. It travels with the job, so that its file may be moved away at once."""
import json
import os
import re
import sys
import time

import berth

from . import jobs, output_files, processes, request, requeue
from .options import Usage

LARGEST = 120_000  # bytes of a script: it is an argument of the job's command

OTHERS = " ".join(str(number) for number in range(1, 65)  # signals that a shell may trap
                  if number not in (4, 5, 6, 7, 8, 9, 11, 17, 18, 19, 20, 21, 22, 31, 32, 33,
                                    requeue.TOLD))

# Run by sh; its words are in shell_words(). The script is a file of its own folder, which goes when
# the script has ended, and is executed by its own first line; what a job knows of itself only when
# it runs is told here. The shell stays, deaf to signals, to exit as scontrol requeue told it to;
# what it would say of a script that was ended by a signal goes nowhere.
#
# berth signals the job's process group before its limit. Slurm signals the batch shell alone (B:),
# or the steps alone. So the script leaves the group for a session of its own where that was asked
# for, and in its place a second shell takes the signal and passes it on, until it reads a line in
# `end`. It is of a pipeline: one in the background could not hear INT and QUIT. Names begin with b_:
# a variable of the user's, as `name` or `output`, is the script's.
PRELUDE = processes.FIRST_LINE + r"""
deafen() {
  trap : %(others)s
}
b_again=
trap b_again=1 %(told)d
deafen
b_name=$0 b_text=$1 b_mode=$2 b_input=$3 b_output=$4 b_errors=$5
shift 5
fill() {
  b_letters=$1 b_values=
  while :; do
    case $b_letters in
      j*) b_values="$b_values $BERTH_JOB_ID" ;;
      A*) b_values="$b_values ${BERTH_ARRAY_JOB_ID:-$BERTH_JOB_ID}" ;;
      a*) b_values="$b_values ${BERTH_ARRAY_TASK_ID:-4294967294}" ;;
      *) break ;;
    esac
    b_letters=${b_letters#?}
  done
  printf "${b_letters#:}" $b_values
}
begin() {
  b_number=100
  case $1 in
    */*)
      until [ -d "${1%%/*}/" ] || [ $((b_number -= 1)) -eq 0 ]; do sleep 0.1; done
      [ -d "${1%%/*}/" ] || mkdir -p "${1%%/*}"
      ;;
  esac
  case $b_mode in
    append) ;;
    truncate) : >"$1" ;;
    *) [ -n "$SLURM_RESTART_COUNT" ] || : >"$1" ;;
  esac
}
if [ -n "$b_output" ]; then
  b_output=$(fill "$b_output")
  case $b_output in /*) ;; *) b_output=$PWD/$b_output ;; esac
  echo "sbatch: the output goes to $b_output"  # for `berth logs`
  begin "$b_output" && exec >>"$b_output" 2>&1 || exit 1
fi
if [ -n "$b_errors" ]; then
  b_errors=$(fill "$b_errors")
  begin "$b_errors" && exec 2>>"$b_errors" || exit 1
fi
b_input=$(fill "$b_input")
b_umask=$(umask)
umask 077
b_folder=${XDG_STATE_HOME:-$HOME/.local/state}/berth/slurm-scripts
b_like=$(uname -n)-$$-XXXXXX
{ { [ -d "$b_folder" ] || mkdir -p "$b_folder"; } &&
  b_folder=$(mktemp -d "$b_folder/$b_like"); } 2>/dev/null ||
  b_folder=$(mktemp -d "${TMPDIR:-/tmp}/berth-slurm-$b_like") || exit 1
%(writes)s >"$b_folder/slurm_script" && chmod 700 "$b_folder/slurm_script" || exit 1
b_apart=
run() {
  $b_apart /bin/sh -c 'exec 2>&8 8>&- 7>&- && exec <"$1" || exit 1; export SLURM_TASK_PID=$$
    b_folder=$2; shift 2; [ ! -p "$b_folder/end" ] || echo $$ >"$b_folder/pid"
    exec "$b_folder/slurm_script" "$@"' "$b_name" "$b_input" "$b_folder" "$@"
}
pass() {
  if [ "$b_signal" = "$BERTH_SLURM_SIGNAL" ]; then
    set -- $(grep -lzsxF "BERTH_JOB_ID=$BERTH_JOB_ID" /proc/[0-9]*/environ |
      xargs -r grep -lzsxF "BERTH_REPORT=$BERTH_REPORT" |
      xargs -r grep -lzs ^SLURM_STEP_ID= | sed 's/[^0-9]//g')
  else
    until [ -s "$b_folder/pid" ]; do sleep 0.1; done
    set -- $(cat "$b_folder/pid")
  fi
  [ $# -eq 0 ] || kill -s "$b_signal" "$@"
}
exec 8>&2 2>/dev/null
if [ -n "$BERTH_SLURM_SIGNAL" ] && b_apart=$(command -v setsid) && mkfifo "$b_folder/end"; then
  b_signal=${BERTH_SLURM_SIGNAL#B:}
  exec 7<>"$b_folder/end"
  umask "$b_umask"
  { trap pass "$b_signal"; until read -r b_number; do :; done; } <&7 |
    { deafen; run "$@"; b_code=$?; echo >&7; exit "$b_code"; }
else
  umask "$b_umask"
  run "$@"
fi
b_code=$?
rm -rf "$b_folder"
[ -z "$b_again" ] || exit %(code)d
[ "$b_code" -ne %(code)d ] || exit %(other)d
exit "$b_code"
""" % {"writes": jobs.WRITES, "told": requeue.TOLD, "code": requeue.CODE,
       "other": requeue.CODE + 1, "others": OTHERS}


def text_of(file):
    return file.read().decode("utf-8", "surrogateescape")


def script_of(options, words):
    """(text, path, arguments)"""
    if "wrap" in options:
        if words:
            raise Usage("sbatch: error: Script arguments not permitted with --wrap option")
        return "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n" % options["wrap"], \
            None, []
    if not words:
        return text_of(sys.stdin.buffer), None, []
    try:
        with open(words[0], "rb") as file:
            return text_of(file), os.path.abspath(words[0]), words[1:]
    except OSError:
        raise Usage("sbatch: error: Unable to open file %s" % words[0]) from None


def check(text):
    if not text.startswith("#!"):
        raise Usage("sbatch: error: This does not look like a batch script.  The first\n"
                    "sbatch: error: line must start with #! followed by the path to an "
                    "interpreter.\n"
                    "sbatch: error: For instance: #!/bin/sh")
    if "\r\n" in text:
        raise Usage("sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"
                    "sbatch: error: instead of expected UNIX line breaks (\\n).")
    if len(text.encode(errors="surrogateescape")) > LARGEST:
        raise Usage("sbatch: error: the script has %d bytes, berth takes %d at most"
                    % (len(text), LARGEST))


# What sbatch calls the fields that berthd finds fault with.
OPTIONS = {"gpu_types": "--gpus", "gpus": "--gpus", "vram_bytes": "--vram", "cpus": "--cpus-per-task",
           "mem_bytes": "--mem", "time_limit_seconds": "--time", "deadline_at": "--deadline",
           "begin_at": "--begin", "directory": "--chdir", "name": "--job-name",
           "output": "--output", "after": "--dependency", "array": "--array",
           "array_at_once": "--array"}


def refused(error):
    """Slurm's words where clients know them, else berth's."""
    text = str(error)
    field, colon, rest = text.partition(": ")
    print("sbatch: error: " + OPTIONS.get(field, field) + colon + rest, file=sys.stderr)
    if isinstance(error, berth.Unreachable):
        return Usage("sbatch: error: Batch job submission failed: Unable to contact slurm "
                     "controller (connect failure)")
    if text.startswith("array"):
        return Usage("sbatch: error: Batch job submission failed: Invalid job array specification")
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


def shell_words(options, name, tasks, script):
    """(words of the shell, the file that berth writes). The output goes to a file by berth,
    so that berth has it, too, where berth can open it as it was asked for."""
    text, path, rest = script
    mode = options.get("open-mode", "")[:1].lower()
    if mode not in ("", "a", "t"):
        raise Usage("sbatch: error: Invalid --open-mode specification", 255)
    mode = {"a": "append", "t": "truncate"}.get(mode, "")
    usual = "slurm-%A_%a.out" if "array" in options else "slurm-%j.out"
    files = {"StdIn": request.pattern(options.get("input", "/dev/null"), name),
             "StdOut": request.pattern(options.get("output", usual), name)}
    files["StdErr"] = request.pattern(options["error"], name) if "error" in options \
        else files["StdOut"]
    errors = files["StdErr"] if files["StdErr"] != files["StdOut"] else ""
    out = files["StdOut"] if files["StdOut"] != "/dev/null" else ""
    is_berths = not mode
    noted = {key: options[key] for key in ("partition", "account", "qos", "reservation")
             if key in options}
    noted.update({key: value for key, value in (
        ("ntasks", tasks if tasks > 1 else None),
        ("mem-per-cpu", request.mebibytes(options.get("mem-per-cpu", "0"))),
        ("script", path if path and berth.is_utf8(path) else None),
        ("input", files["StdIn"] if "input" in options else None),
        ("output", None if is_berths else out or None), ("error", errors or None)) if value})
    sent = text if berth.is_utf8(text) else jobs.escaped(text)
    return [keeper(noted, text), name, sent, mode, shell_pattern(files["StdIn"]),
            "" if is_berths else shell_pattern(out), shell_pattern(errors), *rest], \
        out if is_berths else ""


def keeper(noted, text):
    """The prelude, with what was asked and berth has no place for. Of what is usual nothing is
    noted: the words of a command say which runs are of the same program."""
    first, _, rest = PRELUDE.partition("\n")
    if not berth.is_utf8(text):
        rest = rest.replace(jobs.WRITES, jobs.WRITES_ESCAPED)
    return "%s\n# asked %s\n%s" % (first, json.dumps(noted, ensure_ascii=False), rest)


def shell_pattern(text):
    """`%j-%3a.out` as `ja:%s-%03d.out`, for the shell's printf; "" for ""."""
    letters = []

    def filled(found):
        if found[2] == "%":
            return "%%"
        letters.append(found[2])
        return "%%0%sd" % found[1] if found[1] else "%s"
    form = re.sub("%([0-9]*)([jAa%])", filled, text.replace("\\", "\\\\"))
    return "".join(letters) + ":" + form if text else ""


def warn_of_files(options, name, directory):
    asked = [("--%s=%s" % (option, options[option]), request.pattern(options[option], name))
             for option in ("output", "error") if options.get(option)]
    output_files.warn(directory, asked or [("the output", "slurm-%j.out")])


def print_start(answer, body):
    """As berth predicts it; one that has no start, such as one that is held, is not begun."""
    start = time.time() if answer["admitted_now"] else answer.get("predicted_start_at")
    if not start:
        print("sbatch: Job to start at Unknown: %s" % answer.get("reason", ""), file=sys.stderr)
        return
    print("sbatch: Job to start at %s using %d processors on nodes %s in partition %s"
          % (jobs.clock(start), body.get("cpus", 1), jobs.HOST, jobs.PARTITION), file=sys.stderr)


def run(arguments):
    options, words = request.table("sbatch").read(arguments, stop_at_command=True)
    if ":" in words[:1]:
        request.refuse_components("sbatch", "':'")
    text, path, rest = script_of(options, words)
    name = "wrap" if "wrap" in options else os.path.basename(path or "sbatch")
    check(text)
    options = request.layered(request.directives("sbatch", text), request.from_environment(),
                              options)
    name = options.get("job-name", name)
    body = request.body("sbatch", options, name)
    tasks = request.tasks("sbatch", options)
    warn_of_files(options, name, body["directory"])
    words, output = shell_words(options, name, tasks, (text, path, rest))
    if output:
        body["output"] = output
    if "no-requeue" not in options:
        body["requeue_on"] = [requeue.CODE]
    body["command"] = ["/bin/sh", "-c", *words]
    try:
        if "test-only" in options:
            print_start(berth.request("POST", "/v1/jobs?dry_run=true", body), body)
            return 0
        answer = berth.request("POST", "/v1/jobs", body)
    except berth.Error as error:
        raise refused(error) from None
    number = answer["id"]
    try:
        if "parsable" in options:
            print(number)
        elif "quiet" not in options:
            print("Submitted batch job %d" % number)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in it cannot be written either
        raise Usage("sbatch: error: job %d is submitted; standard output: %s"
                    % (number, error.strerror)) from None
    return wait_for(number) if "wait" in options else 0
