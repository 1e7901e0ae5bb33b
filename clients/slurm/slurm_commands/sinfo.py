"""sinfo: this machine as one node of one partition."""
import os

import berth

from . import jobs, tables
from .options import Table, Usage

TABLE = Table("sinfo", """format= o
Format= O
noheader h
Node N
summarize s
long l
partition= p
nodes= n
states= t
all a
exact e
responding r
clusters= M
reservation T
verbose v""")

USUAL = "%9P %.5a %.10l %.6D %.6t %N"


def given_gpus():
    """Of a larger machine, those that berthd may give out (CUDA_VISIBLE_DEVICES)."""
    return [gpu for gpu in berth.gpus() if "not_given" not in gpu]


def facts():
    gpus = given_gpus()
    running = [job for job in jobs.everything(ended=False) if job.code in ("R", "CF", "CG")]
    cores = os.cpu_count() or 1
    used = min(cores, sum(int(job.data.get("cpus") or 0) for job in running))
    tenants = sum(len(gpu["tenants"]) for gpu in gpus)
    busy = sum(1 for gpu in gpus if gpu["tenants"])
    full = bool(gpus) and busy == len(gpus) and used >= cores
    state = "allocated" if full else "mixed" if running or tenants else "idle"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    names = {gpu["name"].lower().replace(" ", "_") for gpu in gpus}
    kind = ":" + names.pop() if len(names) == 1 else ""
    return {
        "P": ("PARTITION", jobs.PARTITION + "*"), "R": ("PARTITION", jobs.PARTITION),
        "a": ("AVAIL", "up"), "l": ("TIMELIMIT", "infinite"), "D": ("NODES", "1"),
        "t": ("STATE", {"allocated": "alloc", "mixed": "mix"}.get(state, state)),
        "T": ("STATE", state), "N": ("NODELIST", jobs.HOST), "n": ("HOSTNAMES", jobs.HOST),
        "c": ("CPUS", str(cores)), "m": ("MEMORY", str(memory)),
        "C": ("CPUS(A/I/O/T)", "%d/%d/0/%d" % (used, cores - used, cores)),
        "F": ("NODES(A/I/O/T)", "%d/%d/0/1" % (state != "idle", state == "idle")),
        "A": ("NODES(A/I)", "%d/%d" % (state != "idle", state == "idle")),
        "G": ("GRES", "gpu%s:%d" % (kind, len(gpus)) if gpus else "(null)"),
        "g": ("GRES_USED", "gpu:%d" % busy), "f": ("AVAIL_FEATURES", "(null)"),
        "E": ("REASON", "none"), "O": ("CPU_LOAD", "%.2f" % os.getloadavg()[0]),
    }


LONG_NAMES = {"nodehost": "n", "nodelist": "N", "gres": "G", "gresused": "g", "statelong": "T",
              "statecompact": "t", "partition": "P", "partitionname": "R", "cpus": "c",
              "memory": "m", "cpusstate": "C", "available": "a", "nodes": "D", "time": "l"}


def run(arguments):
    options, rest = TABLE.read(arguments)
    known = facts()
    is_shown = options.get("partition", jobs.PARTITION) == jobs.PARTITION
    if "Format" in options:
        letters = []
        for part in options["Format"].split(","):
            name = part.partition(":")[0].strip().lower()
            if name not in LONG_NAMES:
                raise Usage("sinfo: error: Invalid field: %s" % name)
            letters.append(LONG_NAMES[name])
        if "noheader" not in options:
            print("".join(known[letter][0][:20].ljust(20) for letter in letters))
        if is_shown:
            print("".join(known[letter][1][:20].ljust(20) for letter in letters))
        return 0
    usual = "%9P %.5a %.10l %.16F %N" if "summarize" in options else USUAL
    if "Node" in options:
        usual = "%.8N %.6D %.9P %6t"
    fields, tail = tables.by_percent(options.get("format", usual), known)
    if "noheader" not in options:
        print(tables.percent_line(fields, tail, lambda letter: known[letter][0]))
    if is_shown:
        print(tables.percent_line(fields, tail, lambda letter: known[letter][1]))
    return 0
