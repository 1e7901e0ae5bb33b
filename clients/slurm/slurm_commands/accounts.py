"""What sacctmgr and sshare have of accounts. sbatch takes any name for one and notes it with the
job, so those that a user has are the usual one and those that they have used, or are about to."""
import os
import re

from . import jobs
from .options import Usage


def of_user(name):
    asked = os.environ.get("SBATCH_ACCOUNT")
    used = {job.account for job in jobs.everything(ended=True) if job.user == name}
    return sorted(used | {jobs.ACCOUNT} | ({asked} if asked and name == jobs.me() else set()))


def columns(command, text, known):
    """(head, width, key) of each of `Account%20,User`; a name may be shortened."""
    found = []
    for part in text.split(","):
        name, _, width = part.strip().partition("%")
        keys = [key for key in known if name and key.lower().startswith(name.lower())]
        if not keys or not re.fullmatch(r"-?\d*", width):
            raise Usage("%s: error: Invalid field requested: \"%s\"" % (command, part.strip()))
        found.append((keys[0], int(width) if width else known[keys[0]], keys[0]))
    return found


def show(chosen, rows, options):
    """The rows as a table, or parted by bars with -P and -p."""
    from . import sacct
    if "noheader" not in options:
        rows = [{key: head for head, _, key in chosen}] + rows
    for at, row in enumerate(rows):
        texts = [row.get(key, "") for _, _, key in chosen]
        if "parsable2" in options or "parsable" in options:
            print("|".join(texts) + ("" if "parsable2" in options else "|"))
            continue
        print("".join(sacct.fixed(text, width) + " "
                      for text, (_, width, _) in zip(texts, chosen)))
        if at == 0 and "noheader" not in options:
            print("".join("-" * abs(width) + " " for _, width, _ in chosen))
