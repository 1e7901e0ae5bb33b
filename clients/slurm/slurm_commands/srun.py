"""srun: in a job a step of it, its tasks as processes; else a job of its own, by `berth run`."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from . import jobs, request, steps
from .options import Usage, seconds


FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2, signal.SIGALRM, signal.SIGCONT)
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
KILL_WAIT = 30  # seconds from SIGTERM to SIGKILL, as Slurm's
IS_WHOLE = "BERTH_SLURM_STEP_IS_JOB"  # set for the one step of a job that srun made of itself

# By Slurm's name of an option: what to do without it.
UNSUPPORTED = {
    "multi-prog": "run a script that looks at $SLURM_PROCID",
    "gpus-per-socket": "use --gpus or --gpus-per-task",
}


def run(arguments):
    options, words = request.table("srun").read(arguments, stop_at_command=True)
    if not words:
        raise Usage("srun: fatal: No command given to execute.")
    if ":" in words:  # also behind a command, as Slurm takes it
        request.refuse_components("srun", "':'")
    for name, instead in UNSUPPORTED.items():
        if name in options:
            raise Usage("srun: error: --%s is not supported; %s" % (name, instead))
    inside = os.environ.get("SLURM_JOB_ID", "")
    job = options.get("jobid", inside)
    if not job:
        return as_job(options, arguments)
    if job == inside == os.environ.get("BERTH_JOB_ID"):
        return step(options, words)
    from . import step_of_job
    step_of_job.enter(job)
    return step(options, words, ends_with=step_of_job.wait_for_end)


def as_job(options, arguments):
    """The same command line again, as a step of a job."""
    from . import attended
    if "immediate" in options:
        raise Usage("srun: error: --immediate is not supported for a job of its own; sinfo says "
                    "what is free")
    if "ntasks-per-gpu" in options and "gpus" not in options:
        from . import step_gpus
        options = {**options, "gpus": str(step_gpus.asked(options, tasks_of(options)))}
    body = request.body("srun", options, options.get("job-name", "srun"))
    attended.run_as_job("srun", body, ["export %s=1; exec \"$@\"" % IS_WHOLE, sys.argv[0],
                                       *arguments])


def step(options, words, ends_with=None):
    """Its exit code. The tasks are killed once ends_with(job) returns."""
    is_whole = os.environ.pop(IS_WHOLE, "") == "1"
    job = os.environ["SLURM_JOB_ID"]
    count = tasks_of(options)
    limit = None if is_whole or "time" not in options else request.checked(
        "srun", options, "time", seconds)
    directory = directory_of(options)
    processes = []
    forward(processes)
    wait = Wait(options, job)
    gpus, of_tasks = places(options, count, job, None if is_whole else wait)
    noted = steps.begin(options.get("job-name", os.path.basename(words[0])))
    wait.over("%s.%d" % (job, noted))
    told = told_to_step(options, count, noted, gpus)

    from .step_files import Files
    files = Files(options, job, noted, count)
    end = End(options, processes, "%s.%d" % (job, noted))
    for task in range(count):
        own = {"SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)}
        if of_tasks is not None:
            own.update(dict.fromkeys(("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
                                     ",".join(of_tasks[task])))
        try:
            stdin, out, err = files.of_task(task)
            process = subprocess.Popen(words, env={**told, **own}, stdin=stdin, stdout=out,
                                       stderr=err, cwd=directory, preexec_fn=apart)
        except Usage:
            end.now()
            steps.end(noted, 1)
            raise
        except OSError as error:
            print("slurmstepd-%s: error: execve(): %s: %s" % (jobs.HOST, words[0], error.strerror),
                  file=sys.stderr)
            say_exit(task, error.errno)
            end.now()
            steps.end(noted, error.errno)
            return error.errno
        processes.append(process)
        files.copy(task, len(str(count - 1)), process)
    files.feed(processes)
    if limit is not None:
        end.at_limit(limit)
    if ends_with:
        end.later(0, lambda: (ends_with(job), end.killed(" AS ITS JOB ENDED")))
    worst = end.wait()
    files.finish()
    steps.end(noted, worst)
    return worst


def tasks_of(options):
    from . import step_gpus
    implied = step_gpus.tasks_by_gpus(options)
    if implied is not None:
        return max(1, implied)
    if "ntasks" in options or "ntasks-per-node" in options:
        return request.tasks("srun", options)
    return int(os.environ.get("SLURM_NTASKS", "1"))


def directory_of(options):
    """As Slurm: a step whose directory is not there runs in /tmp."""
    if "chdir" not in options:
        return None
    if os.access(options["chdir"], os.X_OK) and os.path.isdir(options["chdir"]):
        return options["chdir"]
    print("slurmstepd-%s: error: couldn't chdir to `%s': %s: going to /tmp instead"
          % (jobs.HOST, options["chdir"], "Permission denied" if os.path.isdir(options["chdir"])
             else "No such file or directory"), file=sys.stderr)
    return "/tmp"


class Wait:
    """For GPUs or cores that other steps of the job hold."""

    def __init__(self, options, job):
        self.options, self.job, self.is_said = options, job, False

    def __call__(self):
        if "immediate" in self.options:
            raise Usage("srun: error: Unable to create step for job %s: Requested nodes are busy"
                        % self.job)
        self.say("srun: Job %s step creation temporarily disabled, retrying (Requested nodes are "
                 "busy)" % self.job)
        self.is_said = True

    def over(self, step):
        if self.is_said:
            self.say("srun: Step created for StepId=%s" % step)

    def say(self, text):
        if "quiet" not in self.options:
            print(text, file=sys.stderr, flush=True)


def places(options, count, job, wait):
    """Waits until there is a place: the GPUs of the step, and of each task, or None for what the
    job has. A step that asks for GPUs waits for those, any other for cores."""
    from . import leases, step_gpus
    may_wait = wait if wait and not is_set(options, "overlap", "SLURM_OVERLAP") else None
    gpus, of_tasks, asks = step_gpus.of_step(options, count, job, may_wait)
    if may_wait and not asks:
        cores = cores_of_job()
        leases.take("cores", [str(core) for core in range(cores)],
                    min(cores, needed_cores(options, count)), may_wait)
    hold_memory(options, count, job, may_wait)
    is_told = gpus or os.environ.get("CUDA_VISIBLE_DEVICES")
    return (gpus, of_tasks) if is_told else (None, None)


def hold_memory(options, count, job, wait):
    """Waits until the steps beside it leave what --mem or --mem-per-cpu asks for."""
    from . import leases
    if not any(name in options for name in request.SIZES):
        return
    asked, whole = memory_of(options, count), memory_of_job()
    if not whole:
        request.warn("srun", "--mem has no effect on a step: its job asks for no memory")
    elif asked > whole:
        raise Usage("srun: error: the step asks for %d MiB of memory, the job has %d\n"
                    "srun: error: Unable to create step for job %s: Memory required by task is not "
                    "available" % (asked, whole, job))
    elif wait:
        leases.take_amount("memory", whole, asked, wait)


def memory_of(options, count):
    """MiB; 0 of `--mem=0`, which waits for nothing."""
    name = next(name for name in ("mem-per-cpu", "mem-per-gpu", "mem") if name in options)
    each = request.checked("srun", options, name, request.mebibytes)
    if name == "mem-per-cpu":
        return each * needed_cores(options, count)
    return each * (request.gpus("srun", {**options, "ntasks": str(count)})[0]
                   if name == "mem-per-gpu" else 1)


def memory_of_job():
    if "SLURM_MEM_PER_NODE" in os.environ:
        return int(os.environ["SLURM_MEM_PER_NODE"])
    if "SLURM_MEM_PER_CPU" in os.environ:
        return int(os.environ["SLURM_MEM_PER_CPU"]) * cores_of_job()
    return int(os.environ.get("SLURM_MEM_PER_GPU", "0")) * variable("SLURM_GPUS_ON_NODE")


def is_set(options, option, variable):
    return option in options or variable in os.environ


def variable(name):
    text = os.environ.get(name, "")
    return max(1, int(text)) if text.isdigit() else 1


def cores_of_job():
    return max(variable("SLURM_CPUS_ON_NODE"),
               variable("SLURM_NTASKS") * variable("SLURM_CPUS_PER_TASK"))


def needed_cores(options, count):
    per_task = max(variable("SRUN_CPUS_PER_TASK"), variable("SLURM_CPUS_PER_TASK"))
    per_task = request.number("srun", options, "cpus-per-task", per_task)
    return 1 if "overcommit" in options else count * max(1, per_task)


def told_to_step(options, count, noted, gpus):
    told = {**exported(options), "SLURM_NTASKS": str(count), "SLURM_NPROCS": str(count),
            "SLURM_STEP_ID": str(noted), "SLURM_STEPID": str(noted),
            "SLURM_STEP_NUM_TASKS": str(count),
            "SLURM_GTIDS": ",".join(str(one) for one in range(count)),
            "SLURM_STEP_NODELIST": jobs.HOST, "SLURM_STEP_NUM_NODES": "1",
            "SLURM_STEP_TASKS_PER_NODE": str(count), "SLURM_TASKS_PER_NODE": str(count),
            "SLURM_DISTRIBUTION": "block", "SLURM_SRUN_COMM_HOST": "127.0.0.1"}
    if "cpus-per-task" in options:
        told["SLURM_CPUS_PER_TASK"] = str(request.number("srun", options, "cpus-per-task", 1))
    if options.get("mem", "0") != "0":  # what a step of this one may have
        told["SLURM_MEM_PER_NODE"] = str(memory_of(options, count))
    if gpus is not None:
        told["SLURM_STEP_GPUS"] = ",".join(gpus)
        told["SLURM_GPUS_ON_NODE"] = str(len(gpus))
    return told


def exported(options):
    """The environment by --export; what berth and Slurm tell a job it has in any case."""
    words = options.get("export", os.environ.get("SLURM_EXPORT_ENV", "ALL")).split(",")
    told = {mark.partition(":")[0] for mark in os.environ.get("BERTH_SET", "").split(",")}
    usual = {"PATH", "HOME", "USER", "SHELL", "LANG"} | told
    if "BERTH_EMU_STATE" in told:
        usual.add("LD_LIBRARY_PATH")  # emulated GPUs are a library
    kept = {name: value for name, value in os.environ.items()
            if "ALL" in words or name in usual or name in words
            or name.startswith(("SLURM_", "BERTH_"))}
    kept.update(word.split("=", 1) for word in words if "=" in word)
    return kept


def apart():
    """A signal to the job's process group comes to a task by srun alone, so that it comes once. A
    task of a terminal stays in the group that may read it. What the script ignores it may get."""
    if not has_terminal():
        os.setpgid(0, 0)
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)


def has_terminal():
    return os.isatty(0)


def forward(processes):
    def pass_on(number, _):
        if not processes and number in ENDING:  # while it waits
            print("srun: Cancelled pending job step with signal %d" % number, file=sys.stderr)
            raise SystemExit(1)
        send(processes, number)
    for number in FORWARDED:
        is_for_script = os.environ.get(request.WARNS) == "B:" + number.name[3:]
        signal.signal(number, signal.SIG_IGN if is_for_script else pass_on)


def send(processes, number, to_group=False):
    """Popen's own would reap a task that End waits for."""
    for process in processes:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-process.pid if to_group else process.pid, number)


class End:
    """Waits for the tasks and ends those that are left when they have to."""

    def __init__(self, options, processes, step):
        self.processes, self.step = processes, step
        self.lasting = request.number("srun", options, "wait", 0)
        text = options.get("kill-on-bad-exit", os.environ.get("SLURM_KILL_BAD_EXIT", "0"))
        self.is_all_or_none = text != "0"
        self.is_ending = False

    def wait(self):
        """The largest exit code."""
        worst, left = 0, {process.pid: task for task, process in enumerate(self.processes)}
        while left:
            pid = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
            if pid not in left:  # a child of the shell that became srun
                os.waitpid(pid, 0)
                continue
            task = left.pop(pid)
            code = self.processes[task].wait()
            code = 128 - code if code < 0 else code
            if code:
                say_exit(task, code)
            worst = max(worst, code)
            if left and code and self.is_all_or_none:
                self.terminate()
            elif left and self.lasting:
                self.later(self.lasting, self.terminate)
                self.lasting = 0
        return worst

    def at_limit(self, limit):
        self.later(limit, lambda: self.terminate(" DUE TO TIME LIMIT"))

    def later(self, delay, what):
        timer = threading.Timer(delay, what)
        timer.daemon = True
        timer.start()

    def terminate(self, why=""):
        if self.is_ending:
            return
        self.is_ending = True
        if not why:
            print("srun: Terminating StepId=%s" % self.step, file=sys.stderr)
        self.say_cancelled(why)
        for number in (signal.SIGCONT, signal.SIGTERM):
            send(self.processes, number, to_group=not has_terminal())
        self.later(KILL_WAIT, self.now)

    def killed(self, why):
        self.say_cancelled(why)
        self.now()

    def say_cancelled(self, why):
        print("slurmstepd-%s: error: *** STEP %s ON %s CANCELLED AT %s%s ***"
              % (jobs.HOST, self.step, jobs.HOST, time.strftime("%Y-%m-%dT%H:%M:%S"), why),
              file=sys.stderr, flush=True)

    def now(self):
        send(self.processes, signal.SIGKILL, to_group=not has_terminal())


def name_of_signal(number):
    known = getattr(signal, "strsignal", lambda number: None)(number)  # since Python 3.8
    return known or "signal %d" % number


def say_exit(task, code):
    if 128 < code <= 128 + signal.SIGRTMAX:
        words = name_of_signal(code - 128)
        print("srun: error: %s: task %d: %s" % (jobs.HOST, task, words), file=sys.stderr)
    else:
        print("srun: error: %s: task %d: Exited with exit code %d" % (jobs.HOST, task, code),
              file=sys.stderr)
