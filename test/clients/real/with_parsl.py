"""Runs parsl's SlurmProvider itself: two blocks that end, one that is cancelled."""
import os
import time

from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


def main():
    provider = SlurmProvider("debug", account="lab", qos="normal", walltime="00:05:00",
                             cores_per_node=2, gpus_per_node=1, launcher=SrunLauncher())
    provider.script_dir = os.getcwd()
    good, bad = provider.submit("echo hello", 2), provider.submit("exit 3", 1)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        ended = [str(status.state) for status in provider.status([good, bad])]
        if not {"JobState.PENDING", "JobState.RUNNING"} & set(ended):
            break
        time.sleep(1)
    lasting = provider.submit("sleep 1000", 1)
    print(*ended, *provider.cancel([lasting]))


if __name__ == "__main__":
    main()
