"""What sbatch, srun and salloc ask for: their common options, and the job made of them."""
import os
import re
import shlex
import time

import berth

from . import jobs
from .options import Table, Usage, mebibytes, seconds

COMMON = """array= a
account= A
acctg-freq=
begin= b
bell
chdir= D
clusters= M
cluster-constraint=
comment=
constraint= C
contiguous
core-spec= S
cores-per-socket=
cpu-bind=
cpu-freq=
cpus-per-gpu=
cpus-per-task= c
class=
dependency= d
deadline=
delay-boot=
distribution= m
error= e
exclude= x
exclusive?
export=
export-file=
extra-node-info= B
get-user-env?
gid=
gpu-bind=
gpu-freq=
gpus= G
gpus-per-node=
gpus-per-socket=
gpus-per-task=
gres=
gres-flags=
hint=
hold H
ignore-pbs
input= i
job-name= J
kill-on-invalid-dep=
kill-on-bad-exit? K
label l
licenses= L
mail-type=
mail-user=
mcs-label=
mem=
mem-bind=
mem-per-cpu=
mem-per-gpu=
mincpus=
network=
nice?
no-kill? k
no-requeue
nodefile= F
nodelist= w
nodes= N
ntasks= n
ntasks-per-core=
ntasks-per-gpu=
ntasks-per-node=
ntasks-per-socket=
open-mode=
output= o
overcommit O
overlap
oversubscribe s
parsable
partition= p
power=
prefer=
priority=
profile=
propagate?
qos= q
quiet Q
reboot
requeue
reservation=
signal=
sockets-per-node=
spread-job
switches=
test-only
thread-spec=
threads-per-core=
time= t
time-min=
tmp=
uid=
unbuffered u
use-min-nodes
verbose v
vram=
wait W
wait-all-nodes=
wckey=
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
jobid=
mpi=
msg-timeout=
preserve-env E
pty?
resv-ports?
send-libs?
slurmd-debug=
threads= T
x11?"""


def table(command):
    spec = COMMON
    if command == "srun":  # --wait has a value there
        spec = spec.replace("wait W", "wait= W") + OF_SRUN
    if command == "salloc":
        spec += "\nno-bell\nx11?"
    return Table(command, spec, bad_code=255)


def directives(command, text):
    """The options of `#SBATCH` and `#BERTH` lines, up to the first command."""
    words = []
    for line in text.split("\n")[1:]:
        if line.startswith(("#SBATCH", "#BERTH")):
            words += shlex.split(line.split(None, 1)[1] if " " in line or "\t" in line else "",
                                 comments=True)
        elif line.strip() and not line.startswith("#"):
            break
    return table(command).read(words)[0]


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
    return max(1, number(command, options, "ntasks", per_node))


def gpus(command, options):
    """(how many, of which type, memory of each or None)"""
    count, kind, vram = 0, None, options.get("vram")
    for name, times in (("gpus", 1), ("gpus-per-node", 1),
                        ("gpus-per-task", tasks(command, options))):
        if name in options:
            text = options[name]
            kind = text.rpartition(":")[0] or kind
            count = checked(command, {name: text.rpartition(":")[2]}, name, int) * times
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
    later = re.fullmatch(r"now(?:\+(\d+)(second|minute|hour|day|week)?s?)?", text)
    if later:
        unit = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}.get(later[2], 1)
        return time.time() + int(later[1] or 0) * unit
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"):
        try:
            return time.mktime(time.strptime(text, form))
        except ValueError:
            pass
    raise Usage("%s: error: Invalid time specification \"%s\"" % (command, text), 255)


DEPENDENCIES = {"afterok": "after-ok", "afterany": "after-any", "afternotok": "after-notok"}


def dependency(command, text, name):
    """Keys of POST /v1/jobs for `afterok:7:8_*,afterany:9_2,singleton`."""
    def refuse(why):
        raise Usage("%s: error: %s\n%s: error: Batch job submission failed: Job dependency problem"
                    % (command, why, command))
    if "?" in text:
        refuse("dependency '%s': any of several is not supported; behind a comma, all must be met"
               % text)
    made, waits = {}, []
    for part in text.split(","):
        kind, _, ids = part.partition(":")
        if kind.lower() == "singleton" and not ids:
            made["unique"] = name
            continue
        if kind.lower() not in DEPENDENCIES:
            refuse("dependency '%s' is not supported; afterok, afterany, afternotok and singleton "
                   "are" % kind)
        for each in ids.split(":"):
            found = re.fullmatch(r"(\d+)(?:_(\d+|\*))?", each)
            if not found:
                refuse("dependency '%s': '%s' is no job; 7 is one, 7_3 a task of an array, 7_* all "
                       "of them" % (part, each))
            waits.append({"job": int(found[1]), "when": DEPENDENCIES[kind.lower()]})
            if found[2] not in (None, "*"):
                waits[-1]["task"] = int(found[2])
    return {**made, "after": waits} if waits else made


WARNS = "BERTH_SLURM_SIGNAL"  # the variable that says who gets a job's signal: USR1 or B:USR1


def signal_asked(command, text):
    """[R|B:]USR1[@seconds]: (is for the script alone, name, seconds)"""
    found = re.fullmatch(r"(?:([RB]{1,2}):)?(?:SIG)?([A-Za-z0-9]+)(?:@(\d+))?", text)
    if not found:
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
        digits, letter = found[1].lstrip("0")[:2], found[2]
        if letter in known:
            return known[letter].zfill(int(digits or 0) if letter in "nt" else 0).replace("%", "%%")
        digits = str(min(int(digits or 0), 10) or "")
        return "%%" if letter == "%" else "%" + digits + ("j" if letter == "J" else letter)
    return re.sub("%([0-9]*)([xuNntsjJAa%])", filled,
                  re.sub("%(?![0-9]*[xuNntsjJAa%])", "%%%%", text))


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
)


def told_value(command, options, option):
    if option in ("ntasks", "ntasks-per-node", "cpus-per-task"):
        return str(number(command, options, option, 1))
    if option == "mem":
        return str(checked(command, options, "mem", mebibytes))
    return options[option]


def variables(command, options, name, directory, is_array):
    """What was asked for; the rest of what Slurm tells a job berthd tells, by BERTH_SLURM."""
    told = {"BERTH_SLURM": "1", "SLURM_JOB_NAME": name, "SLURM_SUBMIT_DIR": os.getcwd()}
    for option, names in TOLD:
        if option in options:
            told.update(dict.fromkeys(names, told_value(command, options, option)))
    if is_array:
        first = re.split(r"[%:]", options["array"])[0]
        numbers = [int(one) for part in first.split(",") for one in part.split("-") if one.isdigit()]
        if numbers:
            told["SLURM_ARRAY_TASK_MIN"] = str(min(numbers))
            told["SLURM_ARRAY_TASK_MAX"] = str(max(numbers))
            step = re.search(r":(\d+)", options["array"])
            told["SLURM_ARRAY_TASK_STEP"] = step[1] if step else "1"
    if "signal" in options:
        is_for_script, signal, _ = signal_asked(command, options["signal"])
        told[WARNS] = ("B:" if is_for_script else "") + signal
    return told


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
    kept.update(told)
    return ["%s=%s" % pair for pair in kept.items()]


def program_words(options):
    """The variables that were typed for this job: with other values it is another program."""
    words = sorted(word for word in options.get("export", "").split(",") if "=" in word)
    return words if sum(len(word.encode()) + 1 for word in words) <= 16384 else []


def body(command, options, name):
    """Keys of POST /v1/jobs but `command`."""
    directory = os.path.abspath(options.get("chdir", os.getcwd()))
    count, kind, vram = gpus(command, options)
    told = variables(command, options, name, directory, "array" in options)
    made = {
        "name": name[:255], "directory": directory, "gpus": count,
        "environment": environment(command, options, told),
    }
    if program_words(options):
        made["program_words"] = program_words(options)
    cpus = number(command, options, "cpus-per-task", 1) * tasks(command, options)
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
        made.update(dependency(command, options["dependency"], name))
    if "array" in options:
        made["array"] = options["array"]
    if "hold" in options:
        made["held"] = True
    return made
