"""berth's reservations as Slurm tells them; the name of one is its number."""
import os

import berth

from . import jobs
from .options import Usage

HEADS = "%-*s  %8s  %19s  %19s  %11s  %s"


def everything():
    return berth.request("GET", "/v1/reservations")["reservations"]


def name(one):
    return str(one["id"])


def state(one):
    return "ACTIVE" if one["in_force"] else "INACTIVE"


def duration(one):
    if one["until_at"] is None:
        return "UNLIMITED"
    return jobs.long_time(round(one["until_at"] - one["from_at"]))


def tres(one):
    return "gres/gpu=%d" % len(one["gpus"])


def comment(one):
    """Slurm has no word for which GPUs they are."""
    which = "GPU " + ",".join(str(gpu) for gpu in one["gpus"])
    return which + (": " + one["reason"] if one["reason"] else "")


def text_of(one):
    return """ReservationName=%s StartTime=%s EndTime=%s Duration=%s
   Nodes=%s NodeCnt=1 CoreCnt=0 Features=(null) PartitionName=(null) Flags=IGNORE_JOBS
   TRES=%s
   Users=%s Groups=(null) Accounts=(null) Licenses=(null) State=%s BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)
   Comment=%s
""" % (name(one), jobs.clock(one["from_at"]), jobs.clock(one["until_at"]), duration(one),
       jobs.HOST, tres(one), ",".join(one["users"]), state(one), comment(one))


def show(wanted, options):
    """As `scontrol show reservation [NAME]`."""
    found = [one for one in everything() if not wanted or name(one) == wanted[0]]
    if "json" in options or "yaml" in options:
        from . import json_form
        return json_form.show_reservations(found)
    if not found:
        print("Reservation %s not found" % wanted[0] if wanted else "No reservations in the system")
        return 1 if wanted else 0
    for one in found:
        print(" ".join(text_of(one).split()) if "oneliner" in options else text_of(one))
    return 0


def show_table(options):
    """As `sinfo -T`."""
    found = everything()
    if not found:
        print("No reservations in the system")
        return 0
    width = max([9] + [len(name(one)) for one in found])
    if "noheader" not in options:
        print(HEADS % (width, "RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION",
                       "NODELIST"))
    for one in found:
        print(HEADS % (width, name(one), state(one), jobs.clock(one["from_at"]),
                       jobs.clock(one["until_at"]), duration(one), jobs.HOST))
    return 0


FAILED = {"sbatch": "Batch job submission failed", "srun": "Unable to allocate resources",
          "salloc": "Job submit/allocate failed"}


def check(command, text):
    """Refuses a `--reservation=1,2` of which one is unknown or not for this user. berth lets the
    users of a reservation into it anyway."""
    known = {name(one): one for one in everything()}
    for wanted in text.split(","):
        if wanted not in known:
            why = "Requested reservation is invalid"
        elif not {jobs.me(), str(os.getuid())} & set(known[wanted]["users"]):
            why = "Access denied to requested reservation"
        else:
            continue
        raise Usage("%s: error: %s: %s" % (command, FAILED[command], why))
