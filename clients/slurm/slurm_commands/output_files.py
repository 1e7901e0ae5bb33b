"""What sbatch says of files that a job could not write as things are. Slurm says nothing, and the
job fails; scripts make a folder late, so the job is submitted all the same, and makes it itself in
the end."""
import os

from . import request

FAILS = "the job fails if that is so when it starts"
LATE = 10  # seconds that a job waits for a folder (Copy::kLateFolder)


def warn(directory, asked):
    """`asked`: of each option, as `--output=logs/%j`, the file's pattern. A line for each fault."""
    told = set()
    for option, pattern in asked:
        fault = fault_of(os.path.normpath(os.path.join(directory, pattern)), pattern)
        if fault and fault not in told:
            told.add(fault)
            request.warn("sbatch", "%s: %s" % (option, fault))


def fault_of(path, typed):
    """Behind a part with the job's number in it nobody knows what is there; "" if all is well."""
    folder, missing = deepest(os.path.dirname(path))
    if not os.path.isdir(folder):
        return "%s is no folder; %s" % (folder, FAILS)
    may_write = os.access(folder, os.W_OK | os.X_OK)
    if missing is not None:
        if has_number(missing) and may_write:
            return ""
        return "the folder %s is not there%s if that is so %d s after its start" % (
            os.path.join(folder, plain(missing)),
            "; the job makes it" if may_write else ", and you may not make it; the job fails",
            LATE)
    file = os.path.join(folder, plain(os.path.basename(path)))
    if typed.endswith("/") or os.path.isdir(file):
        return "%s is a folder; %s" % (file, FAILS)
    if os.path.exists(file) and not has_number(os.path.basename(path)):
        return "" if os.access(file, os.W_OK) else "%s is not yours to write; %s" % (file, FAILS)
    return "" if may_write else "you may not write in %s; %s" % (folder, FAILS)


def deepest(folder):
    """(what is there of a path, the part of it that is not, or None)"""
    there = "/"
    for part in filter(None, folder.split("/")):
        below = os.path.join(there, plain(part))
        if has_number(part) or not os.path.exists(below):
            return there, part
        there = below
    return there, None


def has_number(part):
    return "%" in part.replace("%%", "")


def plain(part):
    return part.replace("%%", "%")
