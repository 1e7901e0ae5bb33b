"""ConstrainDevices on a real Slurm, for tools/slurm-check --devices: Slurm schedules, and by cgroups a
job can open the GPUs of its shards and no others, and one that asks for no GPU none.

The pretended GPUs are devices of different numbers that nobody misses in a job: /dev/full and /dev/kmsg.
"""

import os
import subprocess

from slurmbed import BIN, TOP, Failure, command, wait_until
from slurmhabits import NativeBed

EXTRA = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
FIRST = """#!/bin/sh
set -e
cd %(cluster)s
rm -f gpu0 gpu1
mknod gpu0 c 1 7
mknod gpu1 c 1 11
chmod 666 gpu0 gpu1
echo "ConstrainDevices=yes" >cgroup.conf
case $(slurmctld -V) in *" 22."*) printf 'CgroupPlugin=cgroup/v1\\nCgroupAutomount=no\\n' >>cgroup.conf ;; esac
"""
OPENS = """#!/bin/sh
opened=
for gpu in 0 1; do
  if (exec 3<%(cluster)s/gpu$gpu) 2>/dev/null; then opened=$opened$gpu; fi
done
echo "$1 ${CUDA_VISIBLE_DEVICES:-none} ${opened:-none}" >>%(folder)s/opened
sleep "$2"
"""


class DevicesBed(NativeBed):
    def __init__(self):
        super().__init__(nodes=1, gpus=2, whole=0)
        self.extra += EXTRA
        self.names = {"folder": self.folder, "cluster": self.cluster}

    def environment(self):
        self.write(self.folder + "/first", FIRST % self.names)
        self.write(self.folder + "/opens.sh", OPENS % self.names)
        with open(self.folder + "/opened", "w", encoding="utf-8"):
            pass
        os.chmod(self.folder + "/opened", 0o666)
        return dict(super().environment(), BERTH_SLURM_FIRST=self.folder + "/first")

    def opened(self):
        """By name, what a job saw and what it could open."""
        with open(self.folder + "/opened", encoding="utf-8") as file:
            return {line.split()[0]: tuple(line.split()[1:]) for line in file}


def cgroups():
    """Why Slurm cannot keep jobs from devices here; "" if it can."""
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = file.read()
    if "/sys/fs/cgroup/devices cgroup " in mounts or " /sys/fs/cgroup cgroup2 " in mounts:
        return ""
    return "there are no cgroups with devices here"


def devices():
    why = cgroups()
    if why:
        print("slurm-check: devices skipped: " + why)
        return
    with DevicesBed() as bed:
        own = dict(os.environ, BERTH_BACKEND="slurm")
        del own["BERTH_SOCKET"]
        doctor = subprocess.run([BIN + "/berth", "doctor"], env=own, capture_output=True, text=True,
                                check=False).stdout
        if "jobs can open their own GPUs alone" not in doctor:
            raise Failure(f"berth doctor: {doctor}")
        asked = [("first", ["--vram=50G"], ("0", "0")), ("second", ["--vram=50G"], ("0", "1")),
                 ("shares", ["--vram=20G", "--gpus=1"], ("0", "0")), ("without", [], ("none", "none"))]
        for name, words, _ in asked:
            bed.sbatch(*words, bed.folder + "/opens.sh", name, "3")
            wait_until("its words", lambda name=name: name in bed.opened())
        step = bed.batch_of([f"srun {bed.folder}/opens.sh step 0"])
        bed.sbatch("--vram=10G", step)
        wait_until("ends of all", lambda: not bed.pending())
        for name, words, expected in [*asked, ("step", ["srun"], ("0", "0"))]:
            if bed.opened().get(name) != expected:
                raise Failure(f"{name} {words} saw and opened {bed.opened().get(name)}, not {expected}")
        print("slurm-check: with ConstrainDevices each of 5 jobs opened the GPUs of its shards alone")
