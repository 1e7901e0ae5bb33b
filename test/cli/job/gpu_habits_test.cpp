// Goal: what is written plainly in a command or its script and will not do in a job is told, with
// the line, and what may be meant otherwise is not.
// Method: commands and scripts as people have them.
#include "cli/job/gpu_habits.hpp"

#include <gmock/gmock.h>

#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> warned(std::vector<std::string> command, std::optional<int> gpus = 1) {
  return warnings_of_gpus({.command = std::move(command), .directory = ".", .gpus = gpus});
}

class OfScripts : public testing::Test {
 protected:
  std::vector<std::string> warned_of(const std::string& name, const std::string& text,
                                     std::optional<int> gpus = 1) {
    folder_.write(name, text);
    const char* const program = name.ends_with(".py") ? "python3" : "bash";
    return warnings_of_gpus(
        {.command = {program, name}, .directory = folder_.path().string(), .gpus = gpus});
  }

  test::ScratchFolder folder_;
};

TEST(GpuHabits, OfLaunchersAreComparedWithTheGpusThatAreAsked) {
  EXPECT_THAT(warned({"torchrun", "--nproc_per_node=4", "train.py"}),
              ElementsAre("--nproc_per_node=4 is more than the 1 GPU that the job asks for; "
                          "--gpus 4 asks for as many"));
  EXPECT_THAT(warned({"sh", "-c", "accelerate launch --num_processes 2 train.py"}),
              ElementsAre(HasSubstr("--gpus 2 asks for as many")));
  EXPECT_THAT(
      warned({"python", "train.py", "--device", "cuda:1"}),
      ElementsAre("cuda:1: a job that asks for 1 GPU sees cuda:0 alone, whichever it gets"));
  EXPECT_THAT(warned({"python", "train.py", "--device=cuda:5"}, 2),
              ElementsAre(HasSubstr("sees cuda:0 to cuda:1, whichever it gets")));
  EXPECT_THAT(warned({"env", "CUDA_VISIBLE_DEVICES=1", "python", "train.py"}),
              ElementsAre(HasSubstr("leads past the GPU that the job gets")));
  for (const std::optional<int> gpus : {std::optional<int>(4), std::optional<int>()}) {
    EXPECT_THAT(warned({"torchrun", "--nproc_per_node=4", "t.py", "--device=cuda:3"}, gpus),
                IsEmpty())
        << gpus.value_or(0);
  }
  EXPECT_THAT(warned({"torchrun", "--nproc_per_node=gpu", "t.py", "cuda:0"}), IsEmpty());
}

TEST(GpuHabits, OfDockerLeaveTheJobsAccount) {
  EXPECT_THAT(warned({"docker", "run", "--gpus", "all", "image", "python", "train.py"}),
              ElementsAre(HasSubstr("only with -e BERTH_JOB_KEY")));
  EXPECT_THAT(warned({"sh", "-c", "exec docker run -e BERTH_JOB_KEY image"}), IsEmpty());
  EXPECT_THAT(warned({"podman", "run", "image"}), IsEmpty());
}

TEST(GpuHabits, NumbersOfGpusBeginAtNoughtInAJob) {
  EXPECT_THAT(warned({"python", "train.py", "--gpu", "1"}),
              ElementsAre("--gpu 1: a job that asks for 1 GPU sees number 0 alone, whichever it "
                          "gets"));
  EXPECT_THAT(warned({"t.py", "--device=0,1"}), ElementsAre(HasSubstr("--device=0,1: a job")));
  EXPECT_THAT(warned({"python", "t.py", "--gpu_ids", "2,3"}, 2),
              ElementsAre(HasSubstr("sees number 0 to number 1")));
  EXPECT_THAT(warned({"python", "t.py", "--gpu=0", "--device", "cuda"}), IsEmpty());
  EXPECT_THAT(warned({"python", "t.py", "--device", "cpu", "--gpu_ids", "0,1"}, 2), IsEmpty());
  EXPECT_THAT(warned({"python", "t.py", "--trainer.devices", "4"}),
              ElementsAre(HasSubstr("--trainer.devices 4 is more than the 1 GPU")));
}

TEST(GpuHabits, OfProgramsThatRunElsewhere) {
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"ollama", "run", "llama3"}, "run ollama serve in a job"},
           {{"docker", "exec", "box", "python", "t.py"}, "counts for no job"},
           {{"sudo", "python", "t.py"}, "drops CUDA_VISIBLE_DEVICES"},
           {{"tmux", "new", "-d", "python t.py"}, "ends at once"},
           {{"bash", "-c", "sudo nvidia-smi && python t.py"}, "drops CUDA_VISIBLE_DEVICES"}}) {
    EXPECT_THAT(warned(words), ElementsAre(HasSubstr(told)));
  }
  EXPECT_THAT(warned({"ollama", "serve"}), IsEmpty());
}

/// What strangers' scripts have that is not meant.
TEST_F(OfScripts, WordsInOtherPlacesAreNotTheProgram) {
  EXPECT_THAT(warned({"python3", "solve.py", "sudoku"}), IsEmpty());
  EXPECT_THAT(warned({"sh", "-c", "which sudo; cat /etc/sudoers"}), IsEmpty());
  EXPECT_THAT(warned({"sh", "-c", "cd x;sudo python t.py"}), testing::SizeIs(1));
  EXPECT_THAT(warned({"bash", "-c", "ollama serve & ollama run llama3"}), IsEmpty());
  EXPECT_THAT(warned({"podman", "run", "nvidia/cuda:12.4.1-base", "t"}), IsEmpty());
  EXPECT_THAT(warned({"module", "load", "cuda:12.4"}), IsEmpty());
  EXPECT_THAT(warned_of("talk.sh",
                        "x=1 # cuda:1, not --gpu 1\necho never use cuda:1\n"
                        "[ -z \"$CUDA_VISIBLE_DEVICES\" ] && export "
                        "CUDA_VISIBLE_DEVICES=0\n# run python training\n"),
              IsEmpty());
  EXPECT_THAT(warned_of("doc.py",
                        "\"\"\"Runs on cuda:1.\n\nSet CUDA_VISIBLE_DEVICES=1.\n\"\"\"\n"
                        "p.add_argument('--d', help='such as cuda:1')\n"
                        "d = 'cuda:1' if torch.cuda.device_count() > 1 else 'cuda:0'\n"),
              IsEmpty());
  EXPECT_THAT(warned_of("plain.sh", "# run python training\nsudo python t.py --gpu 1\n"),
              testing::SizeIs(2));
}

TEST(GpuHabits, TheUsualPortIsEverybodys) {
  EXPECT_THAT(warned({"torchrun", "--master_port", "29500", "t.py"}),
              ElementsAre(HasSubstr("$MASTER_PORT is the job's own")));
  EXPECT_THAT(warned({"torchrun", "--master_port=29512", "t.py"}), IsEmpty());
}

TEST_F(OfScripts, LinesAreNamed) {
  EXPECT_THAT(warned_of("train.py",
                        "import os\n"
                        "os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"1\"\n"
                        "device = torch.device('cuda:2')\n"),
              ElementsAre("train.py:2: CUDA_VISIBLE_DEVICES=1 leads past the GPU that the job "
                          "gets: leave it out",
                          "train.py:3: cuda:2: a job that asks for 1 GPU sees cuda:0 alone, "
                          "whichever it gets"));
  EXPECT_THAT(warned_of("run.sh",
                        "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\n"
                        "torchrun --nproc_per_node 2 train.py\n"),
              ElementsAre(HasSubstr("run.sh:2: CUDA_VISIBLE_DEVICES=0,1"),
                          HasSubstr("run.sh:3: --nproc_per_node 2 is more than the 1 GPU")));
}

TEST_F(OfScripts, WhatIsOnlyReadOrSaidIsLeftAlone) {
  EXPECT_THAT(warned_of("ask.py",
                        "# os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
                        "os.environ.setdefault('CUDA_VISIBLE_DEVICES', '1')\n"
                        "if os.environ['CUDA_VISIBLE_DEVICES'] == '1': pass\n"
                        "parser.add_argument('--gpu', default=1)\n"
                        "device = f'cuda:{rank}'\n"),
              IsEmpty());
  EXPECT_THAT(warned_of("ask.sh",
                        "if [ \"$CUDA_VISIBLE_DEVICES\" = \"1\" ]; then echo; fi\n"
                        "CUDA_VISIBLE_DEVICES=$LOCAL_RANK python t.py\n"),
              IsEmpty());
  EXPECT_THAT(warned_of("all.py", "a = 'cuda:1'\n", std::nullopt), IsEmpty());
}

TEST_F(OfScripts, AreTextsOfTheirNameAndNotTooManyLines) {
  std::string text;
  for (int line = 0; line < 10; ++line) text += "x = 'cuda:" + std::to_string(line + 1) + "'\n";
  EXPECT_EQ(warned_of("many.py", text).size(), 3U);
  EXPECT_THAT(warned_of("binary.py", std::string("cuda:1\0", 7)), IsEmpty());
  const std::string program = folder_.write("tool", "#!/usr/bin/env python3\nd = 'cuda:1'\n");
  EXPECT_THAT(warned({program}), ElementsAre(HasSubstr("tool:2: cuda:1")));
}

}  // namespace
}  // namespace berth::cli
