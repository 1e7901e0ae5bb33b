"""srun: in a job a step of it, its tasks as processes; else a job of its own, by `berth run`."""
import os
import signal
import subprocess
import sys
import threading

from . import jobs, request, steps
from .options import Usage


FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2, signal.SIGALRM, signal.SIGCONT)


def run(arguments):
    options, words = request.table("srun").read(arguments, stop_at_command=True)
    if not words:
        raise Usage("srun: fatal: No command given to execute.")
    inside = os.environ.get("SLURM_JOB_ID", "")
    if options.get("jobid", inside) != inside:
        raise Usage("srun: error: --jobid=%s: a step begins in its own job alone, by its script"
                    % options["jobid"])
    if inside:
        return step(options, words)
    return as_job(options, arguments)


def as_job(options, arguments):
    """The same command line again, as a step of a job."""
    name = options.get("job-name", "srun")
    body = request.body("srun", options, name)
    command = ["berth", "run", "--name", name, "--gpus", str(body["gpus"])]
    for key, option in (("vram_bytes", "--vram"), ("class", "--class")):
        if key in body:
            command += [option, str(body[key])]
    if "time_limit_seconds" in body:
        command += ["--time", "%ds" % body["time_limit_seconds"]]
    environment = dict(pair.split("=", 1) for pair in body["environment"])
    inner = jobs.ATTENDED + 'exec "$@"'
    command += ["--", "/bin/sh", "-c", inner, "srun", sys.argv[0], *arguments]
    os.execvpe("berth", command, environment)


def step(options, words):
    count = request.tasks("srun", options)
    if "ntasks" not in options and "ntasks-per-node" not in options:
        count = int(os.environ.get("SLURM_NTASKS", "1"))
    name = os.environ.get("SLURM_JOB_NAME", "srun")
    noted = steps.begin(options.get("job-name", os.path.basename(words[0])))
    number = str(noted)
    processes, copiers = [], []
    forward(processes)
    for task in range(count):
        told = {**os.environ, "SLURM_PROCID": str(task), "SLURM_LOCALID": str(task),
                "SLURM_NTASKS": str(count), "SLURM_NPROCS": str(count), "SLURM_STEP_ID": number,
                "SLURM_STEPID": number, "SLURM_STEP_NUM_TASKS": str(count),
                "SLURM_GTIDS": ",".join(str(one) for one in range(count)),
                "SLURM_STEP_NODELIST": jobs.HOST, "SLURM_STEP_NUM_NODES": "1",
                "SLURM_STEP_TASKS_PER_NODE": str(count), "SLURM_DISTRIBUTION": "block",
                "SLURM_SRUN_COMM_HOST": "127.0.0.1"}
        out = opened(options.get("output"), name, task, options)
        err = opened(options.get("error"), name, task, options) if "error" in options else out
        pipe = subprocess.PIPE if "label" in options and out is None else None
        try:
            process = subprocess.Popen(words, env=told, stdout=out or pipe, preexec_fn=apart,
                                       stderr=err if err is not None else None)
        except OSError as error:
            print("slurmstepd-%s: error: execve(): %s: %s" % (jobs.HOST, words[0], error.strerror),
                  file=sys.stderr)
            say_exit(task, 2)
            steps.end(noted, 2)
            return 2
        processes.append(process)
        if pipe:
            copiers.append(threading.Thread(target=label, args=(task, process.stdout)))
            copiers[-1].start()
    worst = 0
    for task, process in enumerate(processes):
        code = process.wait()
        code = 128 - code if code < 0 else code
        if code:
            say_exit(task, code)
        worst = max(worst, code)
    for copier in copiers:
        copier.join()
    steps.end(noted, worst)
    return worst


def apart():
    """A signal to the job's process group comes to a task by srun alone, so that it comes once. A
    task of a terminal stays in the group that may read it. What the script ignores it may get."""
    if not os.isatty(0):
        os.setpgid(0, 0)
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)


def opened(text, name, task, options):
    if text is None or text == "none":
        return None
    known = {"j": os.environ["SLURM_JOB_ID"], "J": os.environ["SLURM_JOB_ID"], "t": str(task),
             "n": "0", "N": jobs.HOST, "x": name, "u": jobs.me(), "s": "0",
             "A": os.environ.get("SLURM_ARRAY_JOB_ID", os.environ["SLURM_JOB_ID"]),
             "a": os.environ.get("SLURM_ARRAY_TASK_ID", "4294967294")}
    path = text
    for letter, value in known.items():
        path = path.replace("%" + letter, value)
    is_more = options.get("open-mode") == "append" or "SLURM_RESTART_COUNT" in os.environ
    return open(path, "ab" if is_more else "wb")


def forward(processes):
    def pass_on(number, _):
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)
    for number in FORWARDED:
        is_for_script = os.environ.get(request.WARNS) == "B:" + number.name[3:]
        signal.signal(number, signal.SIG_IGN if is_for_script else pass_on)


def label(task, stream):
    for line in stream:
        sys.stdout.buffer.write(b"%d: %s" % (task, line))
        sys.stdout.buffer.flush()


def say_exit(task, code):
    if 128 < code <= 128 + signal.SIGRTMAX:
        words = signal.strsignal(code - 128) or "signal %d" % (code - 128)
        print("srun: error: %s: task %d: %s" % (jobs.HOST, task, words), file=sys.stderr)
    else:
        print("srun: error: %s: task %d: Exited with exit code %d" % (jobs.HOST, task, code),
              file=sys.stderr)
