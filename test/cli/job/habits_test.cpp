#include "cli/job/habits.hpp"

#include <gmock/gmock.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> warned(std::vector<std::string> command, const char* gpus = "1") {
  JobOptions options;
  options.command = std::move(command);
  options["--gpus"] = gpus;
  return warnings_of_habits(options, {});
}

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

TEST(Habits, OfLaunchersAreComparedWithTheGpusThatAreAsked) {
  EXPECT_THAT(warned({"torchrun", "--nproc_per_node=4", "train.py"}),
              ElementsAre("--nproc_per_node=4 is more than the 1 GPU that the job asks for; "
                          "--gpus 4 asks for as many"));
  EXPECT_THAT(warned({"sh", "-c", "accelerate launch --num_processes 2 train.py"}),
              ElementsAre(HasSubstr("--gpus 2 asks for as many")));
  EXPECT_THAT(
      warned({"python", "train.py", "--device", "cuda:1"}),
      ElementsAre("cuda:1: a job that asks for 1 GPU sees cuda:0 alone, whichever it gets"));
  EXPECT_THAT(warned({"python", "train.py", "--device=cuda:5"}, "2"),
              ElementsAre(HasSubstr("sees cuda:0 to cuda:1, whichever it gets")));
  EXPECT_THAT(warned({"env", "CUDA_VISIBLE_DEVICES=1", "python", "train.py"}),
              ElementsAre(HasSubstr("leads past the GPU that the job gets")));
  for (const char* const gpus : {"0", "4", "2-4"}) {
    EXPECT_THAT(warned({"torchrun", "--nproc_per_node=4", "t.py", "--device=cuda:3"}, gpus),
                IsEmpty())
        << gpus;
  }
  EXPECT_THAT(warned({"torchrun", "--nproc_per_node=gpu", "t.py", "cuda:0"}), IsEmpty());
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

TEST(Habits, OfDockerLeaveTheJobsAccount) {
  EXPECT_THAT(warned({"docker", "run", "--gpus", "all", "image", "python", "train.py"}),
              ElementsAre(HasSubstr("only with -e BERTH_JOB_KEY")));
  EXPECT_THAT(warned({"sh", "-c", "exec docker run -e BERTH_JOB_KEY image"}), IsEmpty());
  EXPECT_THAT(warned({"podman", "run", "image"}), IsEmpty());
}

}  // namespace
}  // namespace berth::cli
