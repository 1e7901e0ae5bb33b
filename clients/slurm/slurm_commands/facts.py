"""What sbatch was told of a job and berth has no place for. It is a word of the job's command, so
that those may see it who may see that; names of files are as scontrol shows them: whole."""
import json
import os
import re

AT = 4  # the word of the command: /bin/sh -c PRELUDE NAME FACTS ...


def made(options, directory, script, tasks, files):
    """`files`: patterns by StdIn, StdOut, StdErr."""
    told = {"NumTasks": tasks}
    if script is not None:
        told["Command"] = script
    for option, key in (("partition", "Partition"), ("account", "Account"), ("qos", "QOS")):
        if option in options:
            told[key] = options[option]
    for key, pattern in files.items():
        told[key] = os.path.join(directory, pattern)
    return json.dumps(told, ensure_ascii=False)


def of(detail):
    """{NumTasks, StdIn, StdOut, StdErr, and Command, Partition, Account, QOS where they were given}
    of a job as GET /v1/jobs/ID has it, names of files filled in; {} of a job that sbatch did not
    make."""
    try:
        told = json.loads(detail["command"][AT])
        for key in ("StdIn", "StdOut", "StdErr"):
            told[key] = filled(told[key], detail)
        return told
    except (KeyError, IndexError, TypeError, ValueError):
        return {}


def filled(pattern, detail):
    number = detail["id"]
    values = {"j": number, "A": detail.get("array", number),
              "a": detail.get("array_task", 4294967294), "%": "%"}
    return re.sub("%([0-9]*)([jAa%])",
                  lambda found: str(values[found[2]]).zfill(int(found[1] or 0)), pattern)
