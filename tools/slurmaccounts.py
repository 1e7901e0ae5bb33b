"""slurmdbd as a judge of berth's words, for tools/slurm-check --accounts: Slurm schedules, and what
its accounting says of each job must be what the job's own processes saw; limits on shards must hold
in whatever words people ask for GPU memory.
"""

import collections
import os
import random
import socket
import subprocess
import time

from slurmbed import Bed, Failure, attempt, command, wait_until
from slurmhabits import GIB, HABITS, NativeBed

DBD = """AuthType=auth/munge
AuthInfo=socket=%(cluster)s/munge.socket
DbdHost=localhost
DbdPort=%(dbd)d
SlurmUser=root
LogFile=%(cluster)s/log/slurmdbd.log
PidFile=%(folder)s/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=%(sql)d
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
"""

FIRST = """#!/bin/sh
set -e
install -m 600 %(folder)s/slurmdbd.new %(cluster)s/slurmdbd.conf
SLURM_CONF=%(cluster)s/slurm.conf slurmdbd -D </dev/null >>%(cluster)s/log/slurmdbd.out 2>&1 &
echo $! >%(folder)s/slurmdbd.started
until sacctmgr -n show cluster >/dev/null 2>&1; do
  kill -0 "$(cat %(folder)s/slurmdbd.started)" || exit 1
  sleep 0.2
done
sacctmgr -i add cluster berth >/dev/null
sacctmgr -i add account lab cluster=berth >/dev/null
sacctmgr -i add user root account=lab cluster=berth >/dev/null
sacctmgr -i modify user root set defaultaccount=lab >/dev/null
sacctmgr -i add user nobody account=lab cluster=berth >/dev/null
"""

EXTRA = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=%(dbd)d
AccountingStoragePass=%(cluster)s/munge.socket
AccountingStorageTRES=gres/gpu,gres/shard
AccountingStorageEnforce=associations,limits,qos
"""


def free_ports(count):
    """Numbers that nobody had a moment ago."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class AccountedBed(NativeBed):
    """With a slurmdbd, and a MariaDB of its own below it."""

    def __init__(self):
        super().__init__()
        self.database = None
        sql, dbd = free_ports(2)
        self.names = {"folder": self.folder, "cluster": self.cluster, "sql": sql, "dbd": dbd}
        self.extra += EXTRA % self.names

    def environment(self):
        self.start_database()
        self.write(self.folder + "/slurmdbd.new", DBD % self.names)
        self.write(self.folder + "/first", FIRST % self.names)
        return dict(super().environment(), BERTH_SLURM_FIRST=self.folder + "/first")

    def start_database(self):
        data, log = self.folder + "/sql", self.folder + "/sql.log"
        with open(log, "ab") as file:
            subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + data,
                            "--auth-root-authentication-method=normal", "--skip-test-db"],
                           stdout=file, stderr=file, check=True)
            self.database = subprocess.Popen(
                ["mariadbd", "--no-defaults", "--user=root", "--datadir=" + data,
                 f"--port={self.names['sql']}", "--bind-address=127.0.0.1",
                 f"--socket={self.folder}/sql.socket", "--innodb-lock-wait-timeout=900"],
                stdout=file, stderr=file)
        words = ["mariadb", "--no-defaults", f"--socket={self.folder}/sql.socket", "--user=root"]
        wait_until("a database", lambda: attempt(*words, "--execute=select 1")[0])
        command(*words, "--execute=create user slurm@'127.0.0.1' identified by 'slurm'; "
                "create user slurm@localhost identified by 'slurm'; "
                "grant all on *.* to slurm@'127.0.0.1'; grant all on *.* to slurm@localhost")

    def down(self):
        super().down()
        if os.path.exists(self.folder + "/slurmdbd.started"):
            with open(self.folder + "/slurmdbd.started", encoding="utf-8") as file:
                attempt("kill", file.read().strip())
        if self.database is not None:
            self.database.terminate()
            self.database.wait()

    # ---- What accounting says ----------------------------------------------------------------

    @staticmethod
    def accounted():
        """By job, what sacct says of it: its state, and its resources by name. To its processes a
        job of several components is one."""
        rows = command("sacct", "--noheader", "--parsable2", "--allusers", "--allocations",
                       "--starttime=today", "--format=JobIDRaw,JobID,State,AllocTRES")
        found = {}
        for row in rows.splitlines():
            job, name, state, tres = row.split("|")
            own = dict(part.split("=") for part in tres.split(",") if part)
            if "+" in name:
                job = name.split("+")[0]
                for other, count in found.get(job, ("", {}))[1].items():
                    if other.startswith("gres/"):
                        own[other] = int(own.get(other, 0)) + int(count)
            found[job] = (state, own)
        return found

    def disagreements(self):
        """Jobs of which sacct says another amount of GPU memory than their processes saw."""
        saw, wrong = collections.defaultdict(set), []
        for key, runs in self.records().items():
            for node, gpus, _, _, job in runs:
                saw[job] |= {(node, gpu, self.expected[key][0]) for gpu in gpus}
        said = self.accounted()
        for job, gpus in saw.items():
            state, tres = said.get(job, ("unknown", {}))
            gib = int(tres.get("gres/shard", 0)) + GIB * int(tres.get("gres/gpu", 0))
            if state != "COMPLETED" or gib != sum(size for _, _, size in gpus):
                wrong.append(f"job {job}: sacct says {state} {tres}, it saw {sorted(gpus)}")
        for job in saw.keys():
            if not saw[job] and any(name.startswith("gres/") for name in said[job][1]):
                wrong.append(f"job {job} asked for no GPU, and sacct says {said[job]}")
        return wrong, len(saw)


def habits(bed, seed, count):
    draw = random.Random(seed)
    chosen = HABITS + draw.choices(HABITS, k=max(0, count - len(HABITS)))
    draw.shuffle(chosen)
    for node in range(1, 5):
        command("scontrol", "update", f"nodename=n{node}", "features=large")
    for number, habit in enumerate(chosen):
        bed.habits[habit.__name__] += 1
        habit(bed, draw, f"{habit.__name__}{number}")
    bed.wait_for_all()
    print("slurm-check: " + bed.judge())

    def is_written():  # slurmctld tells slurmdbd a little later
        return all(state not in ("RUNNING", "PENDING") for state, _ in bed.accounted().values())
    wait_until("all ends in the accounting", is_written)
    wrong, jobs = bed.disagreements()
    if wrong:
        raise Failure("; ".join(wrong))
    print(f"slurm-check: of {jobs} jobs sacct says the GPU memory that their processes saw")


# ---- Limits ------------------------------------------------------------------------------------

# 40 GiB in each spelling.
SPELLINGS = [["--vram=40G"], ["--gres=shard:40"], ["--comment=vram=40G"], ["--vram=40G", "--gpus=1"],
             ["--vram=40G", "--gres=gpu:1"], ["--vram=40G", "--gpus-per-node=1"],
             ["--vram=40G", "--gpus-per-task=1"], ["--vram=40960M", "--nodes=1", "--gpus=1"]]

LIMITS = [  # its name, what sacctmgr is told, what undoes that, the most jobs of 40 GiB, Slurm's reason
    ("GrpTRES", ["account", "lab", "set", "GrpTRES=gres/shard=100"],
     ["account", "lab", "set", "GrpTRES=gres/shard=-1"], 2, "AssocGrpGRES"),
    ("MaxTRESPU", ["qos", "normal", "set", "MaxTRESPU=gres/shard=130"],
     ["qos", "normal", "set", "MaxTRESPU=gres/shard=-1"], 3, "QOSMaxGRESPerUser"),
    ("MaxJobsPU", ["qos", "normal", "set", "MaxJobsPU=1"],
     ["qos", "normal", "set", "MaxJobsPU=-1"], 1, "QOSMaxJobsPerUserLimit"),
    ("MaxJobs", ["user", "root", "set", "MaxJobs=2"],
     ["user", "root", "set", "MaxJobs=-1"], 2, "AssocMaxJobsLimit"),
    ("GrpTRES of a QOS", ["qos", "normal", "set", "GrpTRES=gres/shard=40"],
     ["qos", "normal", "set", "GrpTRES=gres/shard=-1"], 1, "QOSGrpGRES"),
]


def at_once(bed, prefix):
    """The most runs at one time of the records that begin so."""
    events = []
    for key, runs in bed.records().items():
        if key.startswith(prefix):
            events += [(run[2], 1) for run in runs] + [(run[3], -1) for run in runs]
    now = most = 0
    for _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def limits(bed):
    for number, (name, tell, undo, most, reason) in enumerate(LIMITS):
        command("sacctmgr", "-i", "modify", *tell)
        reasons = set()
        for spelling, words in enumerate(SPELLINGS):
            key = f"limit{number}x{spelling}x"
            bed.expect(key, 40, 1)
            bed.sbatch(*words, bed.native, key, "1")
        key = f"limit{number}x9x"
        bed.expect(key, 40, 1)
        bed.begin("srun", "--vram=40G", bed.native, key, "1")

        def is_over():
            told = command("squeue", "--noheader", "--states=PENDING", "--format=%r").split("\n")
            reasons.update(one.strip() for one in told if one.strip())
            return not bed.pending()
        wait_until("all jobs over", is_over)
        bed.wait_for_commands()
        if reason not in reasons:
            raise Failure(f"{name}: jobs waited for {reasons}, and not for {reason}")
        if at_once(bed, f"limit{number}x") != most:
            raise Failure(f"{name}: {at_once(bed, f'limit{number}x')} jobs of 40 GiB at once, not {most}")
        command("sacctmgr", "-i", "modify", *undo)
    print(f"slurm-check: {len(LIMITS)} limits held for 40 GiB in {len(SPELLINGS) + 1} spellings")


def notes(bed):
    """What an agent writes of a job before it ends it is kept with the job."""
    note = "berth: it held 45 GiB on GPU 0, was granted 20 GiB"
    job = bed.sbatch("--vram=20G", "--wrap=sleep 600")
    wait_until("a start", lambda: "R" in command("squeue", "--noheader", "--format=%t", "--jobs=" + job))
    command("scontrol", "update", "jobid=" + job, "admincomment=" + note)
    command("scancel", job)
    wait_until("its note in the accounting", lambda: note in command(
        "sacct", "--noheader", "--allocations", "--jobs=" + job, "--format=State,AdminComment%80"))
    print("slurm-check: sacct keeps the note of a job that was ended")


def accounts(seed, count):
    with AccountedBed() as bed:
        began = time.monotonic()
        habits(bed, seed, count)
        limits(bed)
        notes(bed)
        print(f"slurm-check: slurmdbd agrees ({time.monotonic() - began:.0f} s)", flush=True)
