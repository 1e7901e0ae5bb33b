// Goal: who types as for task-spooler or gflow gets what they mean, or is told what to say.
// Method: command lines and what they become.
#include "cli/job/compat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace berth::cli {
namespace {

std::string of(const std::string& line) {
  std::istringstream in(line);
  std::string queue;
  in >> queue;
  std::vector<std::string> typed;
  for (std::string word; in >> word;) typed.push_back(word);
  const auto made = from_queue(queue, typed);
  if (!made) return "! " + made.error().message;
  std::string text;
  for (const std::string& word : made->words) text += (text.empty() ? "" : " ") + word;
  if (!made->state_of.empty()) text += "state of " + made->state_of;
  if (!made->after_last.empty()) text += " last: " + made->after_last;
  for (const std::string& note : made->notes) text += " # " + note;
  return text;
}

TEST(Compat, TaskSpoolersLines) {
  EXPECT_EQ(of("tsp python train.py -G 2"), "submit --gpus 0 -- python train.py -G 2");
  EXPECT_EQ(of("ts -G 2 -L run1 python a.py"), "submit --gpus 2 --name run1 -- python a.py");
  EXPECT_EQ(of("tsp -D 7,8 -n -B make"), "submit --gpus 0 --after-ok 7,8 -- make");
  EXPECT_EQ(of("tsp -W 7 -N 4 make"), "submit --gpus 0 --after-ok 7 --cpus 4 -- make");
  EXPECT_EQ(of("tsp -m -f make"), "run --gpus 0 --notify-on end -- make");
  EXPECT_EQ(of("tsp -- -odd"), "submit --gpus 0 -- -odd");
  EXPECT_EQ(of("tsp -E make"),
            "submit --gpus 0 -- make # tsp -E is left out: both streams are in the log, in order");
  for (const auto& [typed, expected] : {std::pair("tsp", "ls --all --mine"),
                                        {"tsp -l", "ls --all --mine"},
                                        {"tsp -w 7", "wait 7"},
                                        {"tsp -c 7", "logs 7"},
                                        {"tsp -t 7", "logs -f 7"},
                                        {"tsp -i 7", "show 7"},
                                        {"tsp -k 7", "cancel 7"},
                                        {"tsp -r 7", "cancel 7"},
                                        {"tsp -u 7", "next 7"},
                                        {"tsp -V", "version"},
                                        {"tsp -g 0,1 make", "submit --gpu-index 0,1 -- make"}}) {
    EXPECT_EQ(of(typed), expected);
  }
}

TEST(Compat, LettersStandTogetherAndValuesBehindThem) {
  EXPECT_EQ(of("tsp -fn make"), "run --gpus 0 -- make");
  EXPECT_EQ(of("tsp -nf make"), "run --gpus 0 -- make");
  EXPECT_EQ(of("ts -G1 -Lfoo make"), "submit --gpus 1 --name foo -- make");
  EXPECT_EQ(of("ts -nfG 2 make -j4"), "run --gpus 2 -- make -j4");
  EXPECT_EQ(of("tsp -c7"), "logs 7");
  EXPECT_EQ(of("gbatch -g1 -J a b"), "submit --gpus 1 --name a -- b");
  EXPECT_EQ(of("tsp -nZ make"), "! tsp -Z: berth compat does not know it");
}

TEST(Compat, WhatIsAskedOfTheQueueIsAnsweredOrHasWordsForIt) {
  EXPECT_EQ(of("tsp -h"), "compat --help");
  EXPECT_EQ(of("ts -a 7"), "ls --format name 7");
  EXPECT_EQ(of("ts -F 7"), "ls --format command_line 7");
  EXPECT_THAT(of("tsp -o 5"), testing::HasSubstr("say berth logs -f JOB"));
  EXPECT_THAT(of("tsp -q"), testing::HasSubstr("berth submit prints the number"));
  EXPECT_THAT(of("ts -R"), testing::HasSubstr("say berth ls --mine --state running"));
  EXPECT_THAT(of("ts -T"), testing::HasSubstr("say berth cancel JOBS"));
}

TEST(Compat, AStateIsOneWordOfTaskSpoolers) {
  EXPECT_EQ(of("tsp -s 7"), "state of 7");
  EXPECT_EQ(spooler_state({{"state", "queued"}}), "queued");
  EXPECT_EQ(spooler_state({{"state", "held"}, {"started_at", nullptr}}), "queued");
  EXPECT_EQ(spooler_state({{"state", "queued"}, {"started_at", 5}}), "queued") << "once more";
  EXPECT_EQ(spooler_state({{"state", "starting"}, {"started_at", nullptr}}), "running");
  EXPECT_EQ(spooler_state({{"state", "running"}, {"started_at", 5}}), "running");
  EXPECT_EQ(spooler_state({{"state", "suspended"}, {"started_at", 5}}), "running");
  EXPECT_EQ(spooler_state({{"state", "failed"}, {"started_at", 5}}), "finished");
  EXPECT_EQ(spooler_state({{"state", "cancelled"}, {"started_at", nullptr}}), "skipped");
}

TEST(Compat, WithoutANumberTheLastJobIsMeantAndNoneIsEnded) {
  const auto last = [](const std::vector<std::string>& typed) {
    const auto made = from_queue("tsp", typed);
    return made ? made->of_last : LastJob::None;
  };
  for (const char* option : {"-w", "-u", "-s"}) EXPECT_EQ(last({option}), LastJob::Added) << option;
  for (const char* option : {"-c", "-t", "-i"}) EXPECT_EQ(last({option}), LastJob::Run) << option;
  EXPECT_EQ(last({"-w", "7"}), LastJob::None);
  EXPECT_EQ(of("tsp -w"), "wait");
  EXPECT_EQ(of("tsp -k"), "! tsp -k: give the job's number; nothing is ended by a guess");
  EXPECT_EQ(of("tsp -r"), "! tsp -r: give the job's number; nothing is ended by a guess");
}

TEST(Compat, TheNameDecidesAfterWhichEndAJobStarts) {
  EXPECT_EQ(of("tsp -D 7 make"), "submit --gpus 0 --after-ok 7 -- make");
  EXPECT_EQ(of("ts -D 7 make"), "submit --gpus 0 --after-any 7 -- make");
  EXPECT_EQ(of("ts -W 7 make"), "submit --gpus 0 --after-ok 7 -- make");
  EXPECT_EQ(of("tsp -d make"), "submit --gpus 0 -- make last: --after-ok");
  EXPECT_EQ(of("ts -nd make"), "submit --gpus 0 -- make last: --after-any");
}

TEST(Compat, JobsWithoutAnOrderAreSaidToRunAtOnce) {
  const auto hint = [](std::string_view queue, const std::vector<std::string>& typed) {
    const auto made = from_queue(queue, typed);
    return made ? made->hint : made.error().message;
  };
  EXPECT_EQ(hint("ts", {"make"}), "jobs that fit run at once; -d starts one after your last job");
  EXPECT_EQ(hint("tsp", {"make"}),
            "jobs that fit run at once; -d starts one after your last job, if that ended well");
  EXPECT_EQ(hint("tsp", {"-d", "make"}), "");
  EXPECT_EQ(hint("ts", {"-D7", "make"}), "");
  EXPECT_EQ(hint("tsp", {"-W", "7", "make"}), "");
  EXPECT_EQ(hint("tsp", {"-l"}), "");
  EXPECT_EQ(hint("gbatch", {"make"}), "");
}

TEST(Compat, GflowsOtherProgramsAreVerbs) {
  EXPECT_EQ(of("gqueue"), "ls");
  EXPECT_EQ(of("gcancel 7 9-12"), "cancel 7 9-12");
  EXPECT_EQ(of("ghold 7"), "hold 7");
  EXPECT_EQ(of("grelease 7"), "release 7");
  EXPECT_EQ(of("ginfo"), "gpus");
}

TEST(Compat, GflowsLines) {
  EXPECT_EQ(of("gbatch --gpus 1 --gpu-memory 10G --time 90 --name a python a.py --x 1"),
            "submit --gpus 1 --vram 10G --time 90min --name a -- python a.py --x 1");
  EXPECT_EQ(of("gbatch --param lr=1,2 --param bs=8 --max-concurrent=4 python t.py {lr} {bs}"),
            "submit --gpus 0 --param lr=1,2 --param bs=8 --at-once 4 -- python t.py {lr} {bs}");
  EXPECT_EQ(of("gbatch --array=1-10 --max-concurrent=4 --shared ./job.sh"),
            "submit --gpus 0 --array 1-10%4 -- ./job.sh");
  EXPECT_EQ(of("gbatch --depends-on 7 -t 1:30:00 --notify-email a@b true"),
            "submit --gpus 0 --after-ok 7 --time 1:30:00 --notify a@b -- true");
}

TEST(Compat, ACondaEnvironmentThatIsNotActiveIsEntered) {
  const std::vector<std::string> typed = {"--conda-env", "ml", "python", "a.py"};
  const auto words = [&](const std::string& active) {
    const auto made = from_queue("gbatch", typed, {.conda = active});
    return made ? made->words : std::vector<std::string>{made.error().message};
  };
  EXPECT_THAT(words("ml"), testing::ElementsAre("submit", "--gpus", "0", "--", "python", "a.py"));
  for (const char* const active : {"", "base"}) {
    EXPECT_THAT(words(active),
                testing::ElementsAre("submit", "--gpus", "0", "--", "conda", "run",
                                     "--no-capture-output", "-n", "ml", "python", "a.py"));
  }
}

TEST(Compat, AScriptsGflowLinesAreOptionsThatTypedOnesOverride) {
  const auto words = [](const std::vector<std::string>& typed, const std::string& third) {
    const auto script_of = [&](const std::string& program) -> Expected<GflowScript> {
      EXPECT_EQ(program, "./job.sh");
      return GflowScript{.lines = {{.where = "./job.sh:2: ", .words = {"--gpus=1", "-J", "a"}},
                                   {.where = "./job.sh:3: ", .words = {third}}},
                         .command = {"/bin/bash", "-e", "./job.sh"}};
    };
    const auto made = from_queue("gbatch", typed, {.script_of = script_of});
    return made ? made->words : std::vector<std::string>{made.error().message};
  };
  EXPECT_THAT(words({"./job.sh", "x"}, "--time=5"),
              testing::ElementsAre("submit", "--gpus", "1", "--name", "a", "--time", "5min", "--",
                                   "/bin/bash", "-e", "./job.sh", "x"));
  EXPECT_THAT(
      words({"--gpus", "2", "-c", "ml", "./job.sh"}, "--conda-env=base"),
      testing::ElementsAre("submit", "--gpus", "2", "--name", "a", "--", "conda", "run",
                           "--no-capture-output", "-n", "ml", "/bin/bash", "-e", "./job.sh"));
  EXPECT_THAT(words({"./job.sh"}, "--frob"),
              testing::ElementsAre("./job.sh:3: gbatch --frob: berth compat does not know it"));
  EXPECT_THAT(words({"./job.sh"}, "frob"),
              testing::ElementsAre("./job.sh:3: #GFLOW frob: is no option"));
}

TEST(Compat, WhatHasNoEqualIsNamedWithWhatToSay) {
  EXPECT_EQ(of("tsp -K"), "! tsp -K: berthd is for all users; berth cancel --all ends your jobs");
  EXPECT_EQ(of("tsp -G"), "! tsp -G: its value is missing");
  EXPECT_EQ(of("tsp -x x"), "! tsp -x: berth compat does not know it");
  EXPECT_EQ(of("gbatch"), "! gbatch: no command");
  EXPECT_EQ(of("qsub x"),
            "! 'qsub': no queue that berth compat knows; valid: tsp, ts, gbatch, gqueue, gcancel, "
            "ghold, grelease, ginfo");
}

}  // namespace
}  // namespace berth::cli
