"""A Slurm cluster of its own with berth-slurm on it, for tools/slurm-check and bench/slurm: a
slurmctld and some slurmd on this machine, with pretended GPUs (examples/slurm/up).

A GPU's memory is a number: what ran where, and when, is what the jobs' scripts write down
themselves. So what is found of over-commitment comes from the processes, not from berth or Slurm.
"""

import collections
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(TOP, "build/release/bin")
os.environ["PATH"] += ":/usr/sbin:/sbin"

# What a job does: says that it began, works, says how that ended. One write is one line.
SCRIPT = """#!/bin/sh
say() {
  echo "$1 $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES:-none}" \\
    "$$ $(date +%%s.%%N)" >>%(log)s
}
say begin
case $SLURM_JOB_NAME$CUDA_VISIBLE_DEVICES in
bare[0-9]) sleep 60 ;; # begun without its shards on purpose: it waits to be sent back
esac
%(work)s
if [ $? -eq 77 ]; then
  say oom
  exit 77
fi
say end
"""

# $1 seconds, or until there is a file of that name.
WORK = """case $1 in
/*) until [ -e "$1" ]; do sleep 0.05; done ;;
*) sleep "$1" ;;
esac"""

# On the emulated GPUs of its node with $2 MiB: $1 seconds, or until there is a file of that name.
LOAD = """load() {
  exec env BERTH_EMU_STATE=%(folder)s/gpus.$SLURMD_NODENAME/state LD_LIBRARY_PATH=%(top)s/build/release/emu \\
    %(top)s/build/release/bin/berth-load --vram "$2"M --steps "$1" --step-ms 100 --duty 0.1 --report 0
}
case $1 in
/*)
  load 0 "$2" &
  until [ -e "$1" ]; do sleep 0.05; done
  kill $!
  ! wait $!
  ;;
*) (load "$1"0 "$2") ;;
esac"""

FORGOTTEN = 10  # seconds that a slurmctld may forget when it is killed


class Failure(Exception):
    """What a check found wrong, or could not do."""


def command(*words, check=True, user=None, timeout=120):
    """What a command prints. `user` is the number of another user to run it as."""
    done = subprocess.run(words, capture_output=True, text=True, user=user, group=user,
                          extra_groups=None if user is None else [], timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def attempt(*words, user=None):
    """Whether a command succeeds, and all that it prints."""
    done = subprocess.run(words, capture_output=True, text=True, user=user, group=user,
                          extra_groups=None if user is None else [], timeout=60, check=False)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def wait_until(what, is_so, seconds=180.0):
    """Waits until it is so. The bound is for what never comes."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise Failure(f"after {seconds:.0f} s: not {what}")
        time.sleep(0.05)


def missing(*programs_of_berth):
    """Why this machine cannot run a cluster, and that program if there is one; "" if it can."""
    if os.geteuid() != 0:
        return "slurmctld and slurmd for several users want root"
    for program in ("slurmctld", "slurmd", "sbatch", "munged"):
        if shutil.which(program) is None:
            return f"there is no {program}; tools/install-deps --slurm installs it"
    for program in programs_of_berth:
        if not os.path.exists(BIN + "/" + program):
            return f"there is no build/release/bin/{program}: tools/build release, with libslurm-dev"
    return ""


class Run:
    """One run of a job's script."""

    def __init__(self, job, restart, node, gpus, pid, begin):
        self.job, self.restart, self.node, self.gpus, self.pid = job, restart, node, gpus, pid
        self.begin, self.end, self.is_oom, self.was_killed = begin, None, False, False

    def __repr__(self):
        return f"{self.job}.{self.restart} on {self.node}:{','.join(self.gpus)}"


class Bed:
    """The cluster. As a context: it is stopped at the end, and its files stay after a failure."""

    def __init__(self, nodes=4, gpus=8, gib=80, extra="", policy="fifo-skip", with_berth=True,
                 emulated=False, config=""):
        self.shape, self.emulated = (nodes, gpus, gib), emulated
        self.policy, self.extra, self.with_berth = policy, extra, with_berth
        self.config = config  # of berth-slurm, as in berth.toml
        self.folder = tempfile.mkdtemp(prefix="berth-slurm-")
        os.chmod(self.folder, 0o755)
        self.cluster = self.folder + "/cluster"
        self.log = self.folder + "/runs"
        self.script = self.folder + "/job.sh"
        self.controller = None
        self.asked = {}  # GiB on each GPU, by job
        self.submitted = {}  # times, by job
        self.deaths = collections.defaultdict(list)  # times at which a node's processes were killed
        self.forgotten = []  # times at which a slurmctld was killed
        self.drained = []  # nodes that Slurm drained after that, and that were resumed
        self.alive = {}  # times at which processes were last seen alive, by their numbers
        self.vanished = {}  # and when those that are gone were
        self.watch = threading.Thread(target=self.watch_processes, daemon=True)
        self.is_up = True

    def __enter__(self):
        with open(self.script, "w", encoding="utf-8") as file:
            work = LOAD % {"folder": self.folder, "top": TOP} if self.emulated else WORK
            file.write(SCRIPT % {"log": self.log, "work": work})
        os.chmod(self.script, 0o755)
        with open(self.log, "w", encoding="utf-8"):
            pass
        os.chmod(self.log, 0o666)
        self.watch.start()
        if self.emulated:
            self.make_gpus()
        environment = self.environment()
        if environment["BERTH_SLURM_SPANK"]:
            # Users load it, and may not enter the home of root, where the build may lie.
            environment["BERTH_SLURM_SPANK"] = shutil.copy(environment["BERTH_SLURM_SPANK"],
                                                           self.folder)
        up = subprocess.run([TOP + "/examples/slurm/up", self.cluster, *map(str, self.shape)],
                            env=environment, capture_output=True, text=True, check=False)
        os.environ["SLURM_CONF"] = self.cluster + "/slurm.conf"
        os.environ["BERTH_SOCKET"] = self.folder + "/socket"
        if up.returncode != 0:
            self.down()
            raise Failure(f"{up.stderr.strip()} (files: {self.folder})")
        return self

    def environment(self):
        """Of examples/slurm/up."""
        own = dict(os.environ, BERTH_SLURM_EXTRA=self.extra, BERTH_SLURM_LUA="", BERTH_SLURM_SPANK="",
                   BERTH_SLURM_TYPED="", BERTH_SLURM_LIMITS=self.folder + "/limits")
        if self.with_berth:
            own["BERTH_SLURM_TYPED"] = "yes"
            own["BERTH_SLURM_LUA"] = TOP + "/examples/slurm/job_submit.lua"
            own["BERTH_SLURM_SPANK"] = TOP + "/build/release/lib/berth_spank.so"
        return own

    def make_gpus(self):
        """Emulated GPUs for each node, with 80 GiB for jobs and some for their contexts."""
        nodes, gpus, _ = self.shape
        for node in range(1, nodes + 1):
            folder = f"{self.folder}/gpus.n{node}"
            os.mkdir(folder)
            command(BIN + "/berth-emu", "create", "--gpus", f"{gpus}x80GiB", "--reserved", "0",
                    "--context", "0", folder + "/state")

    def __exit__(self, kind, value, trace):
        self.down()
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"{value or kind.__name__}; files are in {self.folder}", file=sys.stderr)

    def watch_processes(self):
        """Notes when the scripts' processes go: one that is killed says nothing. It went after it
        was last seen; this thread may miss it late, when another runs already."""
        while self.is_up:
            for run in self.read_runs():
                seen = time.time()
                if run.pid in self.vanished:
                    continue
                if state_of(run.pid) in "ZX":
                    self.vanished[run.pid] = self.alive.get(run.pid, run.begin)
                else:
                    self.alive[run.pid] = seen
            time.sleep(0.05)

    def down(self):
        self.is_up = False
        self.stop_controller(signal.SIGTERM)
        attempt(TOP + "/examples/slurm/down", self.cluster)
        # They save their state after their pid files went, and `down` may miss one that it cannot
        # read the file of.
        deadline = time.monotonic() + 10
        while left := [pid for pid in processes() if is_daemon_of(pid, self.cluster)]:
            if time.monotonic() > deadline or left == munged_of(left):
                for pid in left:
                    kill(pid)
            time.sleep(0.05)

    # ---- The programs ------------------------------------------------------------------------

    def start_controller(self, policy=None):
        """Starts berth-slurm, and waits until it answers."""
        words = [BIN + "/berth-slurm", "--partitions", "gpu", "--state", self.folder + "/state",
                 "--socket", self.folder + "/socket", "--policy", policy or self.policy,
                 "--preempt-by", "restart", "--limits", self.folder + "/limits",
                 "--reach", "12",  # a slurmd that is gone refuses at once
                 "--config", self.folder + "/berth.toml"]
        with open(self.folder + "/berth.toml", "w", encoding="utf-8") as file:
            file.write(self.config)
        with open(self.folder + "/berth-slurm.log", "ab") as log:
            self.controller = subprocess.Popen(words, stderr=log)
        wait_until("an answer of berth-slurm", self.answers)

    def answers(self):
        if self.controller.poll() is not None:
            raise Failure("berth-slurm ended: " + self.last_words())
        return attempt(BIN + "/berth", "gpus")[0]

    def last_words(self):
        with open(self.folder + "/berth-slurm.log", encoding="utf-8") as file:
            return file.read().strip().rsplit("\n", 1)[-1]

    def stop_controller(self, how):
        if self.controller is not None and self.controller.poll() is None:
            self.controller.send_signal(how)
            self.controller.wait()
        self.controller = None

    def slurmctld(self):
        with open(self.cluster + "/slurmctld.pid", encoding="utf-8") as file:
            return int(file.read())

    def stop_slurmctld(self, how):
        pid = self.slurmctld()
        if how == signal.SIGKILL:
            self.forgotten.append(time.time())
        os.kill(pid, how)
        wait_until("an end of slurmctld", lambda: not os.path.exists(f"/proc/{pid}"))

    def wait_for_save(self):
        """Until slurmctld has written down all jobs that were submitted: it does so some seconds
        late, and what it has not written a kill makes it forget."""
        path, last = self.cluster + "/state/job_state", max(self.submitted.values())
        wait_until("a state saved by slurmctld",
                   lambda: os.path.exists(path) and os.path.getmtime(path) > last)

    def start_slurmctld(self):
        command("slurmctld", "-f", os.environ["SLURM_CONF"])

    def kill_node(self, node):
        """Kills slurmd and all that it started, as if the machine had lost its power."""
        for pid in self.part_of(node):
            kill(pid, signal.SIGSTOP)  # none starts another meanwhile
        quiet = 0
        while quiet < 5:
            doomed = family_of(self.part_of(node))
            for pid in doomed:
                kill(pid)
            quiet = 0 if doomed else quiet + 1
            time.sleep(0.01)
        self.deaths[node].append(time.time())

    def part_of(self, node):
        """Its slurmd and slurmstepd: a slurmstepd has the environment of slurmd until it opens the
        log and overwrites it with its title."""
        mark = f"BERTH_NODE={self.cluster}/{node}".encode()
        return users_of(f"{self.cluster}/log/slurmd.{node}.log") | marked(mark)

    def start_node(self, node):
        subprocess.run(["slurmd", "-N", node, "-f", os.environ["SLURM_CONF"]], check=True,
                       env=dict(os.environ, BERTH_NODE=f"{self.cluster}/{node}"))

    # ---- Agents ------------------------------------------------------------------------------

    def emulation(self, node):
        """Variables with which a process sees the emulated GPUs of a node."""
        return dict(os.environ, BERTH_EMU_STATE=f"{self.folder}/gpus.{node}/state",
                    LD_LIBRARY_PATH=TOP + "/build/release/emu")

    def start_agent(self, node):
        """Starts it, and waits until berth-slurm hears of it."""
        config = self.folder + "/agent.toml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'nvml = "{TOP}/build/release/emu/libnvidia-ml.so.1"\n')
        with open(self.folder + "/agent.log", "ab") as log:
            self.agent = subprocess.Popen([BIN + "/berthd", "--agent", "--node", node, "--config",
                                           config], stderr=log, env=self.emulation(node))
        wait_until("a word of the agent", lambda: "measured by agents on 1 of" in self.berth("doctor"))

    def stop_agent(self):
        self.agent.terminate()
        if self.agent.wait() != 0:
            raise Failure(f"the agent ended with {self.agent.returncode}")

    @contextlib.contextmanager
    def load_outside(self, node, gib):
        """A process outside of Slurm holds so much there."""
        load = subprocess.Popen([BIN + "/berth-load", "--vram", f"{gib}G", "--steps", "0",
                                 "--step-ms", "100", "--duty", "0.1", "--report", "0"],
                                env=self.emulation(node))
        try:
            yield
        finally:
            load.kill()
            load.wait()

    def berth(self, *words):
        return attempt(BIN + "/berth", *words)[1]

    def job(self, job):
        went, text = attempt(BIN + "/berth", "show", job, "--json")
        return json.loads(text) if went else {}  # berth-slurm has not seen it yet

    def state(self, job):
        return self.job(job).get("state")

    def gpu(self):
        return json.loads(self.berth("gpus", "--json"))["gpus"][0]

    def hold(self, asks, holds, seconds):
        """Submits a job that asks for so many GiB and holds others, for so long or until there is a
        file of that name. Returns: its number."""
        return command("sbatch", "--parsable", "--output=/dev/null", "--chdir=/",
                       f"--comment=vram={asks}G class=short", self.script, str(seconds),
                       str(holds * 1024)).strip()

    # ---- Jobs --------------------------------------------------------------------------------

    def submit(self, gib, seconds, *words, user=None, kind="short"):
        """Submits a job that holds so many GiB on its GPU, for so long or until there is a file of
        that name. Without berth the words say what it asks. Returns: its number."""
        if self.with_berth:
            words = (f"--comment=vram={gib}G class={kind}", *words)
        job = command("sbatch", "--parsable", "--output=/dev/null", "--requeue", "--chdir=/", *words,
                      self.script, str(seconds), str(gib * 1024), user=user).strip()
        self.asked[job], self.submitted[job] = gib, time.time()
        return job

    def runs(self):
        """What the scripts wrote, by their beginnings. A run without an end was killed when its
        process went, or goes on."""
        runs = self.read_runs()
        for run in runs:
            if run.end is None and run.pid in self.vanished:
                run.end, run.was_killed = self.vanished[run.pid], True
        return runs

    def read_runs(self):
        found = {}
        with open(self.log, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.endswith("\n")]
        lines = [words for words in lines if len(words) == 7]  # its `date` was killed
        for what, job, restart, node, gpus, pid, at in lines:
            if what == "begin":
                found[pid] = Run(job, restart, node, gpus.split(","), pid, float(at))
            elif pid in found:
                found[pid].end, found[pid].is_oom = float(at), what == "oom"
        return sorted(found.values(), key=lambda run: run.begin)

    def ended(self, jobs):
        return [run for run in self.runs() if run.job in jobs and run.end is not None]

    def waiting_tasks(self):
        return command("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i").split()

    def releases(self):
        """Jobs in the order in which Slurm was told to let them run, by its own log."""
        return list(self.release_times())

    def release_times(self):
        """When Slurm was told to let them run, by job: the last time."""
        with open(self.cluster + "/log/slurmctld.log", encoding="utf-8") as file:
            found = re.findall(r"\[(\S+)\] .*release hold on JobId=(\d+)", file.read())
        return {job: datetime.datetime.fromisoformat(at).timestamp() for at, job in found}

    @staticmethod
    def start_time(job):
        """In whole seconds, as Slurm counts."""
        found = re.search(r"StartTime=(\S+)", command("scontrol", "show", "job", job))
        return datetime.datetime.fromisoformat(found[1]).timestamp()

    def pending(self):
        return command("squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING",
                       "--format=%A", check=False).split()

    def wait_for_all(self, seconds=300.0):
        """Until Slurm and berth know of no job that waits or runs. A run that was killed counts."""
        def is_over():
            self.resume_drained()
            ran = {run.job for run in self.runs() if run.end is not None}
            left = self.asked.keys() - ran
            return (not self.pending() and not self.listed()
                    and (not left or left == self.lost_by_slurm(left)))
        wait_until("all jobs over", is_over, seconds)

    def resume_drained(self):
        """As an administrator does: a slurmctld that was killed may forget a start, and drains the
        node of a job that it then starts once more where it still runs."""
        listed = command("sinfo", "--noheader", "--Node", "--format=%N|%T|%E").split("\n")
        for line in sorted(set(listed)):
            node, state, reason = (line.strip().split("|") + ["", ""])[:3]
            if state.startswith("drain") and "Duplicate jobid" in reason:
                self.drained.append(node)
                attempt("scontrol", "update", "nodename=" + node, "state=resume")

    def lost_by_slurm(self, jobs):
        """Those that a slurmctld forgot when it was killed: it saves its state some seconds late."""
        if not self.forgotten:
            return set()
        known = set(command("squeue", "--noheader", "--states=all", "--format=%A").split())
        return set(jobs) - known

    def listed(self):
        """Jobs that wait or run by berth."""
        if not self.with_berth:
            return []
        ok, text = attempt(BIN + "/berth", "ls", "--json")
        return ["?"] if not ok else jobs_in(text)

    # ---- What must hold ----------------------------------------------------------------------

    def most_held(self):
        """The most GiB on each GPU at one time, by what the scripts wrote."""
        events = []
        for run in self.runs():
            for gpu in run.gpus if run.gpus != ["none"] else []:
                events.append((run.begin, self.asked[run.job], run.node, gpu))
                if run.end is not None:
                    events.append((run.end, -self.asked[run.job], run.node, gpu))
        held, most = collections.Counter(), collections.Counter()
        for _, gib, node, gpu in sorted(events):
            held[node, gpu] += gib
            most[node, gpu] = max(most[node, gpu], held[node, gpu])
        return most

    def is_known(self, run):
        """Whether Slurm must know that it ended. A machine that dies seconds after a job's end may
        take the news along, which it repeats while slurmctld does not answer, and a slurmctld that
        is killed forgets its last seconds; the job runs again then. A run without its GPUs does not
        count."""
        if self.with_berth and run.gpus == ["none"]:
            return False
        died = self.deaths[run.node]
        return (not any(run.end <= at < run.end + 5 for at in died)
                and not any(run.begin - 1 <= at < run.end + FORGOTTEN for at in self.forgotten))

    def check(self):
        """No GPU ever held more than it has, each job ran, and each once but for what was killed.
        Returns: a sentence. Raises: Failure."""
        runs, most = self.runs(), self.most_held()
        wrong = [f"{node}:{gpu} held {gib} GiB" for (node, gpu), gib in most.items()
                 if gib > self.shape[2]]
        whole = [run for run in runs if run.end is not None and not run.was_killed]
        ended = collections.Counter(run.job for run in whole)
        known = collections.Counter(run.job for run in whole if self.is_known(run))
        lost = self.lost_by_slurm(job for job in self.asked if ended[job] == 0)
        for job in self.asked:
            if ended[job] == 0 and job not in lost:
                wrong.append(f"job {job} did not run to its end")
            if known[job] > 1:
                wrong.append(f"job {job} ran to its end {known[job]} times")
        by_job = collections.defaultdict(list)
        for run in runs:
            by_job[run.job].append(run)
        for job, own in by_job.items():
            for one, next_one in zip(own, own[1:]):
                if one.end is None or one.end > next_one.begin:
                    wrong.append(f"job {job} ran twice at a time: {own}")
                if one.gpus != next_one.gpus and ["none"] not in (one.gpus, next_one.gpus):
                    wrong.append(f"job {job} did not return to its GPUs: {own}")
        if wrong:
            raise Failure("; ".join(wrong))
        again = sum(len(own) - 1 for own in by_job.values())
        told = f", {len(lost)} were forgotten by a killed slurmctld" if lost else ""
        bare = sum(run.gpus == ["none"] for run in runs)
        told += f", {bare} runs were begun by Slurm without their GPUs" if bare else ""
        return (f"{len(self.asked) - len(lost)} jobs ran to their ends once each{told}, {again} runs "
                f"were killed and repeated; at most {max(most.values(), default=0)} of {self.shape[2]} GiB on "
                f"each of {len(most)} GPUs"
                + (f"; {len(self.drained)} drained nodes were resumed" if self.drained else ""))


def jobs_in(text):
    listed = json.loads(text)
    jobs = listed["jobs"] if isinstance(listed, dict) else listed
    return [job["id"] for job in jobs]


def processes():
    """The parent and the session of each process that lives."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                state, parent, _, session = file.read().rsplit(") ", 1)[1].split()[:4]
        except OSError:
            continue
        if state not in "ZX":
            found[int(pid)] = (int(parent), int(session))
    return found


def state_of(pid):
    """R, S and so on; X if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(") ", 1)[1][0]
    except OSError:
        return "X"


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def munged_of(pids):
    return [pid for pid in pids if words_of(pid)[0] == "munged"]


def is_daemon_of(pid, cluster):
    words = words_of(pid)
    return words[0] in ("slurmctld", "slurmd", "munged") and any(cluster in word for word in words)


def family_of(pids):
    """These, what they started, and what is of one session with any of those. A slurmstepd that
    slurmd has just started has not opened its log yet."""
    table, family = processes(), set(pids)
    while True:
        sessions = {table[pid][1] for pid in family if pid in table}
        more = {pid for pid, (parent, session) in table.items()
                if parent in family or session in sessions} - family
        if not more:
            return family
        family |= more


def kill(pid, how=signal.SIGKILL):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def users_of(path):
    """Processes that have a file open."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(entry.path) == path for entry in os.scandir(f"/proc/{pid}/fd")):
                found.add(int(pid))
        except OSError:
            continue
    return found


def marked(mark):
    """Processes with a variable in their environment."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.add(int(pid))
        except OSError:
            continue
    return found
