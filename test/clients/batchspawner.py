"""Stands in for batchspawner 1.3.0 of JupyterHub: SlurmSpawner starts a server and stops it.

Its script on standard input of `sbatch --parsable`, `squeue -h -j N -o '%T %B'` read by its regular
expressions, the server's port told by the server itself, `scancel`; each by the shell, with the
environment that the hub keeps.
"""
import os
import re
import socket
import sys

from calls import expect, output, read, until, write

SCRIPT = """#!/bin/bash
#SBATCH --output={home}/jupyterhub_slurmspawner_%j.log
#SBATCH --job-name=spawner-jupyterhub
#SBATCH --chdir={home}
#SBATCH --export=PATH,LANG,JUPYTERHUB_API_TOKEN,PYTHONDONTWRITEBYTECODE
#SBATCH --get-user-env=L
#SBATCH --partition=gpu
#SBATCH --time=1:00:00
#SBATCH --mem=512M
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=1


set -euo pipefail

trap 'echo SIGTERM received' TERM

srun {command}
echo "jupyterhub-singleuser ended gracefully"

"""


def query(job):
    return output("squeue -h -j %s -o '%%T %%B'" % job).strip()


def serve():
    """What the job runs: a server that says its port, and answers once."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    write("port.part", "%d %s" % (listener.getsockname()[1], os.environ["JUPYTERHUB_API_TOKEN"]))
    os.rename("port.part", "port")
    while True:
        connection = listener.accept()[0]
        connection.sendall(os.environ["CUDA_VISIBLE_DEVICES"].encode())
        connection.close()


def main():
    command = "%s %s singleuser" % (sys.executable, os.path.abspath(__file__))
    env = {name: os.environ[name] for name in ("PATH", "HOME", "BERTH_SOCKET", "XDG_STATE_HOME",
                                               "PYTHONDONTWRITEBYTECODE")}
    script = SCRIPT.format(home=os.getcwd(), command=command)
    text = output("sbatch --parsable", input=script, env={**env, "JUPYTERHUB_API_TOKEN": "secret"})
    job = text.strip().splitlines()[-1].split(";")[0]
    int(job)
    expect("pending or running", bool(re.search(
        r"^(?:PENDING|CONFIGURING|RUNNING|COMPLETING)", query(job))), True)
    until("it runs", lambda: re.search(r"^(?:RUNNING|COMPLETING)", query(job)))
    host = re.search(r"\s+((?:[\w_-]+\.?)+)$", query(job)).group(1)
    expect("its host", host, socket.gethostname().split(".")[0])
    port, token = until("it says its port", lambda: os.path.exists("port") and read("port")).split()
    expect("what the hub keeps", token, "secret")
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        expect("one GPU", connection.recv(100).isdigit(), True)
    output("scancel " + job)
    until("it is gone", lambda: not re.search(r"^(?:RUNNING|COMPLETING)", query(job)))
    expect("nothing is left of it", query(job), "")


if __name__ == "__main__":
    serve() if len(sys.argv) > 1 else main()
