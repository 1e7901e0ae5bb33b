#include "cli/job/habits.hpp"

#include <gmock/gmock.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Habits, SayWhatMeansSomethingElseHere) {
  const std::vector<std::string> environment = {"CUDA_VISIBLE_DEVICES=1"};
  JobOptions options;
  options["--time"] = "90";
  EXPECT_THAT(warnings_of_habits(options, environment),
              ElementsAre("--time 90 is 90 seconds; say 90min for minutes",
                          "CUDA_VISIBLE_DEVICES=1 has no effect: the job sees the GPUs that it "
                          "gets; say --gpu-index 1"));
  options["--time"] = "90s";
  options["--gpu-index"] = "1";
  EXPECT_THAT(warnings_of_habits(options, environment), IsEmpty());
}

TEST(Habits, ATimeThatMayMeanHoursIsTold) {
  JobOptions options;
  options["--time"] = "1.5";
  EXPECT_THAT(warnings_of_habits(options, {}),
              ElementsAre("--time 1.5 is 1.5 seconds; say 1.5min for minutes"));
  EXPECT_EQ(warning_of_clock("1:30"),
            "--time 1:30 is minutes and seconds; say 1:30:00 for hours and minutes");
  for (const char* const plain : {"", "90", "1h", "1:30:00", "1-12:30", "2d"}) {
    EXPECT_EQ(warning_of_clock(plain), "");
  }
}

TEST(Habits, WhoeverHidesTheGpusIsToldHowToAskForNone) {
  JobOptions none;
  none["--gpus"] = "0";
  for (const std::string hidden : {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=-1"}) {
    EXPECT_THAT(warnings_of_habits(JobOptions(), {hidden}),
                ElementsAre(HasSubstr("gets; say --gpus 0")));
    EXPECT_THAT(warnings_of_habits(none, {hidden}), IsEmpty());
  }
}

TEST(Habits, OfNamesAndFilesThatMeanAnother) {
  JobOptions options;
  options["--name"] = "761";
  options["--array"] = "1-3";
  options["--output"] = "same.log";
  EXPECT_THAT(warnings_of_habits(options, {}),
              ElementsAre("--name 761: other commands take 761 for the number of a job",
                          "--output same.log: all tasks of the array write this one file; say %A "
                          "and %a in its name"));
  options["--name"] = "run-761";
  options["--output"] = "%A_%a.log";
  EXPECT_THAT(warnings_of_habits(options, {}), IsEmpty());
}

TEST(Habits, ASweepOfHydrasInOneJobIsTold) {
  const auto warned = [](std::vector<std::string> command) {
    JobOptions options;
    options.command = std::move(command);
    return warnings_of_habits(options, {});
  };
  EXPECT_THAT(warned({"python", "train.py", "-m", "seed=1", "lr=0.1,0.01"}),
              ElementsAre("-m lr=0.1,0.01: Hydra runs these one after the other in this one job; "
                          "--param lr=0.1,0.01 -- ... lr={lr} makes a job of each"));
  EXPECT_THAT(warned({"uv", "run", "t.py", "--multirun", "a=1,2"}), testing::SizeIs(1));
  EXPECT_THAT(warned({"python", "-m", "train", "lr=0.1,0.01"}), IsEmpty());
  EXPECT_THAT(warned({"python", "train.py", "lr=0.1,0.01"}), IsEmpty());
  EXPECT_THAT(warned({"python", "train.py", "-m", "lr=0.1", "layers=[1,2]", "--x=1,2"}), IsEmpty());
}

TEST(Habits, DockersTerminalIsNotThereInASubmittedJob) {
  EXPECT_EQ(warning_of_terminal({"docker", "run", "--rm", "-e", "KEY", "-it", "image"}),
            "docker run -it: a job of berth submit has no terminal, and docker refuses; leave the "
            "t out, or say berth run");
  EXPECT_THAT(warning_of_terminal({"/usr/bin/docker", "exec", "--tty", "box", "sh"}),
              HasSubstr("docker exec --tty: a job"));
  EXPECT_EQ(warning_of_terminal({"docker", "run", "-i", "image", "tool", "-t"}), "");
  EXPECT_EQ(warning_of_terminal({"docker", "pull", "-t"}), "");
  EXPECT_EQ(warning_of_terminal({"docker"}), "");
}

TEST(Habits, OptionsBehindTheCommandAreTheCommands) {
  JobOptions options;
  EXPECT_EQ(warning_of_words_behind({"python3", "x.py", "--vram", "10G"}, options),
            "--vram stands behind the command and goes to python3; what is meant for berth stands "
            "before it, and the job asks for no --vram now");
  EXPECT_THAT(warning_of_words_behind({"a.sh", "--vram=5G"}, options), HasSubstr("goes to a.sh"));
  EXPECT_EQ(warning_of_words_behind({"python3", "x.py", "--lr", "1"}, options), "");
  EXPECT_EQ(warning_of_words_behind({}, options), "");
  options["--vram"] = "5G";
  EXPECT_EQ(warning_of_words_behind({"berth-load", "--vram", "3G"}, options), "");
}

}  // namespace
}  // namespace berth::cli
