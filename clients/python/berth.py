"""A client of berth in one file: submit commands as GPU jobs, wait for them as for futures.

    import berth
    jobs = [berth.submit(["python", "train.py", str(seed)], vram="10G") for seed in range(8)]
    for job in berth.as_completed(jobs):
        print(job.id, job.result(), job.log()[-200:])

    losses = berth.map(train, [0.1, 0.01], vram="10G")      # a Python function as jobs

Needs Python 3.6 and nothing else; berth_futures.py, which runs functions, only for these. Talks to
berthd's socket as `berth` does, with your rights (doc/openapi.yaml); a restart of berthd is waited
out.
"""
import json
import os
import re
import socket
import sys
import time

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_ENDED = {"done", "failed", "cancelled", "timeout", "oom", "lost", "rejected"}


class Error(Exception):
    """berthd refused, in its own words."""


class Unreachable(Error):
    """berthd does not answer."""


class JobFailed(Error):
    """The job ended otherwise than by exit code 0; `job` has everything about it."""

    def __init__(self, job):
        code, note = job.get("exit_code"), job.get("note")
        if job.get("tasks"):
            note = ", ".join("%d %s" % (count, state) for state, count in job["tasks"].items())
        super().__init__("job %s: %s%s%s" % (job.get("handle", job["id"]), job["state"],
                                             "" if code is None else ", exit %d" % code,
                                             ": " + note if note else ""))
        self.job = job


def socket_path():
    """$BERTH_SOCKET, else the user's own daemon's, else the machine's."""
    if os.environ.get("BERTH_SOCKET"):
        return os.environ["BERTH_SOCKET"]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    own = [os.path.join(runtime, "berth.sock")] if runtime else []
    own.append(os.path.expanduser("~/.local/state/berth/berth.sock"))
    return next((path for path in own if os.path.exists(path)), "/run/berth.sock")


def _exchange(connection, method, target, body):
    """(status, body). http.client takes as long to be imported as all the rest of a squeue."""
    connection.sendall(("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        "Content-Length: %d\r\n\r\n" % (method, target, len(body))).encode() + body)
    head, _, content = b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    if fields.get("transfer-encoding") == "chunked":
        content = _joined(content)
    elif not head or len(content) != int(fields.get("content-length", len(content))):
        raise ConnectionResetError("the answer ended early")
    return int(lines[0].split()[1]), content


def _joined(content):
    """The chunks of a body, which the empty one ends."""
    chunks, at = [], 0
    while True:
        end = content.find(b"\r\n", at)
        size = int(content[at:end], 16) if end > at else -1
        if size < 0 or end + 4 + size > len(content):
            raise ConnectionResetError("the answer ended early")
        if size == 0:
            return b"".join(chunks)
        chunks.append(content[end + 2:end + 2 + size])
        at = end + 4 + size


def is_utf8(text):
    """False for what Python keeps of other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoded(body):
    for key, value in body.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not is_utf8(text):
                raise Error("%s: %.80s is not UTF-8" % (key, ascii(text)))
    return json.dumps(body).encode()


def say_waiting():
    """What is said once while berthd is away. A program with words of its own may put them here."""
    sys.stderr.write("berth: waits for berthd at %s\n" % socket_path())


def request(method, target, body=None, patience=30.0):
    """The answer to a request of doc/openapi.yaml. One that changes something is sent once."""
    content = b"" if body is None else _encoded(body)
    began, is_told = time.monotonic(), False
    until = began + patience
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sent = False
        try:
            connection.connect(socket_path())
            sent = True
            status, text = _exchange(connection, method, target, content)
            break
        except OSError as error:
            if (sent and method != "GET") or time.monotonic() > until:
                raise Unreachable("no berthd answers at %s (%s); is it started, and does BERTH_SOCKET "
                                  "name its socket?"
                                  % (socket_path(), error.strerror or error)) from error
            if not is_told and time.monotonic() > began + 1:
                is_told = True
                say_waiting()
            time.sleep(0.1)
        finally:
            connection.close()
    if target.split("?")[0].endswith("/log") and status == 200:
        return text.decode(errors="replace")
    parsed = json.loads(text)
    if status >= 300:
        raise Error(parsed.get("error", text.decode(errors="replace")))
    return parsed


def _bytes(text):
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?B)?\s*", text, re.IGNORECASE)
    if not match or (match[2] == "" and float(match[1]) < 1 << 20):
        raise Error("%s: is no size such as 10G or 512M" % text)
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _words(command):
    """Paths are words too, as subprocess takes them; a line is for bash."""
    if isinstance(command, str):
        return ["bash", "-c", command]
    alone = isinstance(command, (bytes, os.PathLike))
    return [os.fsdecode(word) if isinstance(word, (bytes, os.PathLike)) else word
            for word in ([command] if alone else command)]


def sendable(variables, tell):
    """The variables less those that are not UTF-8, as of `berth submit`; `tell` is called with a
    sentence for each of these."""
    sound = {}
    for name, value in variables.items():
        if is_utf8("%s=%s" % (name, value)):
            sound[name] = value
        else:
            tell("the variable %s is left out: it is not UTF-8" % ascii(name))
    return sound


def _warn(sentence, level=4):
    import warnings
    warnings.warn(sentence, stacklevel=level)


LIMITS = ("as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "rss", "stack")


def own_ulimits(names=LIMITS):
    """The limits (`ulimit`) of this process, as BERTH_ULIMIT, which a job's environment takes them
    along by, has them."""
    import resource
    soft = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))[0]
            for name in names}
    return ",".join("%s=%s" % (name, "unlimited" if value == resource.RLIM_INFINITY else value)
                    for name, value in soft.items())


def _own_cpu_habits():
    """Niceness and processors (`nice`, `taskset`) of this process, where they are not the usual."""
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    cpus = sorted(os.sched_getaffinity(0))
    text = ",nice=%d" % niceness if niceness else ""
    if len(cpus) < (os.sysconf("SC_NPROCESSORS_ONLN") or 0):
        text += ",cpus=" + "+".join(str(cpu) for cpu in cpus)
    return text


def submit(command, vram=None, gpus=None, directory=None, environment=None, **more):
    """Queues a list of words and paths, or a line for bash. Without `gpus` the job gets one GPU, or
    all that gpu_indices names. `more` is as in doc/openapi.yaml's Submit: name, gpu_indices,
    class_ (short, medium, long, service), time_limit_seconds, retries, share (now, patient,
    never), exclusive, held, array (as "1-100%8": then it is all of them; see Job.tasks())."""
    words = _words(command)
    if directory is not None:
        os.stat(directory)  # on this machine, as the job will have it
    surroundings = sendable(os.environ if environment is None else environment, _warn)
    limits = {"BERTH_ULIMIT": own_ulimits() + _own_cpu_habits()}
    body = {
        "command": words,
        "directory": os.fspath(directory or os.getcwd()),
        "environment": ["%s=%s" % item for item in {**limits, **surroundings}.items()],
    }
    if gpus is not None:
        body["gpus"] = gpus
    if vram == "max":
        body["exclusive"] = True
    elif vram is not None:
        body["vram_bytes"] = _bytes(vram) if isinstance(vram, str) else vram
    typed = sorted("%s=%s" % (name, value) for name, value in surroundings.items()
                   if os.environ.get(name) != value)
    if typed and sum(len(word.encode()) + 1 for word in typed) <= 16384:
        body["program_words"] = typed  # with other values it is another program
    body.update({key.rstrip("_"): value for key, value in more.items()})
    answer = request("POST", "/v1/jobs", body)
    for sentence in answer.get("warnings", ()):
        _warn(sentence, 3)
    return Job(answer["id"])


class Job:
    """Like a concurrent.futures.Future, of a job that lives on without this process. The id may be
    any handle: 643 is the whole of array 643, which ends when all of its tasks have; "643_5" is a
    task of it."""

    def __init__(self, id):
        self.id = id

    def __repr__(self):
        return "Job(%r)" % self.id

    def _handle(self):
        return str(self.id).encode("utf-8", "surrogateescape")

    def _path(self, rest=""):
        from urllib.parse import quote  # not above: its import takes a tenth of a squeue
        return "/v1/jobs/" + quote(self._handle(), safe="") + rest

    def show(self):
        return request("GET", self._path())

    def tasks(self):
        """The jobs of an array, or the job alone."""
        from urllib.parse import urlencode
        query = urlencode({"jobs": self._handle(), "all": "true"})
        found = request("GET", "/v1/jobs?" + query)["jobs"]
        return [Job(job.get("handle", job["id"])) for job in found]

    def state(self):
        return self.show()["state"]

    def done(self):
        return self.state() in _ENDED

    def running(self):
        return self.state() == "running"

    def why(self):
        return request("GET", self._path("/why"))

    def log(self):
        return request("GET", self._path("/log"))

    def cancel(self):
        """False if it had ended."""
        try:
            request("POST", self._path("/cancel"))
        except Error:
            if not self.done():
                raise
            return False
        return True

    def wait(self, timeout=None):
        """Everything about the job once it has ended. Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.02
        while True:
            job = self.show()
            if job["state"] in _ENDED:
                return job
            if until is not None and time.monotonic() > until:
                raise TimeoutError("job %s: %s" % (self.id, job["state"]))
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def exception(self, timeout=None):
        """None of a job that ended well."""
        job = self.wait(timeout)
        return None if job["state"] == "done" else JobFailed(job)

    def result(self, timeout=None):
        """The exit code, 0. Raises JobFailed, TimeoutError."""
        failure = self.exception(timeout)
        if failure is not None:
            raise failure
        return 0


def jobs():
    """The running and waiting jobs, newest first. A task of an array has a `handle`, as its id alone
    may be that of the array."""
    found, rest = [], ""
    while True:
        page = request("GET", "/v1/jobs?limit=1000" + rest)
        found += page["jobs"]
        if page["next_before"] is None:
            return found
        rest = "&before=%d" % page["next_before"]


def gpus():
    return request("GET", "/v1/gpus")["gpus"]


def as_completed(list_of_jobs, timeout=None):
    """Yields jobs as they end."""
    until = None if timeout is None else time.monotonic() + timeout
    left = list(list_of_jobs)
    while left:
        for job in [job for job in left if job.done()]:
            left.remove(job)
            yield job
        if left and until is not None and time.monotonic() > until:
            raise TimeoutError("%d jobs have not ended" % len(left))
        if left:
            time.sleep(0.05)


def Executor(folder=None, **options):
    """A concurrent.futures.Executor whose calls are jobs: berth_futures.Executor."""
    import berth_futures
    return berth_futures.Executor(folder, **options)


def map(function, points, **options):
    """The results of function(point) for each point, in order; each call is a job:
    berth_futures.map."""
    import berth_futures
    return berth_futures.map(function, points, **options)


def __getattr__(name):
    """What map and Executor raise, for `except`; from Python 3.7 on."""
    if name in ("OutOfMemory", "CallFailed"):
        import berth_futures
        return getattr(berth_futures, name)
    raise AttributeError("module 'berth' has no attribute %r" % name)
