#!/usr/bin/env python3
"""A job that saves its state when it must give way to another, and goes on with it later.

berth submit --vram 10G --on-preempt signal:USR1,grace=60s -- python3 save-and-resume.py state.json 1000
"""
import json
import os
import signal
import sys
import time


def main(path, steps):
    told = []
    signal.signal(signal.SIGUSR1, lambda number, frame: told.append(number))
    step = 0
    if os.path.exists(path):
        with open(path) as file:
            step = json.load(file)["step"]
    print("attempt", os.environ.get("BERTH_ATTEMPT", "1"), "goes on from step", step, flush=True)
    while step < steps:
        time.sleep(0.01)  # the work of a step
        step += 1
        if told:
            save(path, step)
            print("saved step", step, flush=True)
            return
    save(path, step)
    print("done", flush=True)


def save(path, step):
    """All of it or nothing: a job may be killed while it writes."""
    with open(path + ".new", "w") as file:
        json.dump({"step": step}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} STATE STEPS")
    main(sys.argv[1], int(sys.argv[2]))
