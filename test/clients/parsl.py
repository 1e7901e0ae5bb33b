"""Stands in for parsl 2026.07.27: SlurmProvider with its SrunLauncher starts and ends two blocks.

`sacct -X` to see whether there is accounting, the script of its template, `sacct` with a wide
state, `scancel` of several jobs; each by the shell.
"""
import os
import re

from calls import call, expect, output, read, until, write

SCRIPT = """#!/bin/bash

#SBATCH --job-name={name}
#SBATCH --output={path}.stdout
#SBATCH --error={path}.stderr
#SBATCH --nodes=1
#SBATCH --time=5
#SBATCH --ntasks-per-node={tasks}

#SBATCH --exclusive
#SBATCH --partition=debug
#SBATCH --account=lab
#SBATCH --qos=normal
#SBATCH --gpus-per-node=1
#SBATCH --mem=1g
#SBATCH --cpus-per-task=1

true

export PARSL_MEMORY_GB=1
export PARSL_CORES=1


export JOBNAME="{name}"

set -e
export CORES=$SLURM_CPUS_ON_NODE
export NODES=$SLURM_JOB_NUM_NODES

[[ "1" == "1" ]] && echo "Found cores : $CORES"
[[ "1" == "1" ]] && echo "Found nodes : $NODES"
WORKERCOUNT={tasks}
SCRIPT_DIR="{folder}"
[[ -d $SCRIPT_DIR ]] || SCRIPT_DIR=""

cat << SLURM_EOF > ${{SCRIPT_DIR:+$SCRIPT_DIR/}}cmd_$SLURM_JOB_NAME.sh
{command}
SLURM_EOF
chmod a+x ${{SCRIPT_DIR:+$SCRIPT_DIR/}}cmd_$SLURM_JOB_NAME.sh

srun --ntasks {tasks} -l  bash ${{SCRIPT_DIR:+$SCRIPT_DIR/}}cmd_$SLURM_JOB_NAME.sh

[[ "1" == "1" ]] && echo "Done"
"""


def submit(name, tasks, command):
    path = os.path.join(os.getcwd(), name)
    write(path, SCRIPT.format(name=name, path=path, tasks=tasks, folder=os.getcwd(),
                              command=command))
    for line in output("sbatch " + path).split("\n"):
        match = re.match(r"Submitted batch job (?P<id>\S*)", line)
        if match:
            return match.group("id")
    raise SystemExit("no number of a job")


def states(*ids):
    lines = output("sacct -X --noheader --format=jobid,state%%20 --job '%s'" % ",".join(ids))
    return dict(line.split()[:2] for line in lines.split("\n") if line)


def main():
    expect("there is accounting", call("sacct -X")[0], 0)
    good = submit("parsl.block-0.1796030409.4026165", 2, "echo $SLURM_NTASKS; test -n \"$CORES\"")
    bad = submit("parsl.block-1.1796030410.1016414", 1, "exit 3")
    until("both end", lambda: states(good, bad) == {good: "COMPLETED", bad: "FAILED"})
    said = read("parsl.block-0.1796030409.4026165.stdout")
    expect("what the block says", sorted(said.split("\n")),
           ["", "0: 2", "1: 2", "Done", "Found cores : 2", "Found nodes : 1"])
    lasting = [submit("parsl.block-%d.1" % at, 1, "sleep 1000") for at in (2, 3)]
    until("one runs", lambda: "RUNNING" in states(*lasting).values())
    output("scancel " + " ".join(lasting))
    until("both are cancelled", lambda: set(states(*lasting).values()) == {"CANCELLED"})


main()
