"""berth's jobs as Slurm tells them: ids of arrays, states, reasons, times."""
import datetime
import json
import os
import pwd
import re
import socket
import time

import berth

from . import hosts, processes
from .options import listed

PARTITION, ACCOUNT, QOS, CLUSTER = "berth", "berth", "normal", "berth"
HOST = socket.gethostname().split(".")[0]
LAST_SIGNAL = 64
LARGEST_ARRAY = 4096  # tasks; berthd refuses more
BERTHS_FAILURE = 125  # the exit code of a job that berth could not start
RECENT = 300  # squeue knows ended jobs for so many seconds, as Slurm's MinJobAge has it

STATES = {
    "queued": ("PENDING", "PD"), "held": ("PENDING", "PD"), "deferred": ("PENDING", "PD"),
    "starting": ("CONFIGURING", "CF"), "running": ("RUNNING", "R"),
    "suspended": ("SUSPENDED", "S"), "stopping": ("COMPLETING", "CG"),
    "done": ("COMPLETED", "CD"), "failed": ("FAILED", "F"), "oom": ("OUT_OF_MEMORY", "OOM"),
    "cancelled": ("CANCELLED", "CA"), "timeout": ("TIMEOUT", "TO"), "lost": ("NODE_FAIL", "NF"),
}
# All that Slurm knows, so that a client may ask for those that berth has not.
CODES = {
    "PENDING": "PD", "RUNNING": "R", "SUSPENDED": "S", "COMPLETED": "CD", "CANCELLED": "CA",
    "FAILED": "F", "TIMEOUT": "TO", "NODE_FAIL": "NF", "PREEMPTED": "PR", "BOOT_FAIL": "BF",
    "DEADLINE": "DL", "OUT_OF_MEMORY": "OOM", "COMPLETING": "CG", "CONFIGURING": "CF",
    "RESIZING": "RS", "RESV_DEL_HOLD": "RD", "REQUEUED": "RQ", "REQUEUE_FED": "RF",
    "REQUEUE_HOLD": "RH", "REVOKED": "RV", "SIGNALING": "SI", "SPECIAL_EXIT": "SE",
    "STAGE_OUT": "SO", "STOPPED": "ST",
}

# How the command of a job of srun or salloc begins.
ATTENDED = ("export SLURM_JOB_ID=$BERTH_JOB_ID SLURM_JOBID=$BERTH_JOB_ID "
            "SLURM_JOB_START_TIME=$(date +%s); ")


WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n"


def clock(at):
    """By SLURM_TIME_FORMAT: `standard`, `relative`, or a form of strftime as `%s`."""
    if not at:
        return "Unknown"
    form = os.environ.get("SLURM_TIME_FORMAT") or "standard"
    if form == "relative":
        form = relative_form(time.localtime(at), time.localtime())
    return time.strftime("%Y-%m-%dT%H:%M:%S" if form == "standard" else form, time.localtime(at))


def relative_form(at, now):
    days = datetime.date(*at[:3]).toordinal() - datetime.date(*now[:3]).toordinal()
    near = {0: "%H:%M:%S", -1: "Ystday %H:%M", 1: "Tomorr %H:%M"}
    if days in near:
        return near[days]
    if abs(days) > 365:
        return "%-d %b %Y"
    return "%a %H:%M" if 0 < days < 7 else "%-d %b %H:%M"


def short_time(secs):
    """1-02:03:04, 1:02:03, 0:07"""
    days, rest = divmod(int(secs), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    if days:
        return "%d-%02d:%02d:%02d" % (days, hours, minutes, secs)
    return "%d:%02d:%02d" % (hours, minutes, secs) if hours else "%d:%02d" % (minutes, secs)


def long_time(secs):
    """1-02:03:04, 00:00:07"""
    days, rest = divmod(int(secs), 86400)
    text = "%02d:%02d:%02d" % (rest // 3600, rest // 60 % 60, rest % 60)
    return "%d-%s" % (days, text) if days else text


def longest_time(none):
    """The longest limit of a job, as sinfo and scontrol write it; `none` where there is none."""
    longest = berth.request("GET", "/v1/version").get("longest_time_seconds")
    return none if longest is None else long_time(longest)


def exit_text(code):
    """code:signal of a shell's exit code"""
    return "0:%d" % (code - 128) if 128 < code <= 128 + LAST_SIGNAL else "%d:0" % code


def mib_text(mib):
    if not mib:
        return "0"
    return "%dG" % (mib // 1024) if mib % 1024 == 0 else "%dM" % mib


# How the shell of a batch job writes the script; and one with bytes that are not UTF-8.
WRITES = "printf '%s\\n' \"$b_text\""
WRITES_ESCAPED = WRITES.replace("%s", "%b")


def escaped(text):
    """As printf's %b reads it."""
    return "".join("\\0%03o" % (ord(letter) - 0xDC00) if "\udc80" <= letter <= "\udcff"
                   else "\\\\" if letter == "\\" else letter for letter in text)


def unescaped(text):
    return re.sub(r"\\(\\|0[0-7]{3})",
                  lambda found: "\\" if found[1] == "\\" else chr(0xDC00 + int(found[1], 8)), text)


class Job:
    def __init__(self, data):
        self.data = data
        self.known_detail = None
        self.raw = data["id"]
        self.handle = str(data.get("handle", self.raw))  # of this task alone
        self.array = data.get("array")
        self.task = data.get("array_task")
        self.state, self.code = STATES.get(data["state"], ("PENDING", "PD"))
        self.is_pending = self.code == "PD"
        self.has_ended = bool(data.get("ended_at"))
        self.name = data.get("name") or self.default_name()
        self.is_batch = ATTENDED not in (data.get("command_line") or "")
        if self.array is not None:
            mark = "[%d]" % self.task  # berth's, of a task
            if self.name.endswith(mark):
                self.name = self.name[:-len(mark)]
            elif data.get("parameters"):  # of a sweep, whose values stand behind it
                self.name = self.name[:self.name.find(mark + " ")]
        self.user = data.get("user_name") or str(data.get("user"))
        self.uid = data.get("user")
        self.gpus = data.get("gpu_count") or 0
        self.cpus = max(1, int(data.get("cpus") or 1))
        self.mib = int(data.get("mem_bytes") or 0) >> 20
        self.limit = data.get("time_limit_seconds")
        self.started = data.get("run_started_at")  # its latest run, as Slurm has it
        self.elapsed = data.get("run_seconds") or 0  # without suspensions
        begins = data.get("begin_at") or 0
        self.begins = begins if self.is_pending and begins > time.time() else None
        self.predicted = self.begins
        self.ended = data.get("ended_at")
        self.ends = self.ended or data.get("ends_by_at")  # at its limit at the latest

    def default_name(self):
        return (self.data.get("command_line") or "sbatch").split()[0].rsplit("/", 1)[-1]

    @property
    def id(self):
        return str(self.raw) if self.array is None else "%d_%d" % (self.array, self.task)

    @property
    def base(self):
        return self.raw if self.array is None else self.array

    @property
    def suspended(self):
        """Seconds of its latest run."""
        if not self.started:
            return 0
        return max(0, (self.ended or time.time()) - self.started - self.elapsed)

    @property
    def detail(self):
        """What a list of jobs does not have: a request of its own, made once."""
        if self.known_detail is None:
            self.known_detail = berth.request("GET", "/v1/jobs/%s" % self.handle)
        return self.known_detail

    @property
    def words(self):
        return self.detail.get("command") or [""]

    @property
    def asked(self):
        """What sbatch notes of its options in the job's command, as `# asked {"ntasks":2}`."""
        short = self.data.get("command_line") or ""
        if "# asked {" not in short:
            return {}
        for text in (short.replace("'\\''", "'"), " ".join(self.words)):
            try:
                return json.JSONDecoder().raw_decode(text[text.index("# asked {") + 8:])[0]
            except ValueError:  # shortened
                pass
        return {}

    @property
    def least_memory(self):
        """(what it is of, Node or CPU; how much), as it was asked for."""
        per_cpu = self.asked.get("mem-per-cpu")
        return ("CPU", mib_text(per_cpu)) if per_cpu else ("Node", mib_text(self.mib))

    @property
    def account(self):
        return self.asked.get("account") or ACCOUNT

    @property
    def qos(self):
        return self.asked.get("qos") or QOS

    @property
    def reservation(self):
        return self.asked.get("reservation") or ""

    @property
    def tasks(self):
        return int(self.asked.get("ntasks") or 1)

    @property
    def directory(self):
        return self.detail.get("directory") or ""

    @property
    def script(self):
        """(text, arguments) of a job of sbatch."""
        words = self.words
        is_kept = len(words) > 8 and words[2].startswith(processes.FIRST_LINE)
        if not is_kept:
            return None
        return unescaped(words[4]) if WRITES_ESCAPED in words[2] else words[4], words[9:]

    @property
    def command(self):
        """The script's or the command's, without what berth has around it; empty of --wrap."""
        if "# berth" in (self.data.get("command_line") or "")[:24]:
            text, arguments = self.script or ("", [])
            if text.startswith(WRAPPED):
                return ""
            return " ".join([self.asked.get("script") or self.name, *arguments])
        return self.name if not self.is_batch else self.data.get("command_line") or ""

    def filled(self, text):
        """A file of the job: whole, with its pattern filled in."""
        known = {"j": self.raw, "J": self.raw, "A": self.base, "u": self.user, "x": self.name,
                 "a": 4294967294 if self.task is None else self.task, "N": HOST, "n": 0, "t": 0,
                 "%": "%"}
        text = re.sub(r"%(\d*)([A-Za-z%])", lambda found: str(
            known.get(found[2], found[0])).zfill(int(found[1] or 0)), text)
        return os.path.normpath(os.path.join(self.directory, text))

    @property
    def output(self):
        return self.filled(self.asked.get("output") or self.detail.get("output") or "/dev/null")

    @property
    def errors(self):
        return self.filled(self.asked["error"]) if "error" in self.asked else self.output

    @property
    def input(self):
        return self.filled(self.asked.get("input") or "/dev/null")

    @property
    def gid(self):
        try:
            return pwd.getpwuid(self.uid).pw_gid
        except (KeyError, TypeError):
            return self.uid

    @property
    def group(self):
        import grp
        try:
            return grp.getgrgid(self.gid).gr_name
        except (KeyError, TypeError):
            return str(self.gid)

    @property
    def restarts(self):
        """A start that failed is none, and a job that was suspended goes on."""
        return sum(1 for before in self.detail.get("attempts", [])[:-1]
                   if before["started_at"] and before["note"] != "was suspended")

    @property
    def is_held(self):
        return self.data["state"] == "held"

    @property
    def dependency(self):
        kinds = {"after-ok": "afterok", "after-any": "afterany", "after-notok": "afternotok"}
        waits = self.data.get("after", []) if self.is_pending else []
        return ",".join("%s:%d(unfulfilled)" % (kinds[wait["when"]], wait["job"])
                        for wait in waits) or "(null)"

    @property
    def is_failed_launch(self):
        """As where its output file could not be opened: it never ran, and berth says why."""
        return (self.data["state"] == "failed" and not self.started
                and self.data.get("exit_code") == BERTHS_FAILURE and bool(self.data.get("note")))

    @property
    def launch_fault(self):
        """Why, in berth's words, for Slurm's field of what the system has to say."""
        return self.data["note"] if self.is_failed_launch else ""

    @property
    def reason(self):
        state = self.data["state"]
        if self.is_held:
            by_owner = self.data.get("reason", "").startswith("held by its owner")
            return "JobHeldUser" if by_owner else "JobHeldAdmin"
        if state == "deferred":
            if self.data.get("after"):
                return "Dependency"
            is_later = (self.data.get("begin_at") or 0) > time.time()
            return "BeginTime" if is_later else "JobArrayTaskLimit"
        if self.is_pending:
            return "Resources"
        if (self.data.get("note") or "").startswith("never started: "):  # cancelled for that
            return "DependencyNeverSatisfied"
        if self.is_failed_launch:
            return "JobLaunchFailure"
        return {"failed": "NonZeroExitCode", "timeout": "TimeLimit", "oom": "OutOfMemory"}.get(
            state, "None")

    @property
    def deadline(self):
        at = self.detail.get("deadline_at")
        return clock(at) if at else "N/A"

    @property
    def where(self):
        never_ran = self.has_ended and not self.started
        return "" if self.is_pending or never_ran else HOST

    @property
    def exit(self):
        """code:signal"""
        code = self.data.get("exit_code") or 0
        if self.data["state"] in ("cancelled", "timeout", "lost") or not self.has_ended:
            return "0:0"
        if self.data["state"] == "oom":
            return "0:125"
        return "0:53" if self.is_failed_launch else exit_text(code)

    def tres_by_count(self):
        """In the order that scontrol and squeue have; sacct's is another."""
        parts = ["cpu=%d" % self.cpus] + (["mem=" + mib_text(self.mib)] if self.mib else [])
        parts += ["node=1", "billing=%d" % self.cpus]
        return ",".join(parts + (["gres/gpu=%d" % self.gpus] if self.gpus else []))

    def tres(self):
        parts = ["billing=%d" % self.cpus, "cpu=%d" % self.cpus]
        if self.gpus:
            parts.append("gres/gpu=%d" % self.gpus)
        if self.mib:
            parts.append("mem=" + mib_text(self.mib))
        return ",".join(parts + ["node=1"])


def everything(ended):
    """Jobs by id; also those that have ended if asked."""
    found, after = [], 0
    while after is not None:
        page = berth.request("GET", "/v1/jobs?limit=1000&after=%d%s"
                             % (after, "&all=true" if ended else ""))
        found += [Job(data) for data in page["jobs"]]
        after = page.get("next_after")
    return found


def matches(job, wanted):
    """`7` is a job or all of an array, `7_3` a task, `7_[1,3-5]` some."""
    base, _, tasks = wanted.partition("_")
    if not tasks:
        return str(job.base) == base or str(job.raw) == base
    if str(job.base) != base or job.task is None:
        return False
    for part in tasks.strip("[]").split("%")[0].split(","):
        low, _, high = part.partition("-")
        if int(low) <= job.task <= int(high or low):
            return True
    return False


def is_chosen(job, options):
    """By the filters that squeue, sacct and scancel have alike. No job has a licence, a wckey
    or a constraint; every partition is this one, by whatever name."""
    for name, value in (("account", "account"), ("accounts", "account"), ("qos", "qos")):
        names = [word.lower() for word in listed(options, name)]
        if names and getattr(job, value).lower() not in names:
            return False
    if "reservation" in options:
        own = [name for name in job.reservation.split(",") if name]
        if not set(own) & set(listed(options, "reservation")):
            return False
    if any(name in options for name in ("licenses", "wckey", "wckeys", "constraints",
                                        "associations")):
        return False
    return "nodelist" not in options or job.where in hosts.names(options["nodelist"])


def is_id(text):
    base, _, tasks = text.partition("_")
    return base.isdigit() and all(c in "0123456789,-[]%" for c in tasks)


def me():
    return pwd.getpwuid(os.getuid()).pw_name
