// Goal: programs use berth as people do: by the Model Context Protocol and by the client in Python.
// Method: their example programs, against a real daemon on two emulated GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;
using testing::HasSubstr;

constexpr const char* kWrongCalls = R"(
{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
 "params": {"name": "submit", "arguments": {"command": ["true"], "vram": "99G"}}}
{"jsonrpc": "2.0", "id": "two", "method": "tools/call",
 "params": {"name": "why", "arguments": {"job": 77}}}
{"jsonrpc": "2.0", "id": 3, "method": "tools/call",
 "params": {"name": "submit", "arguments": {"command": "true"}}}
{"jsonrpc": "2.0", "method": "notifications/cancelled"}
{"jsonrpc": "2.0", "id": 4, "method": "tools/call",
 "params": {"name": "submit", "arguments": {"command": ["true"], "depends": 1}}}
{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "frob"}}
)";

constexpr const char* kFutures = R"(
import os, pathlib, warnings
import berth
good = berth.submit("echo $WORD from $BERTH_JOB_ID", vram="2G",
                    environment={"WORD": "hello", "PATH": "/bin:/usr/bin"})
bad = berth.submit(["sh", "-c", "exit 3"], vram="2GiB", name="bad")
ended = {job.id for job in berth.as_completed([good, bad], timeout=60)}
assert ended == {good.id, bad.id}
assert good.result() == 0 and good.log() == "hello from %d\n" % good.id, good.log()
try:
    bad.result()
    assert False
except berth.JobFailed as failed:
    assert failed.job["exit_code"] == 3, failed.job
held = berth.submit(["true"], gpus=0, held=True)
assert held.state() == "held" and not held.done()
assert held.cancel() and not held.cancel()
assert repr(held) == 'Job(%d)' % held.id
here = pathlib.Path.cwd()
listed = berth.submit(["ls", here / "script"], vram=" 512m", directory=here)
assert listed.wait(60)["exit_code"] == 0 and listed.log() == str(here / "script") + "\n"
os.environb[b"BAD"] = b"\xff"
with warnings.catch_warnings(record=True) as said:
    told = berth.submit("echo ${BAD-none}", vram="1G")
assert str(said[0].message) == "the variable 'BAD' is left out: it is not UTF-8", said
assert told.wait(60)["exit_code"] == 0 and told.log() == "none\n"
with warnings.catch_warnings(record=True) as said:
    served = berth.submit(["vllm", "serve", "m"], vram="20G", held=True)
assert any("--gpu-memory-utilization" in str(one.message) for one in said), said
assert said[0].filename == __file__, said[0].filename
assert served.cancel()
whole = berth.submit(["true"], vram="max")
assert whole.show()["exclusive"] and whole.wait(60)["exit_code"] == 0
try:
    berth.submit(["true"], directory="/no/such")
    assert False
except FileNotFoundError:
    pass
for gpus, granted in ((None, [0, 1]), (1, [1])):
    named = berth.submit(["true"], vram="1G", gpus=gpus, gpu_indices=granted)
    assert named.wait(60)["attempts"][0]["gpus"] == granted, named.show()
for wrong in ({"gpus": 9}, {"retrys": 1}, {"vram": "10"}, {"vram": "ten"}, {"vram": "1G2"},
              {"time": 60}, {"command": [b"a\xff"]}):
    try:
        berth.submit(**{"command": ["true"], **wrong})
        assert False, wrong
    except berth.Error as error:
        print(error)
print(len(berth.gpus()), len(berth.jobs()))
)";

class Programs : public testing::Test {
 protected:
  Programs() { rig_.start(); }

  /// A line of bash in the rig's folder, which finds berth, its daemon and the examples.
  test::Ran ran(const std::string& line) {
    const std::string script = rig_.folder().write(
        "script", "export BERTH_SOCKET=" + rig_.socket() + " PYTHONDONTWRITEBYTECODE=1\n" +
                      "export PYTHONPATH=" + (test::source_dir() / "clients/python").string() +
                      " EXAMPLES=" + (test::source_dir() / "examples/python").string() +
                      " PATH=" + test::program("berth").parent_path().string() + ":$PATH\n" +
                      "cd " + rig_.folder().path().string() + "\n" + line + "\n");
    return test::run_program("/bin/bash", {script});
  }

  Rig rig_;
};

TEST_F(Programs, ARunTellsWhatItsJobLeftBehind) {
  const test::Ran loop = ran("berth run --gpus 0 -- sh -c 'sleep 1000 & sleep 1000 & echo began'");
  EXPECT_EQ(loop.exit_code, 0);
  EXPECT_EQ(loop.out, "began\n");
  EXPECT_THAT(loop.err, HasSubstr("job 1: ended 2 processes left behind; a script that ends with "
                                  "`wait` waits for what it began"));
}

TEST_F(Programs, AJobHasTheNicenessAndTheProcessorsOfItsShell) {
  rig_.folder().write("told", "nice; grep ^Cpus_allowed_list /proc/self/status\n");
  rig_.folder().write("sub.py",
                      "import berth\n"
                      "job = berth.submit(['sh', 'told'], gpus=0)\n"
                      "job.wait(60)\n"
                      "print(job.log(), end='')\n");
  const test::Ran told =
      ran("for how in 'berth run --gpus 0 sh told' 'python3 sub.py'; do\n"
          "  taskset -c 0 nice -n 19 $how </dev/null\n"
          "done");
  const std::string once = ran("nice -n 19 nice").out + "Cpus_allowed_list:\t0\n";
  EXPECT_EQ(told.out, once + once) << told.err;
}

TEST_F(Programs, LogsOfARunningJobSayWhereItsProcessesWrite) {
  const test::Ran told = ran(
      "berth submit --gpus 0 -- sh -c 'exec >out; touch runs; while [ ! -e go ]; do sleep 0.01; "
      "done'\n"
      "until [ -e runs ]; do sleep 0.01; done; berth logs 1; touch go; berth wait 1; berth logs 1");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_THAT(told.err, HasSubstr("berth: job 1 has written nothing here so far; sh writes to " +
                                  rig_.folder().path().string() + "/out\n"));
}

TEST_F(Programs, AnMcpClientKeepsTwoGpusFullWithoutOneOutOfMemory) {
  const auto fill = ran("python3 $EXAMPLES/mcp_fill.py 24 8 -- berth mcp");
  ASSERT_EQ(fill.exit_code, 0) << fill.err;
  const Json answer = Json::parse(fill.out);
  EXPECT_EQ(answer["outcomes"], (Json{{"done", 24}}));
  EXPECT_GE(answer["most_on_a_gpu"], 2);
}

TEST_F(Programs, AnMcpClientNamesTheGpusThatItsJobMayHave) {
  rig_.folder().write(
      "calls", R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "submit",)"
               R"( "arguments": {"command": ["true"], "vram": "1G", "gpu_index": "0-1"}}})"
               "\n"
               R"({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "submit",)"
               R"( "arguments": {"command": ["true"], "vram": "1G", "gpu_index": 1}}})"
               "\n"
               R"({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "submit",)"
               R"( "arguments": {"command": ["true"], "vram": "1G", "gpu_index": "one"}}})"
               "\n");
  const auto done = ran("berth mcp <calls");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("is not a list of GPUs such as 2, 0,2 or 0-3"));
  const auto accepted = [&](int job) { return rig_.job(job)["gpu_indices"]; };
  EXPECT_EQ(accepted(1), (Json{0, 1}));
  EXPECT_EQ(rig_.job(1)["gpu_count"], 2);
  EXPECT_EQ(accepted(2), Json{1});
}

TEST_F(Programs, AnMcpClientSubmitsASweep) {
  const Json params = {{"lr", {0.1, "a, \"b\""}}, {"seed", "1-2"}};
  const auto call = [&](const Json& given) {
    const Json arguments = {{"command", {"echo", "{lr}", "{seed}"}},
                            {"gpus", 0},
                            {"hold", true},
                            {"at_once", 1},
                            {"params", given}};
    return Json{{"jsonrpc", "2.0"},
                {"id", 1},
                {"method", "tools/call"},
                {"params", {{"name", "submit"}, {"arguments", arguments}}}}
               .dump() +
           "\n";
  };
  rig_.folder().write("calls", call(params) + call({{"lr", {{{"a", 1}}}}}));
  const auto done = ran("berth mcp <calls");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json jobs = rig_.request("GET", "/v1/jobs?jobs=1").body["jobs"];
  ASSERT_EQ(jobs.size(), 4U) << done.out;
  EXPECT_EQ(jobs[3]["parameters"], (Json{{"lr", "a, \"b\""}, {"seed", "2"}}));
  EXPECT_EQ(jobs[0]["array_at_once"], 1);
  EXPECT_THAT(done.out, HasSubstr("params.lr: "));
}

TEST_F(Programs, AnMcpClientNamesJobsAsOnTheCommandLineAndFollowsHints) {
  const auto call = [](const char* tool, const Json& arguments) {
    return Json{{"jsonrpc", "2.0"},
                {"id", 1},
                {"method", "tools/call"},
                {"params", {{"name", tool}, {"arguments", arguments}}}}
               .dump() +
           "\n";
  };
  const Json array = {{"command", {"no-such-program"}},
                      {"gpus", 0},
                      {"array", "1-2"},
                      {"hold", true},
                      {"name", "m"}};
  rig_.folder().write(
      "calls",
      call("submit", array) +
          call("submit", {{"command", {"true"}}, {"vram", "1G"}, {"gpus", 2}, {"hold", true}}) +
          call("show", {{"job", "m"}}) + call("why", {{"job", "1-3"}}) +
          call("update", {{"jobs", 3}, {"gpus", 1}, {"gpu_index", "0-1"}}) +
          call("wait", {{"jobs", "1-3"}, {"seconds", 1}}));
  const auto done = ran("berth mcp <calls");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::vector<std::string> texts;
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);) {
    texts.push_back(Json::parse(line)["result"]["content"][0]["text"]);
  }
  ASSERT_EQ(texts.size(), 6U) << done.out;
  EXPECT_THAT(texts[0], HasSubstr("'no-such-program' is in no folder of PATH")) << "a warning";
  EXPECT_EQ(Json::parse(texts[2])["tasks"], (Json{{"held", 2}}));
  EXPECT_EQ(texts[3], "job: 1-3: these are 3 jobs; say one");
  EXPECT_EQ(rig_.job(3)["gpu_count"], 1);
  EXPECT_EQ(rig_.job(3)["gpu_indices"], (Json{0, 1}));
  EXPECT_EQ(Json::parse(texts[5])["others"], (Json{"1_1", "1_2", 3}));
}

TEST_F(Programs, AnMcpClientGetsErrorsOfToolsAsTheirResults) {
  std::string calls;
  for (const char* at = kWrongCalls; *at != '\0'; ++at) {  // one line each
    const bool is_end = at[0] == '\n' && at[1] == '{';
    if (*at != '\n' || is_end) calls += *at;
  }
  rig_.folder().write("calls", calls + "\n");
  const auto done = ran("berth mcp <calls");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::vector<Json> answers;
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
  ASSERT_EQ(answers.size(), 5U) << done.out;
  const auto text = [&](std::size_t i) {
    EXPECT_EQ(answers[i]["result"]["isError"], true);
    return answers[i]["result"]["content"][0]["text"].get<std::string>();
  };
  EXPECT_THAT(text(0), HasSubstr("the most a GPU here can give is"));
  EXPECT_EQ(answers[1]["id"], "two");
  EXPECT_EQ(text(1), "job 77: no such job");
  EXPECT_THAT(text(2), HasSubstr("command: \"true\", must be of type array"));
  EXPECT_THAT(text(3), HasSubstr("depends: unknown argument of submit; valid arguments: after, "));
  EXPECT_EQ(answers[4]["error"]["message"], "frob: no such tool");
}

TEST_F(Programs, ThePythonClientSubmitsAndWaitsAsForFutures) {
  rig_.folder().write("futures.py", kFutures);
  const auto done = ran("python3 futures.py");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out,
            "asks 9 GPUs, the cluster has 2\n"
            "retrys: unknown key; doc/openapi.yaml names all; did you mean retries?\n"
            "10: is no size such as 10G or 512M\n"
            "ten: is no size such as 10G or 512M\n"
            "1G2: is no size such as 10G or 512M\n"
            "time: unknown key; doc/openapi.yaml names all; did you mean time_limit_seconds?\n"
            "command: 'a\\udcff' is not UTF-8\n"
            "2 0\n");
}

}  // namespace
}  // namespace berth
