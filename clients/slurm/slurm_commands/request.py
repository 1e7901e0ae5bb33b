"""What sbatch, srun and salloc ask for: their common options, and the job made of them."""
import os
import re
import shlex
import signal
import sys
import time

import berth

from . import jobs
from .options import Table, Usage, mebibytes, seconds

# What Slurm's three commands share. Behind a bar stands what becomes of an option that berth cannot
# honour: `quiet` where nothing is lost on one machine, else `warns` or `refused` and why.
COMMON = """account= A
acctg-freq= | quiet
array= a
batch= | quiet
bb= | refused there is no burst buffer
bbf= | refused there is no burst buffer
begin= b
bell | quiet
chdir= D
class=
cluster-constraint= | quiet
clusters= M | quiet
comment=
constraint= C | warns there are no features of nodes; --gres=gpu:TYPE:N asks for a type
container= | refused run the container in the script
contiguous | quiet
core-spec= S | warns no cores are kept free
cores-per-socket= | quiet
cpu-bind= | quiet
cpu-freq= | warns the frequency stays as it is
cpus-per-gpu=
cpus-per-task= c
deadline= | notes no job is ended for its deadline; berth show says whether it can be met
delay-boot= | quiet
dependency= d
distribution= m | quiet
error= e
exclude= x | quiet
exclusive?
export=
export-file= | refused say --export=NAME=VALUE
extra-node-info= B | quiet
get-user-env? | quiet
gid= | refused a job is of the group that submits it
gpu-bind= | quiet
gpu-freq= | warns the frequency stays as it is
gpus= G
gpus-per-node=
gpus-per-socket= | refused say --gpus=N
gpus-per-task=
gres=
gres-flags= | quiet
hint= | quiet
hold H
ignore-pbs | quiet
input= i
job-name= J
kill-on-bad-exit? K | quiet
kill-on-invalid-dep= | warns the job is cancelled once its dependency can never be met
label l | quiet
licenses= L | warns berth counts no licenses
mail-type=
mail-user=
mcs-label= | quiet
mem=
mem-bind= | quiet
mem-per-cpu=
mem-per-gpu=
mincpus=
network= | warns there is one machine
nice? | quiet
no-kill? k | quiet
no-requeue
nodefile= F | quiet
nodelist= w | quiet
nodes= N | quiet
ntasks= n
ntasks-per-core= | quiet
ntasks-per-gpu=
ntasks-per-node=
ntasks-per-socket= | quiet
open-mode=
output= o
overcommit O | quiet
overlap | quiet
oversubscribe s
parsable
partition= p
power= | quiet
prefer= | quiet
priority=
profile= | quiet
propagate?
qos= q
quiet Q
reboot | refused nothing restarts the machine
requeue | quiet
reservation=
signal=
sockets-per-node= | quiet
spread-job | quiet
switches= | quiet
tasks-per-node=
test-only
thread-spec= | quiet
threads-per-core= | quiet
time= t
time-min= | quiet
tmp= | warns no disk is set aside
tres-bind= | quiet
tres-per-task= | refused say --gpus-per-task=N and --cpus-per-task=N
uid= | refused a job is of the user who submits it
unbuffered u | quiet
use-min-nodes | quiet
verbose v | quiet
vram=
wait W
wait-all-nodes= | quiet
wckey= | quiet
wrap="""

# What asks for nothing that a task on one machine does not have anyway: it inherits the terminal
# (--pty) and the program's file (--bcast).
OF_SRUN = """
accel-bind=
bcast?
bcast-exclude=
compress?
disable-status X
exact
immediate? I
jobid=
mpi=
msg-timeout=
multi-prog
preserve-env E
pty?
resv-ports?
send-libs?
slurmd-debug=
threads= T
x11?"""


def table(command):
    spec = re.sub(r" \| .*", "", COMMON)
    if command == "srun":  # --wait has a value there
        spec = spec.replace("wait W", "wait= W") + OF_SRUN
    if command == "salloc":
        spec += "\nno-bell\nno-shell\nx11?"
    return Table(command, spec, bad_code=255)


def settled(command, options):
    """The options by the names that the rest of this file has; says what cannot be honoured."""
    options = dict(options)
    if "tasks-per-node" in options:
        options["ntasks-per-node"] = options.pop("tasks-per-node")
    for line in COMMON.split("\n"):
        form, _, fate = line.partition(" | ")
        name = form.split()[0].rstrip("=?")
        fate, _, why = fate.partition(" ")
        if name not in options or not why:
            continue
        if (name, options[name]) == ("kill-on-invalid-dep", "yes"):
            continue  # so it is
        typed = "--" + name + ("=" + options[name] if options[name] else "")
        if fate == "refused":
            raise Usage("%s: error: %s is not supported: %s" % (command, typed, why))
        warn(command, "%s%s: %s" % (typed, "" if fate == "notes" else " has no effect", why))
    check_values(command, options)
    return options


def warn(command, what):
    print("%s: warning: %s" % (command, what), file=sys.stderr)


COUNTS = """ntasks cpus-per-task ntasks-per-node cpus-per-gpu mincpus threads-per-core ntasks-per-core
ntasks-per-gpu ntasks-per-socket sockets-per-node cores-per-socket""".split()
# Of options that have no effect here, too: what Slurm refuses is a slip of the pen.
KNOWN_VALUES = {
    "exclusive": "(user|mcs)?",
    "distribution": r"(\*|arbitrary|plane|block|cyclic|fcyclic)\b.*|\*.*",
    "kill-on-invalid-dep": "yes|no",
    "switches": r"\d+(@.+)?",
    "core-spec": r"\d+",
    "tmp": r"\d+[KMGT]?",
    "mem": r"\d+(\.\d+)?[KMGT]?B?",
    "mem-per-cpu": r"\d+(\.\d+)?[KMGT]?B?",
    "mem-per-gpu": r"\d+(\.\d+)?[KMGT]?B?",
    "mail-type": "(.*,)?(NONE|BEGIN|END|FAIL|REQUEUE|ALL|INVALID_DEPEND|STAGE_OUT|ARRAY_TASKS|"
                 "TIME_LIMIT(_[589]0)?)(,.*)?",
}


def check_values(command, options):
    """As Slurm refuses them before it sends anything."""
    for name in COUNTS:
        text = options.get(name)
        if text is not None and not (text.isdigit() and int(text) > 0):
            raise Usage("%s: error: Invalid numeric value \"%s\" for --%s."
                        % (command, text, name), 255)
    for name, form in KNOWN_VALUES.items():
        if name in options and not re.fullmatch(form, options[name], re.IGNORECASE):
            raise Usage("%s: error: Invalid --%s specification" % (command, name), 255)
    if "time-min" in options:
        checked(command, options, "time-min", seconds)
    if "signal" in options:
        signal_asked(command, options["signal"])
    if options.get("hint", "help") not in ("compute_bound", "memory_bound", "multithread",
                                           "nomultithread", "help"):
        raise Usage("%s: error: unrecognized --hint argument \"%s\", see --hint=help"
                    % (command, options["hint"]), 255)
    if len(SIZES & options.keys()) > 1:
        raise Usage("%s: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
                    % command)
    check_nodes(command, options.get("nodes", "1"))
    if options.get("exclusive") == "":
        warn(command, "--exclusive keeps other jobs off the job's GPUs, not off the machine")


def check_nodes(command, text):
    least, _, most = text.partition("-")
    for count in filter(None, (least, most)):
        if not re.fullmatch(r"\d+[kKmM]?", count):
            raise Usage("%s: error: \"%s\" is not a valid node count" % (command, text), 255)
    if least.isdigit() and most.isdigit() and int(most) < int(least):
        raise Usage("%s: error: Maximum node count %s is less than minimum node count %s"
                    % (command, most, least), 255)
    if least.isdigit() and int(least) > 1:
        warn(command, "--nodes=%s: there is one machine; what is asked for each node, such as its "
             "tasks and GPUs, is given once" % text)


# What to do instead of a heterogeneous job.
APART = {"sbatch": "submit them one by one",
         "srun": "run them one by one, or side by side as steps of a job (&)",
         "salloc": "ask at once for what all of them need"}


def refuse_components(command, typed):
    raise Usage("%s: error: %s: a job of several components is not supported; %s"
                % (command, typed, APART[command]))


def directives(command, text):
    """The options of `#SBATCH` and `#BERTH` lines, up to the first command."""
    reader, options = table(command), {}
    for line in text.split("\n")[1:]:
        mark = next((mark for mark in ("#SBATCH", "#BERTH") if line.startswith(mark)), None)
        if mark is None:
            if line.strip() and not line.startswith("#"):
                break
            continue
        try:
            words = shlex.split(line[len(mark):], comments=True)
        except ValueError as error:
            raise Usage("%s: error: %s: %s" % (command, line, error)) from None
        if words[:1] in (["hetjob"], ["packjob"]):
            refuse_components(command, line)
        found, rest = reader.read(words)
        if rest:
            raise Usage("%s: error: Invalid directive found in batch script: %s\n%s: error: it is "
                        "in the line: %s" % (command, rest[0], command, line))
        options.update(found)
    return options


# By the option: SBATCH_NAME, but for those of the second line.
FROM_ENVIRONMENT = """account acctg-freq batch clusters constraint container core-spec cpus-per-gpu
delay-boot distribution error exclusive export get-user-env gpu-bind gpu-freq gpus gpus-per-node
gpus-per-task gres gres-flags hint ignore-pbs input job-name mem-bind mem-per-cpu mem-per-gpu
network no-kill no-requeue open-mode output overcommit partition power profile qos requeue
reservation signal spread-job thread-spec threads-per-core use-min-nodes wait wait-all-nodes wckey
array=ARRAY_INX mem=MEM_PER_NODE switches=REQ_SWITCH time=TIMELIMIT verbose=DEBUG"""


def from_environment():
    found = {}
    for word in FROM_ENVIRONMENT.split():
        option, _, name = word.partition("=")
        value = os.environ.get("SBATCH_" + (name or option.upper().replace("-", "_")))
        if value is not None:
            found[option] = value
    return found


SIZES = {"mem", "mem-per-cpu", "mem-per-gpu"}  # of which a job has one


def layered(*layers):
    """Options of several sources, the strongest last."""
    options = {}
    for layer in layers:
        if SIZES & layer.keys():
            options = {name: value for name, value in options.items() if name not in SIZES}
        options.update(layer)
    return options


def number(command, options, name, otherwise):
    text = options.get(name)
    if text is None:
        return otherwise
    try:
        return int(text.split("-")[0])
    except ValueError:
        raise Usage("%s: error: Invalid numeric value \"%s\" for --%s."
                    % (command, text, name), 255) from None


def checked(command, options, name, read):
    try:
        return read(options[name])
    except (ValueError, KeyError):
        raise Usage("%s: error: Invalid --%s specification" % (command, name), 255) from None


def tasks(command, options):
    per_node = number(command, options, "ntasks-per-node", 1)
    if "ntasks-per-gpu" in options and "ntasks" not in options:
        count = gpus(command, {**options, "ntasks": "1"})[0]
        per_node = number(command, options, "ntasks-per-gpu", 1) * count
    return max(1, number(command, options, "ntasks", per_node))


def gpus(command, options):
    """(how many, of which type, memory of each or None)"""
    count, kind, vram = 0, None, options.get("vram")
    for name in ("gpus", "gpus-per-node", "gpus-per-task"):
        if name in options:
            text = options[name]
            kind = text.rpartition(":")[0] or kind
            count = checked(command, {name: text.rpartition(":")[2]}, name, int)
            count *= tasks(command, options) if name == "gpus-per-task" else 1
    for gres in filter(None, options.get("gres", "").replace("gres:", "").split(",")):
        parts = gres.split(":")
        if parts[0] == "vram":
            vram, count = parts[-1], count or 1
        elif parts[0] == "gpu":
            count = int(parts[-1]) if parts[-1].isdigit() else 1
            kind = parts[1] if len(parts) > 1 and not parts[1].isdigit() else kind
        elif parts[0] not in ("none",):
            raise Usage("%s: error: Invalid generic resource (gres) specification" % command)
    return (count or 1 if vram else count), kind, vram


def begin_at(command, text):
    from . import moments
    try:
        return moments.instant(text, is_ahead=True)
    except ValueError:
        raise Usage("%s: error: Invalid time specification \"%s\"" % (command, text),
                    255) from None


DEPENDENCIES = {"afterok": "after-ok", "afterany": "after-any", "afternotok": "after-notok",
                "aftercorr": "after-ok"}


def dependency(command, text, name):
    """Keys of POST /v1/jobs for `afterok:7:8_*,afterany:9_2,aftercorr:7,singleton`."""
    def refuse(why):
        raise Usage("%s: error: %s\n%s: error: Batch job submission failed: Job dependency problem"
                    % (command, why, command))
    if "?" in text:
        refuse("dependency '%s': any of several is not supported; behind a comma, all must be met"
               % text)
    waits, begin = [], 0
    for part in text.split(","):
        kind, _, ids = part.partition(":")
        if kind.lower() == "after" and ids:
            begin = max([begin] + [after_begin(each, refuse) for each in ids.split(":")])
            continue
        if kind.lower() == "singleton" and not ids:
            waits += [{"job": one, "when": "after-any"} for one in namesakes(name)]
            continue
        if kind.lower() not in DEPENDENCIES:
            refuse("dependency '%s' is not supported; after, aftercorr, afterok, afterany, "
                   "afternotok and singleton are" % kind)
        for each in ids.split(":"):
            found = re.fullmatch(r"(\d+)(?:_(\d+|\*))?", each)
            if not found:
                refuse("dependency '%s': '%s' is no job; 7 is one, 7_3 a task of an array, 7_* all "
                       "of them" % (part, each))
            waits.append({"job": int(found[1]), "when": DEPENDENCIES[kind.lower()]})
            if found[2] not in (None, "*"):
                waits[-1]["task"] = int(found[2])
            elif kind.lower() == "aftercorr":
                waits[-1]["same_task"] = True
    unlike = []  # the same job by two names is one
    made = {"after": [wait for wait in waits if wait not in unlike and not unlike.append(wait)]}
    return {**made, "begin_at": begin} if begin > time.time() else made


def after_begin(text, refuse):
    """When `7`, `7_3` or `7+5` (minutes) has begun so long ago; berth waits for ends alone, so a
    job that has not begun is refused."""
    found = re.fullmatch(r"(\d+(?:_\d+)?)(?:\+(\d+))?", text)
    chosen = [job for job in jobs.everything(ended=True) if found and jobs.matches(job, found[1])]
    if not chosen:
        refuse("dependency 'after:%s': no such job" % text)
    for job in chosen:
        if not job.started and not job.has_ended:
            refuse("dependency 'after:%s': job %s has not begun, and berth waits for ends alone: "
                   "afterany:%s" % (text, job.id, job.id))
    return max(job.started or job.ended for job in chosen) + 60 * int(found[2] or 0)


def namesakes(name):
    """The user's jobs of this name that have not ended; an array by its own number."""
    return sorted({job.base for job in jobs.everything(ended=False)
                   if job.name == name and job.uid == os.getuid() and not job.has_ended})


WARNS = "BERTH_SLURM_SIGNAL"  # the variable that says who gets a job's signal: USR1 or B:USR1


def signal_asked(command, text):
    """[R|B:]USR1[@seconds]: (is for the script alone, name, seconds)"""
    found = re.fullmatch(r"(?:([RB]{1,2}):)?(?:SIG)?([A-Za-z0-9]+)(?:@(\d{1,5}))?", text)
    name = found[2].upper() if found else ""
    known = hasattr(signal, "SIG" + name) or (name.isdigit() and 0 < int(name) < 65)
    if not found or not known or int(found[3] or 0) > 65535:
        raise Usage("%s: error: Invalid --signal specification" % command, 255)
    return "B" in (found[1] or ""), found[2].upper(), int(found[3] or 60)


def warning(command, text, limit):
    """At once where the time limit is no longer than the notice."""
    _, name, seconds = signal_asked(command, text)
    return {"warning_signal": name, "warning_seconds": min(max(1, seconds), limit * 0.999)}


def notice(options):
    """Mail, where --mail-type asks for it."""
    occasions = {"BEGIN": ["start"], "END": ["end"], "FAIL": ["fail"], "ALL": ["start", "end"]}
    wanted = {event for kind in options.get("mail-type", "").upper().split(",")
              for event in occasions.get(kind, [])}
    if not wanted:
        return {}
    user = options.get("mail-user", jobs.me())
    return {"notify": user if "@" in user else user + "@localhost",
            "notify_on": ",".join(sorted(wanted))}


def pattern(text, name):
    """What of a file's pattern is known at submission; %j, %A, %a and %% are left for later. A
    backslash says that nothing stands for anything else."""
    if "\\" in text:
        return text.replace("\\", "").replace("%", "%%")
    known = {"x": name, "u": jobs.me(), "N": jobs.HOST, "n": "0", "t": "0", "s": "batch"}

    def filled(found):
        if not found[2]:  # a % that stands for nothing
            return "%%"
        digits, letter = found[1].lstrip("0")[:2], found[2]
        if letter in known:
            return known[letter].zfill(int(digits or 0) if letter in "nt" else 0).replace("%", "%%")
        digits = str(min(int(digits or 0), 10) or "")
        return "%%" if letter == "%" else "%" + digits + ("j" if letter == "J" else letter)
    return re.sub("%([0-9]*)([xuNntsjJAa%])|%", filled, text)


# What Slurm tells of an option, the last counts; `berth submit` has the same table for #SBATCH
# lines (src/cli/job/foreign_flags.cpp), and a test compares what jobs of both are told.
TOLD = (
    ("partition", ("SLURM_JOB_PARTITION",)),
    ("account", ("SLURM_JOB_ACCOUNT",)),
    ("qos", ("SLURM_JOB_QOS",)),
    ("ntasks-per-node", ("SLURM_NTASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NPROCS",
                         "SLURM_TASKS_PER_NODE")),
    ("ntasks", ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE")),
    ("cpus-per-task", ("SLURM_CPUS_PER_TASK",)),
    ("gpus", ("SLURM_GPUS",)),
    ("gpus-per-node", ("SLURM_GPUS_PER_NODE",)),
    ("gpus-per-task", ("SLURM_GPUS_PER_TASK",)),
    ("mem", ("SLURM_MEM_PER_NODE",)),
    ("mem-per-cpu", ("SLURM_MEM_PER_CPU",)),
    ("mem-per-gpu", ("SLURM_MEM_PER_GPU",)),
    ("cpus-per-gpu", ("SLURM_CPUS_PER_GPU",)),
    ("ntasks-per-gpu", ("SLURM_NTASKS_PER_GPU",)),
)


def told_value(command, options, option):
    if option in ("ntasks", "ntasks-per-node", "cpus-per-task"):
        return str(number(command, options, option, 1))
    if option in SIZES:
        return str(checked(command, options, option, mebibytes))
    return options[option]


def variables(command, options, name, directory, is_array):
    """What was asked for; the rest of what Slurm tells a job berthd tells, by BERTH_SLURM."""
    told = {"BERTH_SLURM": "1", "SLURM_JOB_NAME": name, "SLURM_SUBMIT_DIR": here(command)}
    for option, names in TOLD:
        if option in options:
            told.update(dict.fromkeys(names, told_value(command, options, option)))
    if "ntasks-per-gpu" in options and "ntasks" not in options:
        told.update(dict.fromkeys(dict(TOLD)["ntasks"], str(tasks(command, options))))
    if "dependency" in options:
        told["SLURM_JOB_DEPENDENCY"] = options["dependency"]
    if is_array:
        first = re.split(r"[%:]", options["array"])[0]
        numbers = [int(one) for part in first.split(",") for one in part.split("-") if one.isdigit()]
        if numbers:
            told["SLURM_ARRAY_TASK_MIN"] = str(min(numbers))
            told["SLURM_ARRAY_TASK_MAX"] = str(max(numbers))
            step = re.search(r":(\d+)", options["array"])
            told["SLURM_ARRAY_TASK_STEP"] = step[1] if step else "1"
    if "signal" in options:
        is_for_script, sent, _ = signal_asked(command, options["signal"])
        told[WARNS] = ("B:" if is_for_script else "") + sent
    return told


def ulimits(command, options):
    """BERTH_ULIMIT by --propagate, which is ALL unless given."""
    words = (options.get("propagate") or "ALL").split(",")
    names = [re.sub("^rlimit_", "", word.strip().lower()) for word in words]
    if any(name not in berth.LIMITS + ("all", "none") for name in names):
        raise Usage("%s: error: --propagate=%s is not valid." % (command, options["propagate"]))
    if "all" in names or "none" in names:
        names = berth.LIMITS if names[0] == "all" else ()
    return {"BERTH_ULIMIT": berth.own_ulimits(names)} if names else {}


def environment(command, options, told):
    export = options.get("export", "ALL")
    words = export.split(",") if export else []
    kept = {} if "ALL" not in words and export != "" else dict(os.environ)
    if not kept:
        for name in ("PATH", "HOME", "USER", "SHELL", "LANG", "BERTH_SOCKET"):
            if name in os.environ:
                kept[name] = os.environ[name]
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            kept[name] = value
        elif name in os.environ:
            kept[name] = os.environ[name]
    for name in list(kept):  # of a job that submits another
        if name.startswith(("SLURM_", WARNS)):
            del kept[name]
    if "BERTH_SET" in kept:  # by it berthd drops what it set for that job, and not what is typed
        typed = {word.partition("=")[0] for word in words}
        kept["BERTH_SET"] = ",".join(mark for mark in kept["BERTH_SET"].split(",")
                                     if mark.partition(":")[0] not in typed)
    kept.update(ulimits(command, options))
    kept.update(told)
    sound = berth.sendable(
        kept, lambda sentence: print("%s: %s" % (command, sentence), file=sys.stderr))
    return ["%s=%s" % pair for pair in sound.items()]


def here(command):
    try:
        return os.getcwd()
    except OSError as error:
        raise Usage("%s: error: getcwd failed: %s" % (command, error.strerror)) from None


def program_words(options):
    """The variables that were typed for this job: with other values it is another program."""
    words = sorted(word for word in options.get("export", "").split(",") if "=" in word)
    return words if sum(len(word.encode()) + 1 for word in words) <= 16384 else []


def body(command, options, name):
    """Keys of POST /v1/jobs but `command`."""
    options = settled(command, options)
    if options.get("reservation"):
        from . import reservations
        reservations.check(command, options["reservation"])
    directory = os.path.normpath(os.path.join(here(command), options.get("chdir", "")))
    count, kind, vram = gpus(command, options)
    told = variables(command, options, name, directory, "array" in options)
    made = {
        "name": name[:255], "directory": directory, "gpus": count,
        "environment": environment(command, options, told),
    }
    if program_words(options):
        made["program_words"] = program_words(options)
    cpus = number(command, options, "cpus-per-task", 1) * tasks(command, options)
    if "cpus-per-gpu" in options and "cpus-per-task" not in options:
        cpus = number(command, options, "cpus-per-gpu", 1) * max(1, count)
    cpus = max(cpus, number(command, options, "mincpus", 1))
    if cpus > 1 or "cpus-per-task" in options:
        made["cpus"] = cpus
    if kind and kind != "gpu":
        types = sorted({gpu["name"] for gpu in berth.gpus() if kind.lower() in gpu["name"].lower()})
        made["gpu_types"] = types or [kind]
    if vram:
        made["vram_bytes"] = vram
    mask = os.umask(0)
    os.umask(mask)
    made["umask"] = mask
    if "mem" in options:
        mib = checked(command, options, "mem", mebibytes)
        if mib:  # 0: all that there is
            made["mem_bytes"] = mib << 20
    elif "mem-per-cpu" in options:
        made["mem_bytes"] = checked(command, options, "mem-per-cpu", mebibytes) * cpus << 20
    elif "mem-per-gpu" in options:
        mib = checked(command, options, "mem-per-gpu", mebibytes)
        made["mem_bytes"] = mib * max(1, count) << 20
    made.update(notice(options))
    if "time" in options:
        limit = checked(command, options, "time", seconds)
        if limit is not None:
            made["time_limit_seconds"] = limit
            if "signal" in options:
                made.update(warning(command, options["signal"], limit))
    if "comment" in options:
        made["comment"] = options["comment"]
    if "class" in options:
        made["class"] = options["class"]
    if options.get("exclusive") == "":  # not =user, nor =mcs: those share with some
        made["exclusive"] = bool(count)
    elif "oversubscribe" in options and count:
        made["share"] = "now"
    if "begin" in options:
        made["begin_at"] = begin_at(command, options["begin"])
    if "dependency" in options:
        waits = dependency(command, options["dependency"], name)
        for wait in waits["after"] if "array" not in options else []:
            wait.pop("same_task", None)  # of no array: for all tasks, as in Slurm
        begins = [part["begin_at"] for part in (made, waits) if "begin_at" in part]
        made.update(waits, **({"begin_at": max(begins)} if begins else {}))
    if "deadline" in options:
        made["deadline_at"] = begin_at(command, options["deadline"])
    if options.get("priority", "").isdigit():
        made["priority"] = int(options["priority"])
    if "array" in options:
        made["array"] = options["array"]
    if "hold" in options:
        made["held"] = True
    return made
