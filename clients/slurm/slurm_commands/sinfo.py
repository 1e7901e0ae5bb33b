"""sinfo: this machine as one node of one partition."""
import os
import sys
import time

import berth

from . import hosts, jobs, tables
from .options import Table, Usage, listed

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
dead d
list-reasons R
iterate= i
sort= S
clusters= M
reservation T
federation
local
hide
noconvert
json
yaml
verbose v""")

USUAL = "%9P %.5a %.10l %.6D %.6t %N"
# By which of -s, -N, -R and -l was given, the first that applies.
FORMS = (
    (("list-reasons", "long"), "%20E %12U %19H %6t %N"), (("list-reasons",), "%20E %9u %19H %N"),
    (("summarize",), "%9P %.5a %.10l %.16F %N"),
    (("Node", "long"), "%N %.6D %.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"),
    (("Node",), "%.8N %.6D %.9P %6t"),
    (("long",), "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"),
)
COMPACT = {"allocated": "alloc", "mixed": "mix"}
STATES = ("unknown down idle allocated alloc mixed mix future drain drained draining no_respond "
          "reserved resv perfctrs npc cloud completing comp powering_down powered_down power_down "
          "powering_up fail maint reboot planned unk futr").split()


def given_gpus():
    """Of a larger machine, those that berthd may give out (CUDA_VISIBLE_DEVICES)."""
    return [gpu for gpu in berth.gpus() if "not_given" not in gpu]


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("MemAvailable"))


class Node:
    def __init__(self):
        gpus = given_gpus()
        running = [job for job in jobs.everything(ended=False) if job.code in ("R", "CF", "CG")]
        self.cores = os.cpu_count() or 1
        self.used = min(self.cores, sum(int(job.data.get("cpus") or 0) for job in running))
        self.busy = sum(1 for gpu in gpus if gpu["tenants"])
        self.mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        self.used_mib = sum(job.mib for job in running)
        is_full = bool(gpus) and self.busy == len(gpus) and self.used >= self.cores
        tenants = sum(len(gpu["tenants"]) for gpu in gpus)
        self.state = "allocated" if is_full else "mixed" if running or tenants else "idle"
        names = {gpu["name"].lower().replace(" ", "_") for gpu in gpus}
        kind = ":" + names.pop() if len(names) == 1 else ""
        self.gres = "gpu%s:%d" % (kind, len(gpus)) if gpus else "(null)"
        self.gpus = len(gpus)

    @property
    def tres(self):
        return ",".join(["cpu=%d" % self.cores, "mem=%dM" % self.mib, "billing=%d" % self.cores]
                        + (["gres/gpu=%d" % self.gpus] if self.gpus else []))

    @property
    def used_tres(self):
        return ",".join(
            (["cpu=%d" % self.used] if self.used else [])
            + (["mem=" + jobs.mib_text(self.used_mib)] if self.used_mib else [])
            + (["gres/gpu=%d" % self.busy] if self.busy else []))


# Letter of -o, names of -O, head, value.
COLUMNS = (
    ("P", "partition", "PARTITION", jobs.PARTITION + "*"),
    ("R", "partitionname", "PARTITION", jobs.PARTITION),
    ("a", "available", "AVAIL", "up"),
    ("l", "time", "TIMELIMIT", lambda n: jobs.longest_time("infinite")),
    ("b", "features_act", "ACTIVE_FEATURES", "(null)"),
    ("f", "features", "AVAIL_FEATURES", "(null)"),
    ("c", "cpus", "CPUS", lambda n: str(n.cores)), ("d", "disk", "TMP_DISK", "0"),
    ("e", "freemem", "FREE_MEM", lambda n: str(available_mib())),
    ("g", "groups", "GROUPS", "all"), ("h", "oversubscribe", "OVERSUBSCRIBE", "NO"),
    ("m", "memory", "MEMORY", lambda n: str(n.mib)), ("n", "nodehost", "HOSTNAMES", jobs.HOST),
    ("o", "nodeaddr", "NODE_ADDR", jobs.HOST), ("p", "prioritytier priority", "PRIO_TIER", "1"),
    ("r", "root", "ROOT", "no"), ("s", "size", "JOB_SIZE", "1-infinite"),
    ("t", "statecompact", "STATE", lambda n: COMPACT.get(n.state, n.state)),
    ("u", "user", "USER", "Unknown"), ("v", "version", "VERSION", "22.05.8"),
    ("w", "weight", "WEIGHT", "1"),
    ("z", "socketcorethread", "S:C:T", lambda n: "1:%d:1" % n.cores),
    ("A", "nodeai", "NODES(A/I)",
     lambda n: "%d/%d" % (n.state != "idle", n.state == "idle")),
    ("B", "maxcpuspernode", "MAX_CPUS_PER_NODE", "UNLIMITED"),
    ("C", "cpusstate", "CPUS(A/I/O/T)",
     lambda n: "%d/%d/0/%d" % (n.used, n.cores - n.used, n.cores)),
    ("D", "nodes", "NODES", "1"), ("E", "reason", "REASON", "none"),
    ("F", "nodeaiot", "NODES(A/I/O/T)",
     lambda n: "%d/%d/0/1" % (n.state != "idle", n.state == "idle")),
    ("G", "gres", "GRES", lambda n: n.gres),
    ("H", "timestamp", "TIMESTAMP", "Unknown"), ("I", "priorityjobfactor", "PRIO_JOB_FACTOR", "1"),
    ("L", "defaulttime", "DEFAULTTIME", "n/a"), ("M", "preemptmode", "PREEMPT_MODE", "OFF"),
    ("N", "nodelist", "NODELIST", jobs.HOST),
    ("O", "cpusload", "CPU_LOAD", lambda n: "%.2f" % os.getloadavg()[0]),
    ("S", "allocnodes", "ALLOCNODES", "all"), ("T", "statelong", "STATE", lambda n: n.state),
    ("U", "userlong", "USER", "Unknown"), ("V", "cluster", "CLUSTER", "N/A"),
    ("X", "sockets", "SOCKETS", "1"), ("Y", "cores", "CORES", lambda n: str(n.cores)),
    ("Z", "threads", "THREADS", "1"),
    ("", "allocmem", "ALLOCMEM", lambda n: str(n.used_mib)),
    ("", "comment", "COMMENT", "(null)"), ("", "extra", "EXTRA", "(null)"),
    ("", "gresused", "GRES_USED", lambda n: "gpu:%d" % n.busy), ("", "port", "PORT", "0"),
    ("", "statecomplete", "STATECOMPLETE", lambda n: n.state),
)


def is_shown(options, node):
    """Every partition's name is this one's, as sbatch takes every name."""
    states = [word.lower() for word in listed(options, "states")]
    for state in states:
        if state not in STATES + ["all"]:
            raise Usage('sinfo: error: Bad state string: "%s"\nsinfo: error: valid states: %s'
                        % (state, ",".join(STATES)))
    if "nodes" in options and jobs.HOST not in hosts.names(options["nodes"]):
        return False
    if "dead" in options or "list-reasons" in options:
        return False
    return not states or "all" in states or node.state in states or (
        COMPACT.get(node.state) in states)


def show(options):
    node = Node()
    letters, named = tables.by_letter_and_name(COLUMNS)
    usual = next((form for given, form in FORMS if all(name in options for name in given)), USUAL)
    if options.get("Format", "").strip().lower() == "all":
        options = {**options, "format": "%all"}
        del options["Format"]
    if "Format" in options:
        fields, tail = tables.by_name("sinfo", options["Format"], named)
    else:
        form = options.get("format", usual)
        tables.refuse_unknown("sinfo", form, letters)
        fields, tail = tables.by_percent(form, letters)
    if "iterate" in options or ("long" in options and "noheader" not in options):
        print(time.strftime("%a %b %d %H:%M:%S %Y"))
    if "noheader" not in options:
        print(tables.heads(fields, tail))
    if is_shown(options, node):
        print(tables.values(fields, tail, node))


def run(arguments):
    options, rest = TABLE.read(arguments)
    if rest:
        raise Usage("sinfo: error: Unrecognized option: %s" % rest[0])
    if "format" not in options and "Format" not in options and "list-reasons" not in options:
        tables.from_environment("sinfo", options, {"FORMAT": "format"})
    if "reservation" in options:
        from . import reservations
        return reservations.show_table(options)
    if "json" in options or "yaml" in options:
        from . import json_form
        return json_form.show_nodes([Node()])
    every = tables.seconds_of("sinfo", options)
    show(options)
    while every:
        time.sleep(every)
        print()
        show(options)
        sys.stdout.flush()
    return 0
