"""Finds the command by the name it was called by; errors are worded as Slurm words them."""
import importlib
import os
import signal
import sys

import berth

from .options import Usage

VERSION = "slurm-wlm 22.05.8"  # whose formats these are

# What a command says first where nothing answers, as programs read it: some take it for a reason to
# ask again, and any other error for the end of their job. By `scontrol show`, what is shown.
AWAY = "Unable to contact slurm controller (connect failure)"
AWAY_OF = {
    "squeue": "slurm_load_jobs error: " + AWAY, "scancel": "slurm_load_jobs error: " + AWAY,
    "sinfo": "slurm_load_partitions: " + AWAY,
    "sacct": "sacct: error: Problem talking to the database: Connection refused",
    "job": "slurm_load_jobs error: " + AWAY, "jobid": "slurm_load_jobs error: " + AWAY,
    "node": "slurm_load_node error: " + AWAY,
    "reservation": "slurm_load_reservations error: " + AWAY,
    "partition": "slurm_load_partitions error: " + AWAY,
}


def say_away(name, arguments, error):
    shown = next((word for before, word in zip(arguments, arguments[1:]) if before == "show"), "")
    what = name if name != "scontrol" else shown.partition("=")[0].lower().rstrip("s")
    print(AWAY_OF.get(what, AWAY), file=sys.stderr)
    print("%s: error: %s" % (name, error), file=sys.stderr)


def run(name, arguments):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    berth.say_waiting = lambda: None  # a program looks for AWAY_OF at the beginning
    if arguments[:1] in (["--version"], ["-V"], ["version"]):
        print(VERSION)
        return 0
    try:
        command = importlib.import_module("slurm_commands." + name)
    except ImportError:
        print("%s: berth has no such command of Slurm's" % name, file=sys.stderr)
        return 1
    try:
        code = command.run(arguments)
        sys.stdout.flush()
        return code
    except Usage as error:
        print(error, file=sys.stderr)
        return error.code
    except berth.Unreachable as error:
        say_away(name, arguments, error)
        return 1
    except berth.Error as error:
        print("%s: error: %s" % (name, error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os._exit(0)
    except OSError as error:  # as with a full disk behind standard output
        print("%s: error: %s" % (name, error), file=sys.stderr)
        os._exit(1)
