"""What the stand-ins share: a command as a client calls it, waiting for what comes, a verdict.

A stand-in does, call by call and file by file, what a program does that knows Slurm; where that
program is not to be had, it is run in its place (test/clients/run).
"""
import subprocess
import sys
import time


def call(command, **how):
    """(exit code, standard output, standard error) of words, or of a line for the shell."""
    ran = subprocess.run(command, shell=isinstance(command, str), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True, check=False, **how)
    return ran.returncode, ran.stdout, ran.stderr


def output(command, **how):
    code, out, err = call(command, **how)
    expect("%s ends well: %s" % (command, err), code, 0)
    return out


def until(what, probe):
    """The first value of probe() that is true."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.1)
    sys.exit("%s: never in 60 s" % what)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit("%s: %r, not %r" % (what, got, wanted))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
