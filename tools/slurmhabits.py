"""What people do on a Slurm cluster, drawn at random, for tools/slurm-check --native: Slurm schedules,
and berth's part is the words and what they become (examples/slurm/job_submit.lua).

Three judges, none of which asks berth or Slurm's ledger: each process writes the GPUs that it sees
and its number when it begins and when it ends. So what is found is by the processes alone: what each
GPU held over time, who saw no GPU or too many, and what ran twice or never.
"""

import collections
import os
import random
import re
import signal
import subprocess
import tempfile
import time

from slurmbed import TOP, Bed, Failure, attempt, command, wait_until

GIB = 80
SIZES = [8, 10, 16, 20, 24, 32, 40, 48, 64, 80]
USERS = [None, 65534]  # root, and somebody else

# $1 names the habit, $2 is the time that it takes.
SCRIPT = """#!/bin/sh
say() {
  echo "$1 $2.${SLURM_ARRAY_TASK_ID:-0}.${SLURM_PROCID:-0} $SLURMD_NODENAME" \\
    "${CUDA_VISIBLE_DEVICES:-none} $$ $(date +%%s.%%N) $SLURM_JOB_ID" >>%(log)s
}
say begin "$1"
sleep "$2"
say end "$1"
"""

# The way in which a script asks for its step, and the way in which the job asks for its GPU.
STEPS = [[], ["-n1"], ["--gpus=1"], ["--gres=gpu:1"], ["--gpus-per-task=1"], ["--gpus-per-node=1"]]
ONE_GPU = [[], ["--gpus=1"], ["--gres=gpu:1"], ["--gpus-per-node=1"], ["--gpus-per-task=1"]]


def release():
    """Slurm's, as (22, 5)."""
    words = command("slurmctld", "-V").split()[-1].split(".")
    return int(words[0]), int(words[1])


class NativeBed(Bed):
    """A cluster of four nodes with four GPUs, on which Slurm schedules. On 22.05 the last `whole` nodes
    have no shards."""

    def __init__(self, nodes=4, gpus=4, whole=2):
        self.whole = whole
        self.by_task = release() >= (24, 11)
        extra = ("PartitionName=other Nodes=ALL DefMemPerCPU=100 State=UP\n"
                 "PartitionName=shared Nodes=n[1-2] DefMemPerCPU=100 State=UP\n")
        if self.by_task:
            extra += "SelectTypeParameters=CR_Core_Memory,MULTIPLE_SHARING_GRES_PJ\n"
        super().__init__(nodes=nodes, gpus=gpus, gib=GIB, extra=extra, with_berth=False)
        self.said = self.folder + "/said"
        self.native = self.folder + "/native.sh"
        self.expected = {}  # by record: GiB on each GPU, and the number of GPUs that it sees
        self.jobs = []  # of Slurm
        self.commands = []  # that run until their job ends
        self.habits = collections.Counter()
        self.refused = 0

    def environment(self):
        self.write(self.native, SCRIPT % {"log": self.said})
        with open(self.said, "w", encoding="utf-8"):
            pass
        os.chmod(self.said, 0o666)
        own = super().environment()
        for name, path in (("LUA", "/examples/slurm/job_submit.lua"),
                           ("SPANK", "/build/release/lib/berth_spank.so")):
            own["BERTH_SLURM_" + name] = os.environ.get("BERTH_SLURM_" + name, TOP + path)
        own["BERTH_SLURM_WHOLE"] = "0" if self.by_task else str(self.whole)
        return own

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    # ---- What is done ------------------------------------------------------------------------

    def expect(self, key, gib, gpus, tasks=(0,), ranks=(0,)):
        for task in tasks:
            for rank in ranks:
                self.expected[f"{key}.{task}.{rank}"] = (gib, gpus)

    def sbatch(self, *words, user=None):
        job = command("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", *words,
                      user=user).strip()
        self.jobs.append(job)
        return job

    def batch_of(self, lines):
        """A script of these lines."""
        path = f"{self.folder}/script{len(os.listdir(self.folder))}"
        self.write(path, "#!/bin/sh\n" + "\n".join(lines) + "\n")
        return path

    def begin(self, *words):
        log = open(f"{self.folder}/command{len(self.commands)}", "w+", encoding="utf-8")
        self.commands.append((words, log, subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")))

    def refuses(self, why, *words):
        went, said = attempt(*words)
        if went or why not in said:
            raise Failure(f"{' '.join(words)}: no '{why}' in '{said}'")
        self.refused += 1

    def wait_for_commands(self):
        for words, log, process in self.commands:
            try:
                code = process.wait(300)
            except subprocess.TimeoutExpired as late:
                process.kill()
                raise Failure(f"{' '.join(words)}: not over after 300 s") from late
            log.seek(0)
            if code != 0:
                raise Failure(f"{' '.join(words)}: {code}: {log.read()}")

    # ---- What must hold ----------------------------------------------------------------------

    def records(self):
        """By record, each run: [node, GPUs, beginning, end, job]."""
        with open(self.said, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        found, open_runs = collections.defaultdict(list), {}
        for what, key, node, gpus, pid, at, job in lines:
            if what == "begin":
                run = [node, [] if gpus == "none" else gpus.split(","), float(at), None, job]
                open_runs[key, node, pid] = run
                found[key].append(run)
            else:
                open_runs[key, node, pid][3] = float(at)
        return found

    def held(self, records):
        """The most GiB on each GPU at one time. The tasks of one job that see a GPU share it."""
        spans = {}
        for key, runs in records.items():
            for node, gpus, begin, end, _ in runs:
                for gpu in gpus:
                    span = (key.rsplit(".", 1)[0], node, gpu)
                    was = spans.get(span, (begin, end))
                    spans[span] = (min(was[0], begin), max(was[1], end))
        events = []
        for (key, node, gpu), (begin, end) in spans.items():
            gib = next(size for record, (size, _) in self.expected.items()
                       if record.rsplit(".", 1)[0] == key)
            events += [(begin, gib, node, gpu), (end, -gib, node, gpu)]
        now, most = collections.Counter(), collections.Counter()
        for _, gib, node, gpu in sorted(events):
            now[node, gpu] += gib
            most[node, gpu] = max(most[node, gpu], now[node, gpu])
        return most

    def judge(self):
        """Returns: a sentence. Raises: Failure."""
        records, wrong = self.records(), []
        for key in records.keys() - self.expected.keys():
            wrong.append(f"{key} ran, and nobody asked for it")
        for key, (_, gpus) in self.expected.items():
            runs = records.get(key, [])
            if len(runs) != 1 or runs[0][3] is None:
                wrong.append(f"{key} ran to its end {sum(run[3] is not None for run in runs)} times")
            wrong += [f"{key} saw the GPUs {run[1]}, not {gpus}" for run in runs if len(run[1]) != gpus]
        if not wrong:
            most = self.held(records)
            wrong += [f"{node}:{gpu} held {gib} GiB" for (node, gpu), gib in most.items() if gib > GIB]
        states = command("squeue", "--noheader", "--array", "--states=all", "--format=%i %T")
        wrong += [line for line in states.splitlines() if line.split()[1] != "COMPLETED"]
        if wrong:
            raise Failure("; ".join(wrong))
        return (f"{sum(self.habits.values())} habits of {len(self.habits)} kinds, {len(records)} runs once "
                f"each and {self.refused} refused in words; at most {max(most.values())} of {GIB} GiB on "
                f"each of {len(most)} GPUs, none bare, none saw another's")

    def wait_for_all(self, seconds=300.0):
        self.wait_for_commands()
        wait_until("all jobs over", lambda: not self.pending(), seconds)


# ---- Habits -------------------------------------------------------------------------------------

# Each is given the bed, a generator, and a name of its own.


def has_memory(gib):
    """A line that ends a script which has other memory, by Slurm or by berth's variable."""
    return f'[ "$SLURM_SHARDS_ON_NODE $BERTH_VRAM_BYTES" = "{gib} {gib << 30}" ] || exit 1'


def batch(bed, draw, key):
    gib = draw.choice(SIZES)
    if draw.random() < 0.3:
        words = [f"--gres=shard:{gib}"]
    elif draw.random() < 0.3:
        words = [f"--comment=mine vram={gib}G", *draw.choice(ONE_GPU)]
    else:
        words = [f"--vram={gib}G", *draw.choice(ONE_GPU)]
    bed.expect(key, gib, 1)
    bed.sbatch(*words, bed.native, key, "0.5", user=draw.choice(USERS))


def array(bed, draw, key):
    gib, count = draw.choice(SIZES), draw.randint(5, 20)
    bed.expect(key, gib, 1, tasks=range(count))
    bed.sbatch(f"--array=0-{count - 1}%5", f"--vram={gib}G", *draw.choice(ONE_GPU), bed.native, key, "0.2")


def no_gpu(bed, draw, key):
    bed.expect(key, 0, 0)
    bed.sbatch(f"--cpus-per-task={draw.randint(1, 4)}", bed.native, key, "0.2")


def whole(bed, draw, key):
    gpus = draw.choice([1, 2, 4])
    bed.expect(key, GIB, gpus)
    bed.sbatch(draw.choice([f"--gres=gpu:{gpus}", f"--gpus-per-node={gpus}"]), bed.native, key, "0.3")


def several_for_a_task(bed, draw, key):
    """Which Slurm cannot share: whole GPUs, and the user is told."""
    done = subprocess.run(["sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--nodes=1",
                           "--gpus=2", f"--vram={draw.choice(SIZES)}G", bed.native, key, "0.3"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 or "the job gets whole GPUs" not in done.stderr:
        raise Failure(f"one task with memory on two GPUs: {done.stderr}")
    bed.jobs.append(done.stdout.strip())
    bed.expect(key, GIB, 2)


def a_gpu_for_each_task(bed, draw, key):
    gib, tasks = draw.choice(SIZES), draw.choice([2, 4])
    bed.expect(key, gib if bed.by_task else GIB, 1, ranks=range(tasks))
    bed.sbatch("--nodes=1", f"--ntasks={tasks}", "--gpus-per-task=1", f"--vram={gib}G",
               bed.batch_of([f"srun {bed.native} {key} 0.3"]))


def two_nodes(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1, ranks=range(2))
    bed.sbatch("--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=1", f"--vram={gib}G",
               bed.batch_of([f"srun {bed.native} {key} 0.3"]))


def two_by_two(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib if bed.by_task else GIB, 1 if bed.by_task else 2, ranks=range(4))
    bed.sbatch("--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2", f"--vram={gib}G",
               bed.batch_of([f"srun {bed.native} {key} 0.3"]))


def steps(bed, draw, key):
    gib, lines = draw.choice(SIZES), []
    for number, words in enumerate(draw.sample(STEPS, 3)):
        bed.expect(f"{key}step{number}", gib, 1)
        lines.append(f"srun {' '.join(words)} {bed.native} {key}step{number} 0.1 || exit 1")
    bed.sbatch(f"--vram={gib}G", *draw.choice(ONE_GPU), bed.batch_of(lines), user=draw.choice(USERS))


def alone_by_srun(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.begin("srun", f"--vram={gib}G", *draw.choice(ONE_GPU), bed.native, key, "0.2")


def interactive(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.begin("salloc", f"--vram={gib}G", *draw.choice(ONE_GPU), "srun", *draw.choice(STEPS), bed.native,
              key, "0.2")


def all_host_memory(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.sbatch("--mem=0", f"--vram={gib}G", bed.native, key, "0.2")


def submitit(bed, draw, key):
    """The script that it writes."""
    gib, count = draw.choice(SIZES), draw.randint(2, 6)
    lines = [f"#SBATCH --array=0-{count - 1}%3", "#SBATCH --cpus-per-task=1", "#SBATCH --gpus-per-node=1",
             f"#SBATCH --job-name={key}", "#SBATCH --mem=256MB", "#SBATCH --nodes=1",
             "#SBATCH --ntasks-per-node=1", "#SBATCH --open-mode=append", "#SBATCH --signal=USR2@90",
             "#SBATCH --time=5", "#SBATCH --wckey=submitit", f"#SBATCH --vram={gib}G",
             "export SUBMITIT_EXECUTOR=slurm",
             f"srun --unbuffered --output /dev/null --error /dev/null {bed.native} {key} 0.2"]
    bed.expect(key, gib, 1, tasks=range(count))
    bed.sbatch(bed.batch_of(lines))


def snakemake(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.sbatch("-J", key, "--export=ALL", "-p", "gpu", "-t", "5", "--mem", "200", "--cpus-per-task=1",
               f"--vram={gib}G", *draw.choice(ONE_GPU), "-D", bed.folder,
               f"--wrap=srun -n1 --cpu-bind=q {bed.native} {key} 0.2")


def in_a_place(bed, draw, key):
    """Features, partitions, nodes that are named or left out."""
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    words = draw.choice([["--constraint=large"], ["--partition=other"], ["--partition=gpu,other"],
                         ["--nodelist=n2"], ["--exclude=n1"]])
    bed.sbatch(*words, f"--vram={gib}G", bed.native, key, "0.2")


def whole_among_shards(bed, draw, key):
    """A whole GPU of nodes that share theirs; on 22.05 as all its shards, and several not at all."""
    place = draw.choice(["--partition=shared", "--nodelist=n1", "--exclude=n3,n4"])
    bed.expect(key, GIB, 1)
    words = [place, draw.choice(["--gpus=1", "--gres=gpu:1"])]
    if draw.random() < 0.5:
        bed.begin("srun", *words, bed.native, key, "0.2")
    else:
        bed.sbatch(*words, bed.batch_of([f"srun {' '.join(draw.choice(STEPS))} {bed.native} {key} 0.2"]))
    if not bed.by_task:
        bed.refuses("none is open to it", "sbatch", place, "--gpus=2", bed.native, "none", "0")
        bed.refuses("no GPU with shards is open to it", "sbatch", "--nodelist=n3", "--vram=10G", bed.native,
                    "none", "0")


def beside(bed, draw, key):
    """A step from outside of the job, as people look into it with; a step that asks for too much."""
    gib, gate = draw.choice(SIZES), f"{bed.folder}/{key}"
    job = bed.sbatch(f"--vram={gib}G", *draw.choice(ONE_GPU), "--wrap",
                     f"until [ -e {gate} ]; do sleep 0.1; done")
    wait_until("the job to run", lambda: command("squeue", "-h", "-o%T", "-j", job).strip() == "RUNNING")
    bed.expect(key, gib, 1)
    command("srun", "--jobid=" + job, "--overlap", *draw.choice(STEPS), bed.native, key, "0.1")
    bed.refuses("asks 2 GPUs, the job has memory on 1", "srun", "--jobid=" + job, "--gpus=2", "true")
    bed.refuses("say --ntasks", "srun", "--jobid=" + job, "--ntasks-per-gpu=1", "true")
    bed.write(gate, "")


def behind_a_command(bed, draw, key):
    """A line that Slurm does not read: the job has no GPU, and its user is told."""
    path = bed.batch_of(["true", f"#SBATCH --vram={draw.choice(SIZES)}G", f"{bed.native} {key} 0.1"])
    done = subprocess.run(["sbatch", "--parsable", "--output=/dev/null", "--chdir=/", path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 or "is behind the script's first command" not in done.stderr:
        raise Failure(f"#SBATCH behind a command: {done.stderr}")
    bed.jobs.append(done.stdout.strip())
    bed.expect(key, 0, 0)


def alone_on_a_node(bed, draw, key):
    """Slurm gives it all GPUs of the node."""
    bed.expect(key, GIB, 4)
    bed.sbatch("--exclusive", f"--vram={draw.choice(SIZES)}G", bed.native, key, "0.2")


def after_another(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    others = [f"--dependency={draw.choice(['afterok', 'afterany', 'after'])}:{bed.jobs[-1]}"] if bed.jobs else []
    bed.sbatch(*others, f"--vram={gib}G", bed.native, key, "0.2")


def changed(bed, draw, key):
    """A job that waits, changed before it is let go."""
    gib, other = draw.choice(SIZES), draw.choice(SIZES)
    job = bed.sbatch("--hold", f"--vram={gib}G", *draw.choice(ONE_GPU),
                     bed.batch_of([has_memory(other), f"srun {bed.native} {key} 0.2"]))
    command("scontrol", "update", "jobid=" + job, f"gres=shard:{other}")
    for field in draw.sample(["timelimit=5", "nice=7", "comment=vram=1G", "jobname=changed", "qos=",
                              "starttime=now", "partition=other", "features=large"], 3):
        attempt("scontrol", "update", "jobid=" + job, field)
    bed.refuses("Invalid generic resource", "scontrol", "update", "jobid=" + job, f"gres=shard:{GIB + 1}")
    bed.refuses("Invalid generic resource", "scontrol", "update", "jobid=" + job, "gres=gpu:2")
    command("scontrol", "release", job)
    bed.expect(key, other, 1)


def from_within(bed, draw, key):
    """Jobs that a job submits: one that asks for other memory, for whole GPUs, and for none."""
    gib, other = draw.choice(SIZES), draw.choice(SIZES)
    asked = [("a", other, 1, f"--vram={other}G"), ("b", GIB, 1, "--gpus=1"), ("c", 0, 0, "")]
    lines = []
    for name, size, gpus, words in asked:
        bed.expect(key + name, size, gpus)
        lines.append(f"sbatch --output=/dev/null {words} --wrap='srun {bed.native} {key}{name} 0.1' || exit 1")
    bed.expect(key, gib, 1)
    bed.sbatch(f"--vram={gib}G", *draw.choice(ONE_GPU), bed.batch_of([f"{bed.native} {key} 0.1", *lines]))


def per_gpu(bed, draw, key):
    gib = draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.sbatch(f"--vram={gib}G", "--gpus=1", "--cpus-per-gpu=2", "--mem-per-gpu=100",
               bed.batch_of([f"srun {bed.native} {key} 0.2"]))


def too_much(bed, draw, key):
    """What cannot be, in one sentence that reaches the user."""
    del key
    words = draw.choice(["--vram=100G", "--vram=81G", "--vram=1T", "--gres=shard:81", "--comment=vram=90G"])
    tool = draw.choice([["sbatch"], ["srun"], ["salloc"]])
    bed.refuses("a GPU has 80 GiB at most", *tool, words, bed.native, "none", "0")
    bed.refuses("say 10G or 10M", *tool, "--vram=10", bed.native, "none", "0")


SAYINGS = ["--vram=%d480M", "--vram=%dGB", "--vram=%dgib", "--comment=(VRAM:%dGB).", "--comment=--vram=%dG.",
           '--comment=vram="%dG"', "--comment=vram>=%dG/gpu", "--comment=VRAM=%dG", "--comment=mine, vram=%dG; his",
           "--comment=vram: %dG", "--comment=vram = %dG class=CS101", "--gres=none --vram=%dG",
           "--vram=1G --comment=vram=70G --vram=%dG"]


def as_people_say(bed, draw, key):
    """20 GiB in words that people find; a job says it with a GPU and 20 shards."""
    saying = draw.choice(SAYINGS)
    gib = 20 if "480M" in saying else draw.choice(SIZES)
    bed.expect(key, gib, 1)
    bed.sbatch(*re.split(r" (?=--)", saying % gib), bed.batch_of(
        [has_memory(gib), f"srun {bed.native} {key} 0.2"]))


def no_gpu_in_words(bed, draw, key):
    """As sites tell people to ask for none; other words in a comment are theirs."""
    words = draw.choice(["--gpus=0", "--gres=gpu:0", "--gres=none", "--gres=shard:0", "--comment=gpus=all class=CS101",
                         "--comment=the vram: of others"])
    bed.expect(key, 0, 0)
    bed.sbatch(words, bed.native, key, "0.2")


def none_for_a_step(bed, draw, key):
    """A step that is to have no GPU of the job's, one that has it, and one that asks for too many."""
    gib = draw.choice(SIZES)
    bed.expect(key + "without", 0, 0)
    bed.expect(key + "with", gib, 1)
    none = draw.choice(["--gpus=0", "--gres=gpu:0", "--gres=none"])
    many = draw.choice(["--gpus=2", "--gres=gpu:2"])
    bed.sbatch(f"--vram={gib}G", bed.batch_of([
        f"srun {none} {bed.native} {key}without 0.1 || exit 1", f"srun {bed.native} {key}with 0.1 || exit 1",
        f"srun {many} true 2>&1 | grep -q 'asks 2 GPUs, the job has memory on 1'"]))


def components(bed, draw, key):
    """Of a job: Slurm hands the word of one on to the next, so that only other sizes can be told."""
    some, other = draw.sample(SIZES, 2)
    bed.expect(key + "a", some, 1)
    bed.expect(key + "b", other, 1, ranks=(1,))
    words = draw.choice(["--vram=%dG", "--gres=shard:%d"])
    bed.begin("srun", words % some, bed.native, key + "a", "0.2", ":",
              words % other, bed.native, key + "b", "0.2")
    bed.refuses("to the job's next component, too", *draw.choice([["sbatch"], ["salloc"]]), "--hold",
                f"--vram={some}G", ":", draw.choice(["-n1", f"--vram={some}G"]), bed.native)
    bed.refuses("to the job's next component, too", "sbatch", "--hold", bed.batch_of(
        [f"#SBATCH --vram={some}G", "#SBATCH hetjob", f"#SBATCH --vram={other}G", "true"]))


def cannot_be(bed, draw, key):
    """With GPU memory, each in a sentence of its own."""
    del key
    tool = draw.choice([["sbatch"], ["srun"], ["salloc"]])
    for words, why in [
            (["--gpus=0"], "is GPU memory of no GPU"), (["--gres=gpu:0"], "is GPU memory of no GPU"),
            (["--gpus=1", "--ntasks-per-gpu=2"], "say --ntasks"), (["--gpus=1", "--gpu-freq=low"], "keeps its clock"),
            (["--gpus=a100:1"], "shards have no such type"), (["--partition=nowhere"], "nvalid partition")]:
        bed.refuses(why, *tool, "--vram=10G", *words, bed.native, "none", "0")
    bed.refuses("is not a size such as 10G", *tool, "--vram=0", bed.native, "none", "0")
    bed.refuses("ask once for shards", *tool, "--gres=shard:20,shard:30", bed.native, "none", "0")
    bed.refuses("a size has a unit", *tool, "--comment=vram=20", bed.native, "none", "0")
    bed.refuses("a GPU has 80 GiB at most", *tool, "--gres=shard:2K", bed.native, "none", "0")


HABITS = [batch, array, no_gpu, whole, several_for_a_task, a_gpu_for_each_task, two_nodes, two_by_two,
          steps, alone_by_srun, interactive, all_host_memory, submitit, snakemake, in_a_place,
          alone_on_a_node, after_another, changed, from_within, per_gpu, too_much, as_people_say, no_gpu_in_words,
          none_for_a_step, components, cannot_be, whole_among_shards, beside, behind_a_command]


def script_away(bed):
    """Where nothing reads the word, a job has no GPU: it is told so, and sees none of others."""
    path, said = bed.cluster + "/slurm.conf", bed.folder + "/away"
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^(JobSubmit|CliFilter)Plugins=", r"#\g<0>", file.read())
    bed.stop_slurmctld(signal.SIGTERM)
    bed.write(path, text)
    bed.start_slurmctld()
    wait_until("an answer of slurmctld", lambda: attempt("scontrol", "ping")[0])
    command("sbatch", "--wait", "--output=" + said, "--chdir=/", "--vram=20G",
            bed.batch_of(['echo "sees ${CUDA_VISIBLE_DEVICES:-all}, ${BERTH_VRAM_BYTES:-none}"']))
    with open(said, encoding="utf-8") as file:
        text = file.read()
    if "sees NoDevFiles, none" not in text or "Slurm gave the job no GPU" not in text:
        raise Failure(f"a job with --vram where no script of berth's is: {text}")


def native(seed, count):
    """Each habit once, and more that are drawn, up to so many."""
    draw = random.Random(seed)
    chosen = HABITS + draw.choices(HABITS, k=max(0, count - len(HABITS)))
    draw.shuffle(chosen)
    with NativeBed() as bed:
        for node in range(1, 5):
            command("scontrol", "update", f"nodename=n{node}", "features=large")
        began = time.monotonic()
        for number, habit in enumerate(chosen[:max(count, 1)]):
            bed.habits[habit.__name__] += 1
            habit(bed, draw, f"{habit.__name__}{number}")
        bed.wait_for_all()
        found = bed.judge()
        script_away(bed)
        release_text = ".".join(f"{part:02}" for part in release())
        print(f"slurm-check: Slurm {release_text}, seed {seed}: {found} "
              f"({time.monotonic() - began:.0f} s)", flush=True)


# ---- Speed -------------------------------------------------------------------------------------


def with_words(bed, are_there):
    """A slurmctld with berth's words, or none."""
    path = bed.cluster + "/slurm.conf"
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#*((JobSubmit|CliFilter)Plugins=|PlugStackConfig=)",
                      r"\1" if are_there else r"#\1", file.read())
    bed.stop_slurmctld(signal.SIGTERM)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    bed.start_slurmctld()
    probe = bed.sbatch("--wrap=true")  # until it has begun
    wait_until("a start", lambda: probe not in bed.pending())


def speed(runs, count):
    """So many submissions one after the other, and until all have ended, by Slurm's words and by
    berth's, in turns."""
    found = collections.defaultdict(list)
    with NativeBed() as bed:
        for _ in range(runs):
            for name, words in (("Slurm", "--gres=shard:40"), ("berth", "--vram=40G")):
                with_words(bed, name == "berth")
                began = time.monotonic()
                for _ in range(count):
                    bed.sbatch(words, "--wrap=true")
                submitted = time.monotonic() - began
                wait_until("all jobs over", lambda: not bed.pending())
                found[name].append((count / submitted, count / (time.monotonic() - began)))
                print(f"{name}: {found[name][-1][0]:.1f} submissions and {found[name][-1][1]:.1f} jobs "
                      "in a second", flush=True)
    for part, what in enumerate(("submissions", "jobs")):
        middle = {name: sorted(run[part] for run in own)[len(own) // 2] for name, own in found.items()}
        print(f"slurm-check: {what} in a second: Slurm {middle['Slurm']:.1f}, berth's words "
              f"{middle['berth']:.1f}, {middle['berth'] / middle['Slurm']:.2f} times as many")


# ---- Coming and going --------------------------------------------------------------------------

SITE = """ClusterName=site
JobSubmitPlugins=require_timelimit   # ours
GresTypes=gpu,shard
AccountingStorageTRES=gres/gpu,gres/shard
NodeName=n1 CPUs=4 Gres=gpu:4
NodeName=n2 CPUs=4 Gres=gpu:4,shard:320
"""


def coming_and_going():
    """examples/slurm/install says what it would change, changes that, and gives it back."""
    def files():
        return {name: open(f"{folder}/{name}", encoding="utf-8").read() for name in os.listdir(folder)}

    def install(*words):
        return command(TOP + "/examples/slurm/install", *words, folder)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/slurm.conf", "w", encoding="utf-8") as file:
            file.write(SITE)
        before = files()
        would, after_dry = install("--dry-run"), files()
        install()
        there = files()
        again, left = install(), install("--uninstall") and files()
        if after_dry != before or "+JobSubmitPlugins=require_timelimit,lua   # ours" not in would:
            raise Failure(f"install --dry-run: {would}; then {after_dry}")
        if set(there) != {"slurm.conf", "plugstack.conf", "job_submit.lua", "cli_filter.lua"}:
            raise Failure(f"install left {list(there)}")
        if "nothing to change" not in again or left != before:
            raise Failure(f"install once more: {again}; after --uninstall {left}")
        with open(folder + "/job_submit.lua", "w", encoding="utf-8") as file:
            file.write("return slurm.SUCCESS\n")
        went, said = attempt(TOP + "/examples/slurm/install", folder)
        if went or "is a script of your own" not in said:
            raise Failure(f"install over a site's own script: {said}")
        print("slurm-check: berth's words came to a cluster's files and went again")
