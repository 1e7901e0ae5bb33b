"""Finds the command by the name it was called by; errors are worded as Slurm words them."""
import importlib
import os
import signal
import sys

import berth

from .options import Usage

VERSION = "slurm-wlm 22.05.8"  # whose formats these are


def run(name, arguments):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
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
