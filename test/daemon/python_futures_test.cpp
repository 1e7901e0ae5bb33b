// Goal: Python functions run as jobs through berth.map and berth.Executor: results in order, what a
// call raised, an end for lack of memory by its name, cancel. Method: a script as people write it,
// against a real daemon on two emulated GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Rig;
using testing::HasSubstr;

constexpr const char* kScript = R"(
import collections, concurrent.futures, os, sys, time
import berth
class Odd(Exception):
    pass
Point = collections.namedtuple("Point", "lr seed")
def square(x):
    return x * x
def squares(most):
    return sum(berth.map(square, range(most), gpus=0, progress=False))
def loss(point):
    return point["lr"] * point["seed"]
def turned(point):
    return Point(point.seed, point.lr)
def fails(x):
    if x == 2:
        raise Odd("no %d" % x)
    time.sleep(60)
def out_of_memory(x):
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
def lasting():
    time.sleep(60)
def error_of(call):
    try:
        call()
    except Exception as error:
        return error
if __name__ == "__main__":
    assert berth.map(square, range(5), vram="1G") == [0, 1, 4, 9, 16]
    points = [{"lr": 0.5, "seed": 2}, {"lr": 1.5, "seed": 2}]
    assert berth.map(loss, points, gpus=0, progress=False) == [1.0, 3.0]
    assert berth.map(turned, [Point(1, 2)], gpus=0, progress=False) == [Point(2, 1)]
    assert berth.map(square, [], gpus=0) == []
    assert berth.map(squares, [3], gpus=0, progress=False) == [5]
    with berth.Executor(folder="kept", gpus=0) as one, berth.Executor(folder="kept", gpus=0) as two:
        both = [one.submit(square, 2), two.submit(square, 3)]
        assert [call.result() for call in both] == [4, 9]
    odd = error_of(lambda: berth.map(fails, [1, 2, 3], gpus=0, progress=False))
    assert isinstance(odd, Odd) and str(odd) == "no 2", odd
    assert 'raise Odd("no %d" % x)' in str(odd.__cause__), odd.__cause__
    full = error_of(lambda: berth.map(out_of_memory, [1], vram="1G", progress=False))
    print(type(full).__name__, full, repr(full.__cause__))
    sys.modules["cloudpickle"] = None
    print(error_of(lambda: berth.map(lambda x: x, [1])))
    with berth.Executor(vram="1G") as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        calls = [executor.submit(square, n) for n in range(4)]
        ended = concurrent.futures.as_completed(calls, timeout=60)
        assert sorted(call.result() for call in ended) == [0, 1, 4, 9]
        assert list(executor.map(pow, [2, 3], [3, 2])) == [8, 9]
        call = executor.submit(lasting)
        while not call.running():
            time.sleep(0.02)
        assert call.cancel() and call.cancelled() and not call.running()
        assert concurrent.futures.wait([call], timeout=1).done == {call}
        killed = executor.submit(lasting)
        killed.job.cancel()
        print(error_of(killed.result))
    print(error_of(lambda: executor.submit(square, 1)))
    print(os.listdir(os.path.expanduser("~/.local/state/berth/calls")))
)";

/// As a beginner writes it, without a guard.
constexpr const char* kUnguarded = R"(
import berth
def square(x):
    return x * x
print(berth.map(square, [3], gpus=0, progress=False))
)";

/// As in a notebook: `__main__` has no file.
constexpr const char* kNotebook = R"(
import sys
cell = compile("""
import functools, sys
import berth
class Odd(Exception):
    pass
class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right
    def turned(self):
        return Pair(self.right, self.left)
def turned(pair):
    return pair.turned()
def add(left, right):
    return left + right
def fails(_):
    raise Odd("so")
def told(call):
    try:
        return call()
    except (berth.Error, Odd) as error:
        return "%s: %s" % (type(error).__name__, error)
options = {"gpus": 0, "progress": False}
def all_of_it():
    pair = berth.map(turned, [Pair(1, 2)], **options)[0]
    return isinstance(pair, Pair), pair.left, told(lambda: berth.map(fails, [1], **options)), \
        berth.map(functools.partial(add, 1), [2], **options)
try:
    import cloudpickle
    print(told(all_of_it))
except ImportError:
    print((True, 2, "Odd: so", [3]))
sys.modules["cloudpickle"] = None
for call in (lambda: berth.map(turned, [Pair(1, 2)], **options),
             lambda: berth.map(functools.partial(add, 1), [2], **options),
             lambda: berth.map(len, [[Pair(1, 2)]], **options)):
    print(told(call))
""", "<cell>", "exec")
main = sys.modules["__main__"]
del main.__file__
exec(cell, main.__dict__)
)";

/// It waits for ever, but for the signal that comes once its jobs are there.
constexpr const char* kLasting = R"(
import berth, os, signal, threading, time
def lasting(_):
    time.sleep(600)
def end_it():
    while len(berth.jobs()) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
if __name__ == "__main__":
    threading.Thread(target=end_it, daemon=True).start()
    berth.map(lasting, [1, 2], gpus=0, progress=False)
)";

class PythonFutures : public testing::Test {
 protected:
  PythonFutures() { rig_.start(); }

  test::Ran ran(const std::string& script) {
    return ran_by({"python3", rig_.folder().path().string() + "/script.py"}, script);
  }
  test::Ran ran_by(const std::vector<std::string>& command, const std::string& script) {
    const std::string here = rig_.folder().path().string();
    const std::string python = (test::source_dir() / "clients/python").string();
    rig_.folder().write("script.py", script);
    std::vector<std::string> words = {"BERTH_SOCKET=" + rig_.socket(), "PYTHONDONTWRITEBYTECODE=1",
                                      "PYTHONPATH=" + python, "HOME=" + here, "XDG_STATE_HOME="};
    words.insert(words.end(), command.begin(), command.end());
    return test::run_program("/usr/bin/env", words);
  }

  Rig rig_;
};

TEST_F(PythonFutures, AreJobsWithResultsOrWhatTheCallsRaised) {
  const test::Ran done = ran(kScript);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("OutOfMemory job "));
  EXPECT_THAT(done.out, HasSubstr(": oom, exit 77: ran out of GPU memory, asked 1 GiB "
                                  "RuntimeError('CUDA out of memory."));
  EXPECT_THAT(done.out,
              HasSubstr("<lambda>: a job cannot find it; functions and classes must stand "
                        "at the top of a module or of the script that was started"));
  EXPECT_THAT(done.out, HasSubstr(": cancelled"));
  EXPECT_THAT(done.out, HasSubstr("cannot schedule new futures after shutdown\n[]\n"));
  EXPECT_THAT(done.err, HasSubstr("berth: 5 of 5 ended\n"));
  EXPECT_EQ(rig_.request("GET", "/v1/jobs/6_2").body["parameters"],
            (test::Json{{"lr", "1.5"}, {"seed", "2"}}));
}

TEST_F(PythonFutures, DoNotSubmitThemselvesForEver) {
  const test::Ran done = ran(kUnguarded);
  EXPECT_NE(done.exit_code, 0);
  EXPECT_THAT(done.err, HasSubstr("the script submits jobs while a job of its own reads it for its "
                                  "functions; have that below: if __name__ == \"__main__\":"));
  EXPECT_EQ(rig_.request("GET", "/v1/jobs/2").status, 404);
}

TEST_F(PythonFutures, OfNotebooksGoByValueOrAreRefused) {
  const test::Ran done = ran(kNotebook);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("(True, 2, 'Odd: so', [3])\n")) << done.err;
  EXPECT_THAT(done.out, HasSubstr("Error: __main__.turned: a job cannot find it; functions and "
                                  "classes must stand at the top of a module"));
  EXPECT_THAT(done.out, HasSubstr("Error: partial: a job cannot find a class or function of "
                                  "__main__ that it is called with; functions and classes must"));
  EXPECT_THAT(done.out, HasSubstr("Error: builtins.len: a job cannot find a class or function"));
}

TEST_F(PythonFutures, EndedBySigtermCancelTheirJobs) {
  const test::Ran done = ran(kLasting);
  EXPECT_EQ(done.exit_code, 128 + SIGTERM) << done.err;
  test::run_program("berth", {"wait", "--socket", rig_.socket(), "1"});  // for its processes
  const auto jobs = rig_.request("GET", "/v1/jobs?all=true").body["jobs"];
  ASSERT_EQ(jobs.size(), 2U);
  for (const test::Json& job : jobs) EXPECT_EQ(job["state"], "cancelled");
  EXPECT_TRUE(std::filesystem::is_empty(rig_.folder().path() / ".local/state/berth/calls"));
}

}  // namespace
}  // namespace berth
