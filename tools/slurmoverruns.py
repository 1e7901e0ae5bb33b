"""Jobs on a Slurm cluster that hold more GPU memory than they asked for, for tools/slurm-check --overruns:
Slurm schedules, and berth's agent on the node ends the one that takes what others were granted.

On emulated GPUs: what each job holds is what its berth-load allocated, and what became of the
others their own scripts say. So an agent that ended the wrong one is found by that one's silence.
"""

import os
import re
import signal
import subprocess
import time

from slurmbed import BIN, TOP, Bed, Failure, command, wait_until
from slurmhabits import release

# An agent that is killed when it has told the user why and is about to end the job.
KILLED = """#!/bin/sh
kill -KILL $PPID
"""

# The job ends between the agent's look and its word.
TOO_LATE = """#!/bin/sh
if [ "$1 ${2%%%%=*}" = "update jobid" ] && [ ! -e %(mark)s ]; then
  : >%(mark)s
  %(scancel)s --signal=KILL "${2#jobid=}"
  until %(scontrol)s show "job" "${2#jobid=}" | grep -q JobState=CANCELLED; do sleep 0.1; done
fi
exec %(scontrol)s "$@"
"""


class Overruns(Bed):
    """A node whose GPUs have shards, and an agent on it."""

    def __init__(self, gpus=2):
        extra = "SelectTypeParameters=CR_Core_Memory,MULTIPLE_SHARING_GRES_PJ" if release() >= (24, 11) else ""
        super().__init__(nodes=1, gpus=gpus, with_berth=False, emulated=True, extra=extra)
        self.agent = None

    def environment(self):
        own = super().environment()
        for name, path in (("LUA", "/examples/slurm/job_submit.lua"),
                           ("SPANK", "/build/release/lib/berth_spank.so")):
            own["BERTH_SLURM_" + name] = os.environ.get("BERTH_SLURM_" + name, TOP + path)
        return own

    def __exit__(self, kind, value, trace):
        self.kill_agent()
        super().__exit__(kind, value, trace)

    # ---- The agent ---------------------------------------------------------------------------

    def run_agent(self, key="", **programs):
        """With a line of berth.toml, and programs in place of Slurm's."""
        config, path = self.folder + "/agent.toml", self.folder + "/programs"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'nvml = "{TOP}/build/release/emu/libnvidia-ml.so.1"\n{key}\n')
        os.makedirs(path, exist_ok=True)
        for name in os.listdir(path):
            os.remove(path + "/" + name)
        for name, text in programs.items():
            with open(path + "/" + name, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path + "/" + name, 0o755)
        environment = self.emulation("n1")
        environment["PATH"] = path + ":" + environment["PATH"]
        with open(self.folder + "/agent.log", "ab") as log:
            self.agent = subprocess.Popen([BIN + "/berthd", "--agent", "--node", "n1", "--config",
                                           config], stderr=log, env=environment)

    def kill_agent(self):
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait()
        self.agent = None

    # ---- Jobs --------------------------------------------------------------------------------

    def take(self, asks, holds, gate, *words):
        """Submits a job, and waits until it holds that. What its user reads is in a file of its name."""
        job = command("sbatch", "--parsable", f"--output={self.folder}/out.%A", "--chdir=/",
                      f"--vram={asks}G", *words, self.script, gate, str(holds * 1024)).strip()
        wait_until(f"{holds} GiB of job {job}", lambda: self.holds(holds))
        return job

    def holds(self, gib):
        """Whether a process does, by the emulation."""
        said = command(BIN + "/berth-emu", "show", f"{self.folder}/gpus.n1/state")
        return re.search(rf"\b{gib} GiB\b", said) is not None

    def states(self, job):
        return command("squeue", "--noheader", "--array", "--states=all", "--jobs=" + job,
                       "--format=%i %T").split("\n")

    def state(self, job):
        return self.states(job)[0].split()[-1]

    def wait_for_end(self, job):
        wait_until("an end of job " + job, lambda: self.state(job) not in ("RUNNING", "COMPLETING"))
        if self.state(job) != "CANCELLED":
            raise Failure(f"a job that held too much is {self.states(job)}")

    def says(self, job, words):
        """Where its user looks: the job's output, Slurm's record and berth."""
        own = dict(os.environ, BERTH_BACKEND="slurm")
        del own["BERTH_SOCKET"]
        why = subprocess.run([BIN + "/berth", "why", job], env=own, capture_output=True, text=True,
                             check=False).stdout
        with open(f"{self.folder}/out.{job.split('_')[0]}", encoding="utf-8") as file:
            output = file.read()
        for where in (output, command("scontrol", "show", "job", job), why):
            if words not in where:
                raise Failure(f"no '{words}' in {where}")

    def is_well(self, job, gate):
        """Of one that was left alone: it runs, and ends by itself."""
        if self.state(job) != "RUNNING":
            raise Failure(f"a job that held no more than it asked for is {self.states(job)}")
        with open(gate, "w", encoding="utf-8"):
            pass
        wait_until("its end", lambda: self.state(job) == "COMPLETED")
        os.remove(gate)

    def clear(self):
        wait_until("free GPUs", lambda: not self.pending())


TOOK = "it held 45 GiB on GPU 0, was granted 20 GiB, and the rest is granted to others"


def only_it_ends(bed, gate):
    """Two jobs on a GPU and a process of nobody's; one of the jobs is the last task of an array, whose
    number means all its tasks."""
    bed.run_agent()
    with bed.load_outside("n1", 3):
        honest = bed.take(40, 12, gate)
        tasks = bed.take(20, 45, bed.folder + "/never", "--array=7")
        bed.wait_for_end(tasks)
        bed.says(tasks, TOOK)
        bed.is_well(honest, gate)
        if not bed.holds(3):
            raise Failure("a process outside of Slurm was ended")
    bed.kill_agent()


def among_tasks(bed, gate):
    """Each of three tasks is within what it asked. A job is not, and its name looks like Slurm's word of
    another with whole GPUs; none but it ends."""
    bed.run_agent()
    others = bed.take(10, 9, gate, "--array=1-3")
    name = f"x\nJobId={int(others) + 3} Nodes=n1 CPU_IDs=0 Mem=1 GRES=gpu:2(IDX:0-1)"
    greedy = bed.take(20, 50, bed.folder + "/never", "--job-name=" + name)
    if f"\nJobId={greedy} Nodes=n1" not in command("scontrol", "-o", "show", "job", greedy):
        raise Failure("the job's name is not what was to be tried")
    bed.wait_for_end(greedy)
    states = sorted(line.split()[-1] for line in bed.states(others) if line)
    if states != ["RUNNING"] * 3:
        raise Failure(f"tasks within what they asked are {states}")
    with open(gate, "w", encoding="utf-8"):
        pass
    bed.clear()
    os.remove(gate)
    bed.kill_agent()


def nobody_lacks_it(bed, gate):
    """It is kept, and warned of where that is configured, by two agents once; or ended."""
    honest = bed.take(40, 12, gate)
    large = bed.take(20, 30, gate + ".large")
    words = "it held 30 GiB on GPU 0, was granted 20 GiB"
    for _ in range(2):
        bed.run_agent('overuse = "warn"')
        wait_until("a word to its user", lambda: words in command("scontrol", "show", "job", large))
        wait_for_looks(bed)
        bed.kill_agent()
    with open(f"{bed.folder}/out.{large}", encoding="utf-8") as file:
        if file.read().count(words) != 1:
            raise Failure("a warning came twice")
    bed.is_well(large, gate + ".large")
    large = bed.take(20, 30, gate + ".large")
    bed.run_agent('overuse = "end"')
    bed.wait_for_end(large)
    bed.says(large, words)
    bed.is_well(honest, gate)
    bed.kill_agent()


def wait_for_looks(bed):
    """Until the agent has looked several times: it tells its node's memory when it changes."""
    def told():
        return re.search(r"Extra=(berth-agent at=\d+)", command("scontrol", "show", "node", "n1"))
    for gib in (1, 2):
        before = told()
        with bed.load_outside("n1", gib):
            wait_until("a word of the agent", lambda: told() and (not before or told()[1] != before[1]))


def killed_in_the_middle(bed, gate):
    """The next agent does what is left to do, and ends nobody else."""
    bed.run_agent(scancel=KILLED)
    honest, greedy = bed.take(40, 12, gate), bed.take(20, 45, bed.folder + "/never")
    wait_until("a death of the agent", lambda: bed.agent.poll() is not None)
    if bed.agent.returncode != -signal.SIGKILL or bed.state(greedy) != "RUNNING":
        raise Failure(f"the agent ended with {bed.agent.returncode}, the job is {bed.state(greedy)}")
    for _ in range(3):  # at any time
        bed.run_agent(scancel=KILLED)
        wait_until("a death of the agent", lambda: bed.agent.poll() is not None)
    bed.run_agent()
    bed.wait_for_end(greedy)
    bed.says(greedy, TOOK)
    bed.is_well(honest, gate)
    bed.kill_agent()


def ended_meanwhile(bed, gate):
    programs = {name: command("sh", "-c", "command -v " + name).strip() for name in ("scontrol", "scancel")}
    bed.run_agent(scontrol=TOO_LATE % dict(programs, mark=bed.folder + "/mark"))
    honest, greedy = bed.take(40, 12, gate), bed.take(20, 45, bed.folder + "/never")
    bed.wait_for_end(greedy)
    if not os.path.exists(bed.folder + "/mark"):
        raise Failure("the job did not end while the agent was about to end it")
    wait_for_looks(bed)
    if bed.agent.poll() is not None:
        raise Failure(f"the agent ended with {bed.agent.returncode}")
    bed.is_well(honest, gate)
    bed.kill_agent()


FAULTS = [only_it_ends, among_tasks, nobody_lacks_it, killed_in_the_middle, ended_meanwhile]


def overruns():
    with Overruns() as bed:
        for number, fault in enumerate(FAULTS):
            fault(bed, f"{bed.folder}/gate{number}")
            bed.clear()
        oom = [run for run in bed.runs() if run.is_oom]
        if oom:
            raise Failure(f"jobs ran out of memory: {oom}")
        own = [run for run in bed.runs() if run.was_killed]
        took = max(run.end - run.begin for run in own[:2])  # with an agent that nothing held up
        print(f"slurm-check: jobs that held more than they asked for: in {len(FAULTS)} ways only these "
              f"ended, by {took:.1f} s after their beginning, and their users read why", flush=True)


# ---- What an agent costs -----------------------------------------------------------------------


def spent(pid):
    """Seconds of a processor, its children's that have ended among them."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        times = file.read().rsplit(") ", 1)[1].split()[11:15]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def cost(seconds):
    """Of an agent of eight GPUs: while nothing runs, with two jobs on each, and while one of those holds
    more than it asked for and nobody lacks it."""
    with Overruns(gpus=8) as bed:
        bed.run_agent()

        def measure(what):
            wait_for_looks(bed)
            before = spent(bed.agent.pid)
            time.sleep(seconds)
            share = (spent(bed.agent.pid) - before) / seconds
            print(f"slurm-check: an agent of 8 GPUs, {what}: {100 * share:.2f} % of a processor", flush=True)
        measure("idle")
        gate = bed.folder + "/gate"
        for number in range(16):
            command("sbatch", "--output=/dev/null", "--chdir=/", "--vram=35G", bed.script, gate,
                    str(30000 + number))
        wait_until("memory of 16 jobs", lambda: command(
            BIN + "/berth-emu", "show", f"{bed.folder}/gpus.n1/state").count(" 29.") >= 16)
        measure("two jobs on each")
        bed.take(5, 9, gate)
        measure("two jobs on each, and one more that holds too much")
        with open(gate, "w", encoding="utf-8"):
            pass
        bed.clear()
