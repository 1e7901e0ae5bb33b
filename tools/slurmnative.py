"""Programs that drive Slurm, unmodified, on a cluster where Slurm schedules and their jobs ask by
--vram, for tools/slurm-check --clients. slurmdbd is there, as they read sacct.

Each must end well, and each of its jobs must have had what it asked by Slurm's accounting.
"""

import os
import subprocess

from slurmaccounts import AccountedBed
from slurmbed import TOP, Failure, attempt, command, wait_until

PYTHON = "/usr/bin/python3"  # with Debian's modules
SNAKEMAKE = ["/usr/bin/snakemake", "-j", "4", "--max-status-checks-per-second", "1", "--nocolor"]
CLUSTER = ("sbatch --parsable --mem {resources.mem_mb} -t {resources.runtime} -o %j.log "
           "{resources.slurm_extra}")
TOIL = ["--batchSystem", "slurm", "--disableCaching", "--statePollingWait", "1", "--disableProgress",
        "--defaultMemory", "100M", "--defaultDisk", "10M", "--defaultCores", "1", "--clean", "always"]
TEMPLATE = """#!/bin/bash
#SBATCH --job-name=<%= job.name %>
#SBATCH --output=<%= log.file %><%= ifelse(array.jobs, "_%a", "") %>
#SBATCH --vram=10G
<%= if (array.jobs) sprintf("#SBATCH --array=1-%i", nrow(jobs)) else "" %>
Rscript -e 'batchtools::doJobCollection("<%= uri %>")'
"""

STEPS = "6 of 6 steps (100%) done"
CLIENTS = [  # name, what must be installed, what its output has, its words, jobs with 10 GiB
    ("snakemake --slurm", "snakemake", STEPS, [*SNAKEMAKE, "--slurm"], 1),
    ("snakemake --cluster", "snakemake", STEPS,
     [*SNAKEMAKE, "--cluster-cancel", "scancel", "--cluster-status", "./state.sh", "--cluster", CLUSTER], 1),
    ("toil", "toil", "TOTAL 14", [PYTHON, "toil_sum.py", "store", *TOIL], 6),
    ("batchtools", "Rscript", "[1]  1  4 16 25 36", ["/usr/bin/Rscript", "batchtools.R"], 6),
]


def prepare(folder, clients):
    """The drivers, in words of --vram."""
    os.mkdir(folder)
    for name in ("Snakefile", "state.sh", "batchtools.R", "toil_sum.py"):
        with open(f"{clients}/{name}", encoding="utf-8") as file:
            text = file.read()
        text = text.replace('"--gpus=1"', '"--vram=10G"').replace('"slurm-simple"', '"vram.tmpl"')
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", 0o755)
    with open(folder + "/vram.tmpl", "w", encoding="utf-8") as file:
        file.write(TEMPLATE)


def run_one(bed, number, client, clients):
    name, _, expected, words, count = client
    folder, before = f"{bed.folder}/client{number}", set(bed.accounted())
    prepare(folder, clients)
    environment = dict(os.environ, USER="root", TOIL_SLURM_ARGS="--vram=10G", PYTHONDONTWRITEBYTECODE="1")
    environment["PATH"] = "/usr/bin:" + environment["PATH"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
                          check=False)
    if expected not in done.stdout + done.stderr:
        raise Failure(f"{name}: no '{expected}' in {(done.stdout + done.stderr)[-2000:]}")
    wait_until("ends of its jobs", lambda: not bed.pending())

    def shards():
        return [tres.get("gres/shard") for job, (state, tres) in bed.accounted().items()
                if job not in before and state in ("COMPLETED", "FAILED")]
    wait_until("its jobs in the accounting", lambda: shards().count("10") == count, 30)
    print(f"slurm-check: {name}: {expected}; {count} of its {len(shards())} jobs had 10 GiB", flush=True)


def real_clients(clients):
    if not os.path.isdir(clients):
        print(f"slurm-check: {clients}: no such folder, nothing was run")
        return
    with AccountedBed() as bed:
        for number, client in enumerate(CLIENTS):
            if not attempt("sh", "-c", "command -v /usr/bin/" + client[1])[0]:
                print(f"slurm-check: {client[0]}: not installed; tools/install-deps --clients")
                continue
            run_one(bed, number, client, clients)
        if attempt(PYTHON, "-c", "import submitit")[0]:
            command(PYTHON, clients + "/submitit_e2e.py", bed.folder + "/submitit", timeout=900)
            print("slurm-check: submitit: as its driver expects")
        else:
            print("slurm-check: submitit: this Python has none; --native has the scripts that it writes")
