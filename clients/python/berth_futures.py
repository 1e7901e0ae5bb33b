"""Python functions as GPU jobs: berth.Executor and berth.map, which berth.py hands out.

    import berth
    def train(lr):
        ...
        return loss
    if __name__ == "__main__":
        losses = berth.map(train, [0.1, 0.01, 0.001], vram="8G")

Each call is a job: `python berth_futures.py NAME`, in a folder of the user's that has the call and
takes its result. Functions and values go by pickle, as with multiprocessing: a function is found by
its module, or in the script that was started, which jobs run again without its part below
`if __name__ == "__main__"`. With cloudpickle installed, functions and classes of notebooks go too,
and lambdas.
"""
import concurrent.futures
import contextlib
import importlib
import os
import pickle
import re
import runpy
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import types

import berth

_FOLDER, _NUMBER = "BERTH_CALLS", "BERTH_CALL"
_MOST_JOBS = 4096  # of an array
_MOST_ASKED = 256  # handles in a request
_is_loading = False  # in a job: the script is run for its functions


class OutOfMemory(berth.JobFailed):
    """The job was ended, or failed, because GPU memory ran out."""


class CallFailed(berth.Error):
    """The function raised what cannot be sent; this has its traceback."""


class _InJob(Exception):
    """Where in the job an exception comes from."""

    def __init__(self, text):
        super().__init__("in the job:\n" + text)


# ---- In the job ----------------------------------------------------------------------------------

def _load_main(main):
    """Runs the script under another name than __main__, and has its names found there."""
    global _is_loading
    if main is None:
        return
    kind, what = main
    module = types.ModuleType("__mp_main__")
    sys.modules["__mp_main__"] = sys.modules["__main__"] = module
    _is_loading = True
    run = runpy.run_module if kind == "module" else runpy.run_path
    module.__dict__.update(run(what, run_name="__mp_main__"))
    _is_loading = False


def _write(path, content):
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.replace(path + ".part", path)


def _dumped(result):
    """What pickle cannot find in the job came from a notebook, by cloudpickle, and goes back so."""
    try:
        return pickle.dumps(result)
    except Exception:
        if "cloudpickle" not in sys.modules:
            raise
        return sys.modules["cloudpickle"].dumps(result)


def _ended_badly(error):
    text = traceback.format_exc()
    try:
        content = _dumped((False, error, text))
        pickle.loads(content)
        return content
    except Exception:
        return pickle.dumps((False, None, text))


def _work():
    """The main program of a job. Returns: its exit code."""
    number = os.environ.get("BERTH_ARRAY_TASK_ID", "1")
    base = os.path.join(os.environ[_FOLDER], os.environ[_NUMBER] + "-" + number)
    if os.path.exists(base + ".result"):
        os.remove(base + ".result")  # of an attempt that is tried again
    try:
        with open(base + ".call", "rb") as file:
            sys.path[:], sys.argv[:], main, call = pickle.load(file)
        _load_main(main)
        function, arguments, keywords = pickle.loads(call)
        content = _dumped((True, function(*arguments, **keywords), ""))
    except Exception as error:
        _write(base + ".result", _ended_badly(error))
        traceback.print_exc()
        return 1
    _write(base + ".result", content)
    return 0


# ---- Where the calls are made --------------------------------------------------------------------

def _main_of_here():
    """How a job finds what is in __main__; None where it cannot."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return "module", name
    path = getattr(main, "__file__", None)
    is_file = path is not None and os.path.isfile(path)  # <stdin> is none
    return ("path", os.path.abspath(path)) if is_file else None


def _name_of(function):
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    return "%s.%s" % (module, name) if module and name else type(function).__name__


def _found_in(module, name):
    found = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _pickled(function, arguments, keywords, main):
    """By name where the job can find it, else by cloudpickle."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    is_named = module and name and _found_in(module, name) is function
    is_lost = module == "__main__" and main is None
    call, what = (function, arguments, keywords), "it"
    if not is_lost and (is_named or not isinstance(function, types.FunctionType)):
        content = pickle.dumps(call)
        if main is not None or b"__main__" not in content:
            return content
        what = "a class or function of __main__ that it is called with"
    try:
        import cloudpickle
    except ImportError:
        raise berth.Error(
            "%s: a job cannot find %s; functions and classes must stand at the top of a module or "
            "of the script that was started, no notebook's, lambda or inner one; or install "
            "cloudpickle" % (_name_of(function), what)) from None
    return cloudpickle.dumps(call)


def _text_of(value):
    """Of a parameter, for lists of jobs."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= 100 else text[:99] + "\N{HORIZONTAL ELLIPSIS}"


def _parameters_of(points):
    """(names, rows): what is shown of the points; of dictionaries with the same keys, these."""
    first = points[0]
    names = list(first) if isinstance(first, dict) else []
    is_table = names and len(names) <= 16 and all(
        isinstance(point, dict) and list(point) == names for point in points) and all(
            isinstance(name, str) and len(name) <= 64 and
            re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in names)
    if is_table:
        return names, [[_text_of(point[name]) for name in names] for point in points]
    return ["point"], [[_text_of(point)] for point in points]


class Future(concurrent.futures.Future):
    """Of a job: `job` is a berth.Job."""

    def __init__(self, executor, base):
        super().__init__()
        self.job = None
        self._executor, self._base = executor, base
        self._is_over = False

    def cancel(self):
        """Ends the job, also one that runs. False if it had ended."""
        return self._executor._cancel(self)

    def running(self):
        return not self.done() and self.job.running()

    def _end(self, end):
        """Once, whoever comes first."""
        with self._executor._lock:
            if self._is_over:
                return False
            self._is_over = True
        end()
        return True


class Executor(concurrent.futures.Executor):
    """Runs each call as a job, with the options of berth.submit: Executor(vram="8G", cpus=4). Jobs
    live on without this process; with `folder`, which is then kept, so do their calls and results,
    in a folder of this executor's own below it.

    Belongs to the process that made it; its methods may be called by several threads."""

    def __init__(self, folder=None, **options):
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])  # results may name it
        self._options = options
        self._is_own = folder is None
        if self._is_own:
            state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
            os.makedirs(os.path.join(state, "berth", "calls"), mode=0o700, exist_ok=True)
            folder = tempfile.mkdtemp(dir=os.path.join(state, "berth", "calls"))
        else:
            os.makedirs(folder, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="calls-", dir=os.path.abspath(os.fspath(folder)))
        self._folder = folder
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._waiting = []
        self._batches = 0
        self._is_shut = False
        self._thread = None

    # -- Submitting --

    def submit(*arguments, **keywords):  # with any names of the function's own
        self, function = arguments[:2]
        return self._submit_all(function, [(arguments[2:], keywords)], None)[0]

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        """One array of jobs. As of any executor: the results in order, and what the first failed
        call raised; then the rest is cancelled."""
        calls = [(arguments, {}) for arguments in zip(*iterables)]
        shown = [arguments[0] if len(arguments) == 1 else arguments for arguments, _ in calls]
        futures = self._submit_all(fn, calls, shown)
        until = None if timeout is None else time.monotonic() + timeout

        def results():
            try:
                for future in futures:
                    yield future.result(None if until is None else until - time.monotonic())
            finally:
                for future in futures:
                    future.cancel()
        return results()

    def _submit_all(self, function, calls, shown):
        if _is_loading:
            raise berth.Error(
                "the script submits jobs while a job of its own reads it for its functions; have "
                "that below: if __name__ == \"__main__\":")
        futures = []
        for at in range(0, len(calls), _MOST_JOBS):
            end = at + _MOST_JOBS
            futures += self._submit_some(function, calls[at:end], shown and shown[at:end])
        return futures

    def _submit_some(self, function, calls, shown):
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._batches += 1
            batch = str(self._batches)
        main = _main_of_here()
        futures = []
        for number, (arguments, keywords) in enumerate(calls, 1):
            base = os.path.join(self._folder, "%s-%d" % (batch, number))
            call = _pickled(function, arguments, keywords, main)
            needs_main = b"__main__" in call or b"__mp_main__" in call  # of a job that calls
            _write(base + ".call", pickle.dumps(
                (sys.path, sys.argv, main if needs_main else None, call)))
            futures.append(Future(self, base))
        self._post(function, batch, futures, shown)
        with self._lock:
            self._waiting += futures
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        self._wake.set()
        return futures

    def _post(self, function, batch, futures, shown):
        name = _name_of(function)
        options = dict(self._options)
        environment = dict(options.pop("environment", None) or os.environ)
        environment.update({_FOLDER: self._folder, _NUMBER: batch})
        options.setdefault("name", name.rsplit(".", 1)[-1])
        options.setdefault("program_words", [])  # the folder is another each time
        if shown is not None:
            options["parameters"], options["points"] = _parameters_of(shown)
        whole = berth.submit([sys.executable, os.path.abspath(__file__), name],
                             environment=environment, **options)
        for number, future in enumerate(futures, 1):
            of_array = berth.Job("%s_%d" % (whole.id, number))
            future.job = whole if shown is None else of_array

    # -- Waiting --

    def _watch(self):
        pause = 0.05
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            with self._lock:
                waiting = [future for future in self._waiting if not future._is_over]
                self._waiting = waiting
                if not waiting:
                    self._thread = None
                    return
            ended = False
            try:
                for at in range(0, len(waiting), _MOST_ASKED):
                    ended = self._look(waiting[at:at + _MOST_ASKED]) or ended
            except berth.Unreachable:
                ended = False  # its jobs run on, and it is waited for
            pause = 0.05 if ended else min(1.0, pause * 1.3)

    def _look(self, futures):
        """Takes what has ended. Returns: whether anything has."""
        from urllib.parse import urlencode
        handles = [("jobs", str(future.job.id)) for future in futures]
        rows = berth.request("GET", "/v1/jobs?" + urlencode(handles + [("all", "true")]))["jobs"]
        states = {str(row.get("handle", row["id"])): row for row in rows}
        any_ended = False
        for future in futures:
            row = states.get(str(future.job.id), {"id": future.job.id, "state": "lost"})
            if row["state"] in berth._ENDED:
                any_ended = True
                future._end(lambda: self._finish(future, row))
        return any_ended

    def _finish(self, future, row):
        future.set_running_or_notify_cancel()
        try:
            with open(future._base + ".result", "rb") as file:
                is_good, value, text = pickle.load(file)
        except FileNotFoundError:
            is_good, value, text = False, None, ""
        except Exception as error:
            return future.set_exception(error)
        if is_good:
            return future.set_result(value)
        if value is None and text:
            value = CallFailed("the call raised what cannot be sent here:\n" + text)
        if row["state"] == "oom" or value is None:
            kind = OutOfMemory if row["state"] == "oom" else berth.JobFailed
            value, cause = kind(row), value
            value.__cause__ = cause if cause is not None else _InJob(text) if text else None
        else:
            value.__cause__ = _InJob(text)
        return future.set_exception(value)

    def _cancel(self, future):
        if future.done():
            return future.cancelled()
        if not future.job.cancel():
            return False

        def end():
            concurrent.futures.Future.cancel(future)
            future.set_running_or_notify_cancel()
        future._end(end)
        return future.cancelled()

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Without `wait` the jobs run on."""
        with self._lock:
            self._is_shut = True
            waiting = list(self._waiting)
        if cancel_futures:
            for future in waiting:
                future.cancel()
        if wait:
            concurrent.futures.wait(waiting)
            if self._is_own:
                shutil.rmtree(self._folder, ignore_errors=True)


# ---- map -----------------------------------------------------------------------------------------

def _told(futures):
    """`12 of 40 ended, 1 failed`."""
    ended = [future for future in futures if future.done()]
    failed = sum(1 for future in ended if future.cancelled() or future.exception() is not None)
    return "%d of %d ended%s" % (len(ended), len(futures), ", %d failed" % failed if failed else "")


class _Progress:
    def __init__(self, stream):
        self._stream, self._last = stream, None

    def tell(self, futures):
        text = _told(futures)
        if self._stream is None or not futures or text == self._last:
            return
        self._last = text
        is_screen = self._stream.isatty()
        self._stream.write("\r\x1b[K%s" % text if is_screen else "berth: %s\n" % text)
        self._stream.flush()

    def end(self):
        if self._stream is not None and self._last is not None and self._stream.isatty():
            self._stream.write("\n")


class _Signalled(BaseException):
    """SIGTERM or SIGHUP came."""


@contextlib.contextmanager
def _signals_raise():
    """Where they would end this process at once they do so only after what is in here has ended,
    as Ctrl-C does, and not before what is given here is called: jobs that are being submitted could
    not be cancelled yet. A second one ends it at once."""
    is_main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP)
               if is_main and signal.getsignal(number) is signal.SIG_DFL]

    came, is_open = [], []

    def leave(number, _):
        for one in numbers:
            signal.signal(one, signal.SIG_DFL)
        came.append(number)
        if is_open:
            raise _Signalled(number)

    def let_through():
        is_open.append(True)
        if came:
            raise _Signalled(came[0])
    for number in numbers:
        signal.signal(number, leave)
    try:
        yield let_through
    except _Signalled as signalled:
        os.kill(os.getpid(), signalled.args[0])
        raise
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def map(function, points, progress=True, **options):
    """function(point) of each, in the order of the points. Raises what the first call to fail
    raised, and cancels the rest, as it does when this is interrupted or ended by SIGTERM or SIGHUP.
    `progress` is written to sys.stderr; False: nothing is. `options` are those of Executor."""
    points = list(points)
    shown = _Progress(sys.stderr if progress else None)
    with _signals_raise() as let_through, Executor(**options) as executor:
        futures = executor._submit_all(function, [((point,), {}) for point in points], points)
        left = set(futures)
        try:
            let_through()
            while left:
                shown.tell(futures)
                ended, left = concurrent.futures.wait(
                    left, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ended:
                    future.result()
            shown.tell(futures)
        finally:
            shown.end()
            for future in left:
                future.cancel()
        return [future.result() for future in futures]


if __name__ == "__main__":
    import berth_futures  # where what it raises is found
    sys.exit(berth_futures._work())
