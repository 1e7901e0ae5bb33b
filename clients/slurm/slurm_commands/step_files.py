"""The input and output of a step's tasks: files by Slurm's patterns, labels of lines."""
import os
import re
import signal
import subprocess
import sys
import threading

from . import jobs
from .options import Usage

WIDEST = 10  # of a number that a pattern pads with zeros


def path_of(pattern, job, step, task):
    numbers = {"j": job, "s": step, "t": task, "n": 0,
               "A": os.environ.get("SLURM_ARRAY_JOB_ID", job),
               "a": os.environ.get("SLURM_ARRAY_TASK_ID", "4294967294")}
    names = {"J": "%s.%s" % (job, step), "N": jobs.HOST, "u": jobs.me(), "%": "%",
             "x": os.environ.get("SLURM_JOB_NAME", "srun")}

    def filled(found):
        width, letter = found[1], found[2]
        if letter in numbers:
            return str(numbers[letter]).zfill(min(int(width or 0), WIDEST))
        return names.get(letter, found[0])
    return re.sub(r"%(\d*)([A-Za-z%])", filled, pattern)


class Files:
    """Each file is opened once, so that tasks which share it do not write over each other."""

    def __init__(self, options, job, step, tasks):
        self.options, self.job, self.step = options, job, step
        self.opened, self.copiers = {}, []
        self.goes_to_all = (tasks > 1 and options.get("input") in (None, "all")
                            and "pty" not in options)

    def open(self, option, pattern, task, mode):
        """None for what srun itself has. A number is the one task that has it."""
        if pattern in (None, "all"):
            return None
        if pattern.isdigit() and int(pattern) == task:
            return None
        path = path_of(pattern, self.job, self.step, task)
        path = os.devnull if pattern == "none" or pattern.isdigit() else path
        if path not in self.opened or mode == "rb":
            try:
                self.opened[path] = open(path, mode)
            except OSError as error:
                raise Usage("srun: error: Could not open %s file: %s: %s"
                            % (option, path, error.strerror)) from None
        return self.opened[path]

    def of_task(self, task):
        """(stdin, stdout, stderr) for Popen"""
        is_more = self.options.get("open-mode", "").startswith("a") or (
            "open-mode" not in self.options and "SLURM_RESTART_COUNT" in os.environ)
        mode = "ab" if is_more else "wb"
        out = self.open("stdout", self.options.get("output"), task, mode)
        err = self.open("stderr", self.options["error"], task, mode) \
            if "error" in self.options else out
        self.targets = out or sys.stdout.buffer, err or sys.stderr.buffer
        pipe = subprocess.PIPE if "label" in self.options else None
        source = subprocess.PIPE if self.goes_to_all else self.open(
            "stdin", self.options.get("input"), task, "rb")
        return source, pipe or out, pipe or err

    def feed(self, processes):
        """Each task reads all that srun has on its standard input."""
        if self.goes_to_all:
            threading.Thread(target=spread, daemon=True,
                             args=([process.stdin for process in processes],)).start()

    def copy(self, task, width, process):
        """Labels what the task of the last of_task() writes."""
        if "label" not in self.options:
            return
        for stream, target in zip((process.stdout, process.stderr), self.targets):
            self.copiers.append(threading.Thread(target=label, daemon=True,
                                                 args=(task, width, stream, target)))
            self.copiers[-1].start()

    def finish(self):
        for copier in self.copiers:
            copier.join()


def spread(pipes):
    # Else the end of one task, that did not read all, would be srun's.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    while pipes:
        try:
            piece = os.read(0, 65536)
        except OSError:
            piece = b""
        for pipe in list(pipes):
            try:
                pipe.write(piece)
                pipe.flush()
                if not piece:
                    pipe.close()
            except OSError:
                pipes.remove(pipe)
        if not piece:
            return


def label(task, width, stream, target):
    for line in stream:
        end = b"" if line.endswith(b"\n") else b"\n"
        target.write(b"%*d: %s%s" % (width, task, line, end))
        target.flush()
