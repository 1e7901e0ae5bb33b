// Goal: a job under `berth run` feels like a program that was started directly, whatever the daemon
// does meanwhile. Method: the real program, a daemon of canned answers, and a shim played by the
// test.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/fake_daemon.hpp"
#include "cli/fake_shim.hpp"
#include "cli/program.hpp"

namespace berth {
namespace {

using shim::FrameKind;
using test::FakeDaemon;
using test::FakeShim;
using test::job_event;
using test::kFailed;
using test::Program;
using test::Ran;
using test::Screen;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

constexpr auto kQueued = R"({"id":42,"state":"queued","reason":"GPU 0 is full"})";
constexpr auto kRunning = R"({"id":42,"state":"running","gpus":[0]})";
constexpr auto kDone = R"({"id":42,"state":"done","exit_code":0})";
constexpr auto kFailedJob = R"({"id":42,"state":"failed","exit_code":3})";

class Run : public testing::Test {
 protected:
  Run() {
    daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":42,"state":"queued"})"}});
    daemon_.answer_in_pieces("GET /v1/events");
  }
  test::StartOptions options(Screen screen = Screen::Pipes) const {
    return {.environment = {"BERTH_SOCKET=" + daemon_.socket(),
                            "XDG_RUNTIME_DIR=" + scratch_.path().string()},
            .screen = screen};
  }
  /// What the submission says about the shim's connection.
  Json attach() { return Json::parse(daemon_.take("POST /v1/jobs").body).at("attach"); }
  FakeShim connect() { return FakeShim(attach().at("socket").get<std::string>()); }
  std::shared_ptr<http::Stream> events() { return daemon_.take_stream("GET /v1/events"); }
  void expect_nothing_left() const { EXPECT_TRUE(std::filesystem::is_empty(scratch_.path())); }

  test::ScratchFolder scratch_;
  FakeDaemon daemon_;
};

TEST_F(Run, PassesOutputInputAndTheCode) {
  Program run({"run", "--vram", "1G", "cat"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "out\n");
  shim.send(FrameKind::Error, "err\n");
  run.await_out("out\n");
  run.await_err("err\n");
  run.type("typed");
  EXPECT_EQ(shim.take(FrameKind::Input), "typed");
  run.end_input();
  shim.take(FrameKind::InputEnd);
  shim.send(FrameKind::Exit, "\x03");
  events()->write(job_event(kRunning) + job_event(kFailedJob));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
  expect_nothing_left();
}

TEST_F(Run, ListensInAFolderOfItsOwn) {
  Program run({"run", "true"}, options());
  const Json attach = this->attach();
  EXPECT_EQ(attach.at("terminal"), false);
  const std::filesystem::path socket = attach.at("socket").get<std::string>();
  struct stat folder{};
  ASSERT_EQ(stat(socket.parent_path().c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
  EXPECT_EQ(std::filesystem::canonical(socket.parent_path().parent_path()), scratch_.path());
  EXPECT_THAT(socket.string(), testing::StartsWith("/proc/")) << "its /tmp may be its own";
  events()->write(job_event(kDone));
  EXPECT_EQ(run.wait().exit_code, 0);
  expect_nothing_left();
}

TEST_F(Run, LosesNoOutputHoweverMuchAndHoweverSlowlyRead) {
  Program run({"run", "yes"}, options());
  FakeShim shim = connect();
  const auto send = [&](FrameKind kind, const std::string& bytes) {
    shim.send_while([&run] { run.read_some_output(); }, kind, bytes);
  };
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string block(shim::kLargestFrame, static_cast<char>('a' + i % 26));
    all += block;
    send(FrameKind::Output, block);
  }
  send(FrameKind::Exit, std::string(1, '\0'));
  events()->write(job_event(kDone));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out.size(), all.size());
  EXPECT_TRUE(ran.out == all);
}

TEST_F(Run, PassesLargeInput) {
  const std::string all(1 << 20, 'x');
  const std::string file = scratch_.write("input", all);
  Program run({"run", "cat"}, options());
  FakeShim shim = connect();
  std::string got;
  for (std::size_t at = 0; at < all.size(); at += 32768) {
    run.type(all.substr(at, 32768));
    while (got.size() < at + 32768) got += shim.take(FrameKind::Input);
  }
  EXPECT_TRUE(got == all);
  shim.send(FrameKind::Exit, std::string(1, '\0'));
  events()->write(job_event(kDone));
  EXPECT_EQ(run.wait().exit_code, 0);
  std::filesystem::remove(file);
}

TEST_F(Run, TakesTheDaemonsWordForHowItEnded) {
  const std::vector<std::tuple<std::string, int, std::string>> ends = {
      {R"({"id":42,"state":"oom","exit_code":77,"note":"used 3 GiB of 2 GiB"})", 77,
       "berth: job 42: out of GPU memory: used 3 GiB of 2 GiB\n"},
      {R"({"id":42,"state":"timeout","exit_code":124})", 124,
       "berth: job 42: reached its time limit\n"},
      {R"({"id":42,"state":"cancelled","exit_code":137})", 137, "berth: job 42: cancelled\n"},
      {R"({"id":42,"state":"lost"})", 125, "berth: job 42: lost\n"},
      {R"({"id":42,"state":"failed","exit_code":1})", 143,
       "berth: job 42: exit 143 (SIGTERM): Terminated\n"},
      {R"({"id":42,"state":"failed","exit_code":1,"note":"log capped at 64 MiB"})", 143, ""},
      {R"({"id":42,"state":"failed","exit_code":1,"note":"ended: process 7 of it held 3 GiB"})",
       143, "berth: job 42: ended: process 7 of it held 3 GiB\n"},
  };
  for (const auto& [end, code, words] : ends) {
    Program run({"run", "true"}, options());
    FakeShim shim = connect();
    shim.send(FrameKind::Exit, "\x8f");
    events()->write(job_event(end));
    const Ran ran = run.wait();
    EXPECT_EQ(ran.exit_code, code) << end;
    EXPECT_EQ(ran.err, words);
  }
}

TEST_F(Run, EndsWithAJobThatNeverStarted) {
  Program run({"run", "true"}, options());
  events()->write(job_event(kQueued) + job_event(R"({"id":42,"state":"lost","exit_code":125})"));
  EXPECT_EQ(run.wait().exit_code, 125);
  expect_nothing_left();
}

TEST_F(Run, ReportsARefusal) {
  daemon_.answer("POST /v1/jobs", {{.status = 422, .body = http::error_body("asks 9 GPUs")}});
  const Ran ran = test::berth({"run", "--gpus", "9", "true"}, options());
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: asks 9 GPUs\n");
  expect_nothing_left();
}

TEST_F(Run, DeliversSignals) {
  Program run({"run", "sleep", "9"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "up");
  run.await_out("up");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    run.signal(number);
    EXPECT_EQ(shim.take(FrameKind::Signal), std::string(1, static_cast<char>(number)));
  }
  shim.send(FrameKind::Exit, "\x82");
  events()->write(job_event(R"({"id":42,"state":"failed","exit_code":130})"));
  EXPECT_EQ(run.wait().exit_code, 130);
}

TEST_F(Run, ASignalCancelsAJobThatWaits) {
  daemon_.answer("POST /v1/jobs/42/cancel", R"({"id":42,"state":"cancelled"})");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Program run({"run", "true"}, options());
    const auto stream = events();
    stream->write(job_event(kQueued));
    run.signal(number);
    daemon_.take("POST /v1/jobs/42/cancel");
    const Ran ran = run.wait();
    EXPECT_EQ(ran.exit_code, 128 + number);
    EXPECT_THAT(ran.err, IsEmpty());
  }
  expect_nothing_left();
}

TEST_F(Run, ACancelMayBeOvertakenByItsEffect) {
  daemon_.answer_in_pieces("POST /v1/jobs/42/cancel");
  Program run({"run", "true"}, options());
  const auto stream = events();
  stream->write(job_event(kQueued));
  run.signal(SIGINT);
  const auto unanswered = daemon_.take_stream("POST /v1/jobs/42/cancel");
  stream->write(job_event(R"({"id":42,"state":"cancelled","exit_code":137})"));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST_F(Run, ASecondSignalLeavesAJobThatCannotBeCancelled) {
  Program run({"run", "true"}, options());
  events();
  daemon_.stop();
  run.await_err("berthd is away; waiting");
  run.signal(SIGINT);
  run.await_err("job 42: is cancelled when berthd is back");
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_THAT(ran.err, HasSubstr("job 42: may go on"));
}

TEST_F(Run, ACancelWaitsForTheDaemon) {
  daemon_.answer("POST /v1/jobs/42/cancel", R"({"id":42,"state":"cancelled"})");
  Program run({"run", "true"}, options());
  events();
  daemon_.stop();
  run.await_err("berthd is away; waiting");
  run.signal(SIGINT);
  run.await_err("is cancelled when berthd is back");
  daemon_.start();
  daemon_.take("POST /v1/jobs/42/cancel");
  EXPECT_EQ(run.wait().exit_code, 130);
}

TEST_F(Run, OutlastsARestartWhileItWaits) {
  Program run({"run", "true"}, options());
  const std::string socket = attach().at("socket");
  events()->write(job_event(kQueued));
  daemon_.stop();
  run.await_err("berthd is away; waiting");
  daemon_.start();
  const auto stream = events();
  stream->write(job_event(kRunning));
  FakeShim shim(socket);
  shim.send(FrameKind::Exit, "\x03");
  stream->write(job_event(kFailedJob));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "berth: berthd is away; waiting\n");
}

TEST_F(Run, OutputGoesOnWhileTheDaemonIsAway) {
  Program run({"run", "true"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "one");
  run.await_out("one");
  events();
  daemon_.stop();
  run.await_err("berthd is away; the job goes on");
  shim.send(FrameKind::Output, "two");
  run.await_out("onetwo");
  shim.send(FrameKind::Exit, "\x03");
  daemon_.start();
  events()->write(job_event(R"({"id":42,"state":"oom","exit_code":77})"));
  EXPECT_EQ(run.wait().exit_code, 77);
}

TEST_F(Run, ADaemonThatForgotTheJobIsToldOf) {
  Program run({"run", "true"}, options());
  events();
  daemon_.stop();
  daemon_.forget_pieces("GET /v1/events");
  daemon_.start();
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("berth: /v1/events: no such job\n"));
}

TEST_F(Run, ALaterAttemptIsAttendedToo) {
  Program run({"run", "true"}, options());
  const std::string socket = attach().at("socket");
  const auto stream = events();
  {
    FakeShim first(socket);
    first.send(FrameKind::Output, "first ");
    run.await_out("first ");
  }
  stream->write(job_event(kQueued));
  FakeShim second(socket);
  second.send(FrameKind::Output, "second");
  run.await_out("first second");
  second.send(FrameKind::Exit, "\x03");
  stream->write(job_event(kFailedJob));
  EXPECT_EQ(run.wait().exit_code, 3);
}

constexpr auto kOneAttempt =
    R"({"id":42,"state":"queued","attempts":[{"attempt":1,"outcome":"oom","exit_code":1,
                 "note":"ran out of GPU memory, asked 2 GiB"}]})";

TEST_F(Run, SaysHowAnAttemptEndedAfterWhichTheJobStartsAgain) {
  daemon_.answer("GET /v1/jobs/42", kOneAttempt);
  Program run({"run", "true"}, options());
  const std::string socket = attach().at("socket");
  const auto stream = events();
  FakeShim(socket).send(FrameKind::Exit, "\x01");
  stream->write(job_event(R"({"id":42,"state":"queued","attempt":1,"vram_bytes":4294967296})"));
  const std::string line =
      "berth: job 42: attempt 1 ended: out of GPU memory, asked 2 GiB; starts again with 4 GiB\n";
  run.await_err(line);
  FakeShim second(socket);
  stream->write(job_event(R"({"id":42,"state":"running","attempt":2,"gpus":[0]})"));
  second.send(FrameKind::Exit, std::string(1, '\0'));
  stream->write(job_event(kDone));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, line);
}

/// Both attempts were over before the first news came.
TEST_F(Run, SaysAtTheEndHowAnAttemptEndedOfWhichNoNewsCame) {
  daemon_.answer("GET /v1/jobs/42", R"({"id":42,"state":"done","attempts":[
      {"attempt":1,"outcome":"failed","exit_code":75},{"attempt":2,"outcome":"done"}]})");
  Program run({"run", "true"}, options());
  const std::string socket = attach().at("socket");
  FakeShim(socket).send(FrameKind::Exit, "\x4b");
  FakeShim second(socket);
  second.send(FrameKind::Output, "second");
  run.await_out("second");
  second.send(FrameKind::Exit, std::string(1, '\0'));
  events()->write(job_event(kDone));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: job 42: attempt 1 ended: exit 75; starts again\n");
}

TEST_F(Run, EndsAsItsReaderDoes) {
  Program run({"run", "yes"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "y\n");
  run.await_out("y\n");
  run.close_output();
  shim.send(FrameKind::Output, "y\n");
  EXPECT_EQ(shim.take(FrameKind::Signal), std::string(1, static_cast<char>(SIGPIPE)));
  EXPECT_EQ(run.wait().exit_code, 128 + SIGPIPE);
  expect_nothing_left();
}

TEST_F(Run, OfAScriptLeavesOutAFileForItsOutputAndRefusesAnArray) {
  const std::string script =
      scratch_.write("job.sh", "#!/bin/sh\n#SBATCH -o out/%j\n#SBATCH -J train\ntrue\n");
  Program run({"run", script}, options());
  const Json body = Json::parse(daemon_.take("POST /v1/jobs").body);
  EXPECT_FALSE(body.contains("output"));
  EXPECT_EQ(body.at("name"), "train");
  events()->write(job_event(kDone));
  EXPECT_THAT(run.wait().err, HasSubstr("berth: --output is left out: with berth run the output"));
  scratch_.write("job.sh", "#!/bin/sh\n#SBATCH -a 1-3\ntrue\n");
  const Ran ran = test::berth({"run", script}, options());
  EXPECT_EQ(ran.exit_code, test::kBadUsage);
  EXPECT_EQ(ran.err, "berth: --array: berth run runs one job; berth submit queues an array\n");
  std::filesystem::remove(script);
}

TEST_F(Run, TakesNoOtherFileForAStreamThatIsClosed) {
  for (const std::vector<int>& closed : {std::vector{0}, {1}, {2}, {0, 1, 2}}) {
    test::StartOptions started = options();
    started.closed = closed;
    Program run({"run", "cat"}, started);
    FakeShim shim = connect();
    run.end_input();
    shim.take(FrameKind::InputEnd);
    shim.send(FrameKind::Output, "out");
    shim.send(FrameKind::Error, "err");
    shim.send(FrameKind::Exit, "\x03");
    events()->write(job_event(kRunning) + job_event(kFailedJob));
    EXPECT_EQ(run.wait().exit_code, 3);
    expect_nothing_left();
  }
}

TEST_F(Run, OnATerminalPassesKeysAndItsSize) {
  Program run({"run", "vi"}, options(Screen::Terminal));
  const Json attach = this->attach();
  EXPECT_EQ(attach.at("terminal"), true);
  EXPECT_TRUE(attach.contains("rows") && attach.contains("columns"));
  EXPECT_TRUE(run.terminal_is_cooked());
  FakeShim shim(attach.at("socket"));
  shim.take(FrameKind::Resize);
  shim.send(FrameKind::Output, "screen");
  run.await_out("screen");
  EXPECT_FALSE(run.terminal_is_cooked());
  run.type("\x03");
  EXPECT_EQ(shim.take(FrameKind::Input), "\x03");
  run.resize(50, 258);
  EXPECT_EQ(shim.take(FrameKind::Resize), std::string("\x32\0\x02\x01", 4));
  run.signal(SIGTERM);
  EXPECT_EQ(shim.take(FrameKind::Signal), std::string(1, static_cast<char>(SIGTERM)));
  shim.send(FrameKind::Exit, "\x8f");
  events()->write(job_event(R"({"id":42,"state":"failed","exit_code":143})"));
  run.await_restored_terminal();
  EXPECT_EQ(run.wait().exit_code, 143);
}

TEST_F(Run, DetachesByKeys) {
  Program run({"run", "python"}, options(Screen::Terminal));
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "screen");
  run.await_out("screen");
  run.type("a~d\r~");
  EXPECT_EQ(shim.take(FrameKind::Input), "a~d\r") << "only the ~ at the beginning is withheld";
  run.type("~x\r~d");
  EXPECT_EQ(shim.take(FrameKind::Input), "~x\r");
  shim.take(FrameKind::Detach);
  shim.send(FrameKind::Detached, std::string(1, static_cast<char>(shim::Parting::Wished)));
  run.await_err("detached from job 42; berth attach 42 returns");
  run.await_restored_terminal();
  EXPECT_EQ(run.wait().exit_code, 0);
  expect_nothing_left();
}

constexpr auto kWhyQueued = R"j({"id":42,"state":"queued","predicted_start_at":null,
    "reason_brief":"needs 2.5 GiB more on GPU 0 (job 8)",
    "hints":[{"change":{"time_limit_seconds":2280.0},"starts_at":0.0,"gpus":[0]}]})j";

TEST_F(Run, AFileIsToldOnceWhyTheJobWaits) {
  daemon_.answer("GET /v1/jobs/42/why", kWhyQueued);
  Program run({"run", "true"}, options());
  FakeShim shim = connect();
  const auto news = events();
  news->write(job_event(kQueued));
  const std::string line =
      "berth: job 42 waits: needs 2.5 GiB more on GPU 0 (job 8); with --time 38min now\n";
  run.await_err(line);
  news->write(job_event(kQueued) + job_event(kRunning));
  shim.send(FrameKind::Exit, std::string(1, '\0'));
  news->write(job_event(kDone));
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, line + "berth: job 42 started on GPU 0\n");
}

TEST_F(Run, SaysWhenAJobThatWaitsForAnotherWillStart) {
  daemon_.answer("GET /v1/jobs/42/why",
                 R"({"id":42,"state":"deferred","predicted_start_at":129600.0,
                     "confidence":"bound","reason_brief":"waits for job 7 to end well"})");
  Program run({"run", "true"}, options());
  const auto news = events();
  news->write(
      job_event(R"({"id":42,"state":"deferred","reason_brief":"waits for job 7 to end well"})"));
  run.await_err("berth: job 42 deferred: waits for job 7 to end well, starts by 02 Jan\n");
  news->write(job_event(kDone));
  EXPECT_EQ(run.wait().exit_code, 0);
}

TEST_F(Run, AJobThatStartsAtOnceIsNotTalkedOf) {
  Program run({"run", "true"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Exit, std::string(1, '\0'));
  events()->write(job_event(kRunning) + job_event(kDone));
  EXPECT_THAT(run.wait().err, IsEmpty());
}

TEST_F(Run, TheKeysLeaveAJobThatWaitsInTheQueue) {
  daemon_.answer("GET /v1/jobs/42/why", kWhyQueued);
  daemon_.answer("POST /v1/jobs/42/leave", kQueued);
  Program run({"run", "python"}, options(Screen::Terminal));
  events()->write(job_event(kQueued));
  run.await_err("; ~d leaves it in the queue");
  run.type("~d");
  daemon_.take("POST /v1/jobs/42/leave");
  run.await_err("job 42 stays in the queue; berth attach 42 returns");
  run.await_restored_terminal();
  EXPECT_EQ(run.wait().exit_code, 0);
}

TEST_F(Run, WhatIsTypedWhileTheJobWaitsIsForTheJob) {
  daemon_.answer("GET /v1/jobs/42/why", kWhyQueued);
  Program run({"run", "python"}, options(Screen::Terminal));
  const Json attach = this->attach();
  const auto news = events();
  news->write(job_event(kQueued));
  run.await_err("leaves it in the queue");
  run.type("1+1\n");
  run.await_out("1+1");  // the terminal shows it
  FakeShim shim(attach.at("socket"));
  EXPECT_EQ(shim.take(FrameKind::Input), "1+1\n");
  shim.send(FrameKind::Exit, std::string(1, '\0'));
  news->write(job_event(kDone));
  run.await_restored_terminal();
  EXPECT_EQ(run.wait().exit_code, 0);
}

TEST_F(Run, AClosedTerminalLeavesTheJobWhereThatWasAskedFor) {
  Program waits({"run", "--detach-on-hangup", "true"}, options());
  EXPECT_EQ(attach().at("optional"), true);
  waits.signal(SIGHUP);
  EXPECT_EQ(waits.wait().exit_code, 128 + SIGHUP) << "it is not cancelled";
  Program runs({"run", "--detach-on-hangup", "true"}, options());
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "up");
  runs.await_out("up");
  runs.signal(SIGHUP);
  EXPECT_EQ(runs.wait().exit_code, 128 + SIGHUP);
  expect_nothing_left();
}

TEST_F(Run, DetachKeysThatAreNoneAreRefused) {
  const Ran ran = test::berth({"run", "--detach-keys", "ctrl-pp", "true"}, options());
  EXPECT_EQ(ran.exit_code, test::kBadUsage);
  EXPECT_EQ(ran.err,
            "berth: --detach-keys ctrl-pp: is not ~ and a character, up to 8 keys such as "
            "ctrl-p,ctrl-q, or none\n");
}

class Attach : public Run {
 protected:
  Attach() {
    daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":42,"state":"running"}]})");
    daemon_.answer("POST /v1/jobs/42/attach", R"({"id":42,"terminal":false,"input":true})");
  }
  FakeShim connect() {
    const http::Request asked = daemon_.take("POST /v1/jobs/42/attach");
    return FakeShim(Json::parse(asked.body).at("socket").get<std::string>());
  }
};

constexpr auto kFirstAttempt = R"({"id":42,"state":"running","attempt":1,"gpus":[0]})";
constexpr auto kSecondAttempt = R"({"id":42,"state":"running","attempt":2,"gpus":[0]})";

TEST_F(Attach, WaitsForTheJobAndPassesInputOutputAndTheCode) {
  Program attach({"attach", "42"}, options());
  const auto stream = events();
  stream->write(job_event(kQueued));
  stream->write(job_event(kFirstAttempt));
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "out\n");
  attach.await_out("out\n");
  attach.type("typed");
  EXPECT_EQ(shim.take(FrameKind::Input), "typed");
  shim.send(FrameKind::Exit, "\x03");
  stream->write(job_event(kFailedJob));
  EXPECT_EQ(attach.wait().exit_code, 3);
  expect_nothing_left();
}

TEST_F(Attach, ComesToALaterAttemptToo) {
  Program attach({"attach", "42"}, options());
  const auto stream = events();
  stream->write(job_event(kFirstAttempt));
  {
    FakeShim first = connect();
    first.send(FrameKind::Output, "first ");
    attach.await_out("first ");
    first.send(FrameKind::Exit, "\x4d");
  }
  stream->write(job_event(kQueued));
  stream->write(job_event(kSecondAttempt));
  FakeShim second = connect();
  second.send(FrameKind::Output, "second");
  attach.await_out("first second");
  second.send(FrameKind::Exit, std::string(1, '\0'));
  stream->write(job_event(kDone));
  EXPECT_EQ(attach.wait().exit_code, 0);
}

TEST_F(Attach, LeavesTheJobWhenItIsHungUpOrInterruptedBeforeItIsThere) {
  for (const int number : {SIGINT, SIGHUP}) {
    Program attach({"attach", "42"}, options());
    events()->write(job_event(kQueued));
    attach.signal(number);
    EXPECT_EQ(attach.wait().exit_code, 128 + number);
  }
  Program attach({"attach", "42"}, options());
  events()->write(job_event(kFirstAttempt));
  FakeShim shim = connect();
  shim.send(FrameKind::Output, "up");
  attach.await_out("up");
  attach.signal(SIGHUP);
  EXPECT_EQ(attach.wait().exit_code, 128 + SIGHUP);
}

TEST_F(Attach, SaysWhyItCannot) {
  daemon_.answer("POST /v1/jobs/42/attach",
                 {{.status = 409, .body = http::error_body("job 42: was started before")}});
  Program attach({"attach", "42"}, options());
  events()->write(job_event(kFirstAttempt));
  const Ran ran = attach.wait();
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: job 42: was started before\n");
  Program late({"attach", "42"}, options());
  events()->write(job_event(kFailedJob));
  const Ran ended = late.wait();
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.err, "berth: job 42: has ended: failed\n");
}

TEST_F(Attach, IsToldOfAnotherThatTakesItsPlace) {
  Program attach({"attach", "42"}, options());
  events()->write(job_event(kFirstAttempt));
  FakeShim shim = connect();
  shim.send(FrameKind::Detached, std::string(1, static_cast<char>(shim::Parting::Replaced)));
  const Ran ran = attach.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: job 42 is attached elsewhere now\n");
}

TEST_F(Run, PrintsTheEndedJobAsJsonBesideTheOutput) {
  Program run({"run", "--json", "true"}, options());
  events()->write(job_event(kDone));
  const Ran ran = run.wait();
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_EQ(Json::parse(ran.err), Json::parse(kDone));
}

}  // namespace
}  // namespace berth
