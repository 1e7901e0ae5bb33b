// Goal: the request body is exactly what was asked for. Method: options and a caller as values.
#include "cli/job/submission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/print/option_words.hpp"
#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Caller kCaller{.environment = {"A=1", "B=2"},
                     .directory = "/tmp",
                     .umask = 027,
                     .now = kStart + seconds(1000)};

JobOptions with(void (*change)(JobOptions&)) {
  JobOptions options;
  options.command = {"true"};
  change(options);
  return options;
}

Json body_of(const JobOptions& options) {
  const auto made = submission_of(options, kCaller);
  EXPECT_TRUE(made) << made.error().message;
  return made ? made->body : Json();
}

std::string refusal_of(const JobOptions& options) {
  const auto made = submission_of(options, kCaller);
  return made ? "accepted" : made.error().message;
}

TEST(Submission, SaysNothingThatWasNotAsked) {
  EXPECT_EQ(body_of(with([](JobOptions&) {})), *parse_json(R"({
      "command": ["true"], "directory": "/tmp", "environment": ["A=1", "B=2"], "umask": 23})"));
}

TEST(Submission, HasEveryOption) {
  const Json body = body_of(with([](JobOptions& options) {
    options.command = {"python", "t.py", "--lr", "0.1"};
    options["--vram"] = "10G";
    options["--gpus"] = "2";
    options["--cpus"] = "1.5";
    options["--mem"] = "512M";
    options["--class"] = "long";
    options["--min-gpus"] = "1";
    options["--max-gpus"] = "4";
    options["--gpu-type"] = "a100,h100";
    options["--gpu-index"] = "0,2-4,9";
    options["--gpu-milli"] = "500";
    options["--gpu-processes"] = "8";
    options["--priority"] = "3";
    options["--estimate"] = "2m";
    options["--deadline"] = "1h";
    options["--group"] = "sweep";
    options["--model"] = "vgg16";
    options["--batch"] = "64";
    options["--time"] = "1:30:00";
    options["--name"] = "é";
    options["--cwd"] = "/usr/../";
    options.environment = {"B=3", "C=", "A"};
    options.exclusive = true;
    options.hold = true;
  }));
  EXPECT_EQ(body, *parse_json(R"({
      "command": ["python", "t.py", "--lr", "0.1"], "directory": "/",
      "environment": ["A=1", "B=3", "C="], "program_words": ["A=1", "B=3", "C="],
      "umask": 23, "name": "é", "gpus": 2,
      "vram_bytes": 10737418240, "exclusive": true, "cpus": 1.5, "mem_bytes": 536870912,
      "class": "long", "time_limit_seconds": 5400.0, "held": true, "min_gpus": 1, "max_gpus": 4,
      "gpu_types": ["a100", "h100"], "gpu_indices": [0, 2, 3, 4, 9], "gpu_milli": 500,
      "gpu_processes": 8, "priority": 3, "estimate_seconds": 120.0,
      "deadline_at": 4600.0, "job_group": "sweep", "model": "vgg16", "batch": 64})"));
}

TEST(Submission, SaysWhenItRunsAgainAndHowItSaves) {
  const Json body = body_of(with([](JobOptions& options) {
    options["--requeue-on"] = "gpu-failure,exit:75";
    options["--on-preempt"] = "signal:SIGUSR2,grace=2min";
  }));
  EXPECT_EQ(body["requeue_on"], *parse_json(R"(["gpu-failure", 75])"));
  EXPECT_EQ(body["on_preempt"], *parse_json(R"({"signal": "USR2", "grace_seconds": 120.0})"));
  const auto refusal = [](const char* how) {
    JobOptions options;
    options.command = {"true"};
    options["--on-preempt"] = how;
    return refusal_of(options);
  };
  const std::string kForm = "must be as signal:USR1 or signal:USR1,grace=60s";
  EXPECT_EQ(refusal("USR1"), "--on-preempt USR1: " + kForm);
  EXPECT_EQ(refusal("signal:USR1,60s"), "--on-preempt signal:USR1,60s: " + kForm);
  EXPECT_EQ(refusal("signal:USR1,grace=2d"),
            "--on-preempt signal:USR1,grace=2d: grace: 2d, the most is 24h");
  EXPECT_EQ(refusal("signal:9"),
            "--on-preempt signal:9: signal '9' is none of HUP, INT, QUIT, USR1, USR2, ALRM, TERM");
}

TEST(Submission, AnUpdateSaysWhatMayBeChanged) {
  JobOptions options;
  const Instant now = kStart + hours(1);
  EXPECT_EQ(change_of(options, now).error().message,
            "nothing is to be changed; give --vram, --gpus, --gpu-type, --gpu-index, --share, "
            "--cpus, --mem, --time, --suspend, --priority, --begin, --at-once, --name or "
            "--comment");
  options["--retries"] = "3";
  EXPECT_FALSE(change_of(options, now));
  options["--gpu-index"] = "0-1";
  options["--time"] = "2m";
  EXPECT_EQ(change_of(options, now).value(),
            *parse_json(R"({"gpu_indices": [0, 1], "time_limit_seconds": 120.0})"));
  options["--vram"] = "max";
  EXPECT_THAT(change_of(options, now).error().message, HasSubstr("--vram max: is not a size"));
  JobOptions begin;
  begin["--begin"] = "+2h";
  EXPECT_EQ(change_of(begin, now).value(), *parse_json(R"({"begin_at": 10800.0})"));
  begin["--begin"] = "now";
  EXPECT_EQ(change_of(begin, now).value(), *parse_json(R"({"begin_at": 3600.0})"));
}

TEST(Submission, MaxIsTheWholeGpuAlone) {
  const Json body = body_of(with([](JobOptions& options) { options["--vram"] = "max"; }));
  EXPECT_TRUE(is_set(body, "exclusive"));
  EXPECT_FALSE(body.contains("vram_bytes"));
}

TEST(Submission, RefusesWithOptionValueAndLimit) {
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--vram"] = "1e99G"; })),
            "--vram 1e99G: is not a size such as 10G, 10GiB, 512M or 1.5G, from 1 byte to 1024T");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--gpus"] = "-1"; })),
            "--gpus -1: is not a whole number from 0 to 4096");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--gpus"] = "0,2"; })),
            "--gpus 0,2: is not a whole number from 0 to 4096; for these GPUs say --gpu-index 0,2");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--gpus"] = "all"; })),
            "--gpus all: is not a whole number from 0 to 4096; berth gpus lists all");
  static const char* bad = nullptr;  // a function pointer captures nothing
  for (const char* each : {"", "0,", "2-1", "a100", "0-4097", "-1"}) {
    bad = each;
    EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--gpu-index"] = bad; })),
              "--gpu-index " + std::string(bad) +
                  ": is not a list of GPUs such as 2, 0,2 or 0-3 (berth gpus)");
  }
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--gpu-milli"] = "1001"; })),
            "--gpu-milli 1001: is not a whole number from 0 to 1000");
  EXPECT_THAT(refusal_of(with([](JobOptions& options) { options["--time"] = "0"; })),
              HasSubstr("--time 0: is not a duration"));
  EXPECT_THAT(refusal_of(with([](JobOptions& options) { options["--mem"] = ""; })),
              HasSubstr("--mem : is not a size"));
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--cwd"] = "/nowhere"; })),
            "--cwd /nowhere: No such file or directory");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options["--cwd"] = "/dev/null"; })),
            "--cwd /dev/null: is not a folder");
}

TEST(Submission, SendsMailToUsersAndWarnsOfAWordThatIsNothing) {
  const auto told = [](const std::string& to) {
    JobOptions options = with([](JobOptions&) {});
    options["--notify"] = to;
    const auto made = submission_of(options, kCaller);
    return std::pair(made->body["notify"], made->warnings);
  };
  EXPECT_EQ(told("root").first, "root@localhost");
  EXPECT_TRUE(told("me").first.get<std::string>().ends_with("@localhost"));
  EXPECT_EQ(told("ann@example.org").first, "ann@example.org");
  EXPECT_TRUE(told("true").second.empty());  // a program
  ASSERT_EQ(told("nosuchcmd").second.size(), 1U);
  EXPECT_EQ(told("nosuchcmd").second.front(),
            "--notify nosuchcmd may reach nobody: it is no mail address, no user of this machine "
            "and no program");
}

TEST(Submission, RefusesVariablesThatAreNone) {
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options.environment = {"=x"}; })),
            "--env =x: has no name before its =");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options.environment = {"C"}; })),
            "--env C: is not set here; give it a value as NAME=VALUE");
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options.environment = {"C=\xFF"}; })),
            "--env C: is not UTF-8");
}

TEST(Submission, LeavesOutWhatIsNoUtf8AndSaysSo) {
  const Caller caller{.environment = {"A=\xFF", "B=2", "nonsense", "=x", "\xFE=1"},
                      .directory = "/tmp"};
  const auto made = submission_of(with([](JobOptions&) {}), caller);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->body["environment"], *parse_json(R"(["B=2"])"));
  EXPECT_THAT(made->warnings, ElementsAre("the variable A is left out: its value is not UTF-8",
                                          "a variable whose name is not UTF-8 is left out"));
  EXPECT_EQ(refusal_of(with([](JobOptions& options) { options.command = {"echo", "\xC3("}; })),
            "argument 2 of the command is not UTF-8");
}

/// bash fills it in neither in `--output=~/x` nor in a comment line of a script.
TEST(Submission, FillsInTheHomeOfItsUser) {
  const Caller caller{.environment = {"HOME=/usr"}, .directory = "/tmp"};
  const auto output = [&](const std::string& typed) {
    JobOptions options;
    options.command = {"true"};
    options["--output"] = typed;
    const auto made = submission_of(options, caller);
    return made ? made->body["output"].get<std::string>() : made.error().message;
  };
  EXPECT_EQ(output("~/logs/%j"), "/usr/logs/%j");
  EXPECT_EQ(output("a/~/b"), "a/~/b");
  EXPECT_EQ(output("~ann/x"), "~ann/x");
  JobOptions options;
  options.command = {"true"};
  options["--cwd"] = "~";
  const auto made = submission_of(options, {.environment = {"HOME=/usr"}, .directory = "/tmp"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->body["directory"], "/usr");
}

TEST(Command, BeginsAtTheFirstWordOrAfterTheDashes) {
  EXPECT_THAT(*command_words({}, {"--", "a", "--b", "--"}), ElementsAre("a", "--b", "--"));
  EXPECT_THAT(*command_words({"a", "-c", "x"}, {}), ElementsAre("a", "-c", "x"));
  EXPECT_THAT(*command_words({"a"}, {"--", "b"}), ElementsAre("a", "--", "b"));
  EXPECT_EQ(command_words({"--vrma", "3"}, {"--", "a"}).error().message,
            "--vrma: no such option; did you mean --vram?");
  EXPECT_EQ(command_words({}, {"--"}).error().message, "no command; give it after --");
}

/// The options of `submit`, of a line of these words.
std::vector<std::string> options_for(const TypedWords& words) {
  CLI::App app;
  JobOptions options;
  add_job_options(app, options, words);
  add_submit_options(app, options, words);
  return option_names(app);
}

TEST(TypedOptions, AreThoseThatTheWordsMayName) {
  for (const std::string& name : options_for(std::nullopt)) {
    const std::string with_value = name + (name.starts_with("--") ? "=x" : "x");
    EXPECT_THAT(options_for({{"submit", name, "x"}}), testing::Contains(name));
    EXPECT_THAT(options_for({{with_value, "submit"}}), testing::Contains(name));
  }
  EXPECT_THAT(options_for({{"20G", "--vram", "submit"}}),
              testing::UnorderedElementsAre("--help", "-h", "--vram"));
  EXPECT_THAT(options_for({{"submit", "-xo", "file"}}), testing::Contains("--output"));
}

TEST(TypedOptions, ExcludeOneAnotherWhereBothAreTyped) {
  CLI::App app;
  JobOptions options;
  std::vector<std::string> words = {"--no-suspend", "yes", "--suspend"};
  add_job_options(app, options, words);
  EXPECT_THROW(app.parse(words), CLI::ExcludesError);
}

/// Root may enter every folder; so this process is nobody's meanwhile.
class NotRoot {
 public:
  NotRoot() : was_root_(::geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(::setresuid(65534, 65534, 0), 0);
    }
  }
  ~NotRoot() {
    if (was_root_) {
      EXPECT_EQ(::setresuid(0, 0, 0), 0);
    }
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  bool was_root_;
};

/// A process that root sent there may be in it all the same, as after su.
TEST(Submission, RefusesAFolderThatMayNotBeEntered) {
  const test::ScratchFolder scratch;
  const std::string closed = scratch / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const NotRoot meanwhile;
  JobOptions options = with([](JobOptions&) {});
  const Caller caller{.directory = closed};
  const auto made = submission_of(options, caller);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "the working directory '" + closed +
                                      "': you may not enter it, nor may the job; say --cwd DIR");
  options["--cwd"] = "/";
  EXPECT_TRUE(submission_of(options, caller));
}

}  // namespace
}  // namespace berth::cli
