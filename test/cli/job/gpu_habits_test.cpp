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
  return habits_of_gpus({.command = std::move(command), .directory = ".", .gpus = gpus}).warnings;
}

class OfScripts : public testing::Test {
 protected:
  std::vector<std::string> warned_of(const std::string& name, const std::string& text,
                                     std::optional<int> gpus = 1) {
    folder_.write(name, text);
    const char* const program = name.ends_with(".py") ? "python3" : "bash";
    return habits_of_gpus(
               {.command = {program, name}, .directory = folder_.path().string(), .gpus = gpus})
        .warnings;
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
      ElementsAre("cuda:1: a job that asks for 1 GPU sees cuda:0 alone, whichever it gets; write "
                  "cuda:0, or ask for --gpus 2"));
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
              ElementsAre(HasSubstr("only with -e BERTH_JOB_KEY"), HasSubstr("by --gpus it sees")));
  EXPECT_THAT(warned({"sh", "-c", "exec docker run -e BERTH_JOB_KEY image"}), IsEmpty());
  EXPECT_THAT(warned({"docker", "run", "-e", "BERTH_JOB_KEY", "--gpus", "all", "image"}),
              ElementsAre(HasSubstr("docker run: by --gpus it sees GPUs that are not the job's")));
  EXPECT_THAT(warned({"podman", "run", "--device", "nvidia.com/gpu=all", "image"}),
              ElementsAre(HasSubstr("podman run: by nvidia.com/gpu= it sees GPUs")));
  EXPECT_THAT(warned({"podman", "run", "--rm", "-e", "NVIDIA_VISIBLE_DEVICES=all", "image"}),
              ElementsAre(HasSubstr("by NVIDIA_VISIBLE_DEVICES= it sees")));
  EXPECT_THAT(warned({"podman", "run", "--device", "nvidia.com/gpu=all", "-e",
                      "CUDA_VISIBLE_DEVICES", "image", "python", "train.py", "-d"}),
              IsEmpty());
  for (const char* const detached : {"-d", "-itd", "--detach"}) {
    EXPECT_THAT(warned({"docker", "run", "--rm", detached, "-e", "BERTH_JOB_KEY", "image"}),
                ElementsAre(HasSubstr("docker run: -d: the job ends at once")));
  }
  EXPECT_THAT(warned({"docker", "run", "-e", "BERTH_JOB_KEY", "image", "tool", "-d"}), IsEmpty());
  EXPECT_THAT(warned({"podman", "run", "--rm", "image", "-d"}), IsEmpty());
  EXPECT_THAT(warned({"apptainer", "exec", "--nv", "--cleanenv", "img.sif", "python", "t.py"}),
              ElementsAre(HasSubstr("apptainer --cleanenv: it drops CUDA_VISIBLE_DEVICES")));
  EXPECT_THAT(warned({"apptainer", "exec", "--nv", "img.sif", "python", "t.py"}), IsEmpty());
  EXPECT_THAT(warned({"apptainer", "exec", "img.sif", "python", "t.py"}),
              ElementsAre("apptainer exec: without --nv the program sees no GPU, unless the "
                          "machine's configuration adds it"));
  EXPECT_THAT(warned({"singularity", "run", "--rocm", "img.sif"}), IsEmpty());
  EXPECT_THAT(warned({"apptainer", "pull", "docker://x"}), IsEmpty());
  EXPECT_THAT(warned({"podman", "run", "image"}), IsEmpty());
}

TEST(GpuHabits, NumbersOfGpusBeginAtNoughtInAJob) {
  EXPECT_THAT(warned({"python", "train.py", "--gpu", "1"}),
              ElementsAre("--gpu 1: a job that asks for 1 GPU sees number 0 alone, whichever it "
                          "gets; write 0, or ask for --gpus 2"));
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
                          "whichever it gets; write cuda:0, or ask for --gpus 3"));
  EXPECT_THAT(warned_of("run.sh",
                        "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\n"
                        "torchrun --nproc_per_node 2 other.py\n"),
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

/// Each is a way to start `t.py`, which says cuda:1 in its second line.
TEST_F(OfScripts, AreFoundBehindLaunchersAndWrappers) {
  folder_.write("t.py", "import torch\nd = 'cuda:1'\n");
  folder_.write("run.sh", "cd .\nexec python -u t.py \\\n  --x\n");
  const auto warned_by = [&](const std::vector<std::string>& command) {
    return habits_of_gpus({.command = command, .directory = folder_.path().string(), .gpus = 1})
        .warnings;
  };
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"env", "X=1", "python", "t.py"},
           {"env", "-u", "Y", "python3.11", "-u", "t.py"},
           {"nice", "-n", "5", "python", "t.py"},
           {"timeout", "-k", "5", "1h", "python", "t.py"},
           {"torchrun", "--nproc_per_node", "1", "t.py", "--lr", "1"},
           {"python", "-m", "torch.distributed.run", "--nnodes=1", "t.py"},
           {"accelerate", "launch", "--config_file", "c.yaml", "t.py"},
           {"deepspeed", "--num_gpus=1", "t.py"},
           {"uv", "run", "t.py"},
           {"uv", "run", "--with", "torch", "python", "t.py"},
           {"conda", "run", "-n", "e", "--no-capture-output", "python", "t.py"},
           {"poetry", "run", "python", "t.py"},
           {"bash", "-c", "set -e; python t.py | tee log"},
           {"bash", "-lc", "nohup python t.py > out 2>&1 &"},
           {"stdbuf", "-oL", "python", "t.py"},
           {"srun", "-n", "1", "python", "t.py"},
           {"nsys", "profile", "-o", "x", "python", "t.py"},
           {"apptainer", "exec", "--nv", "image.sif", "python", "t.py"},
           {"python", "-m", "cProfile", "-o", "p", "t.py"},
           {"bash", "run.sh"}}) {
    EXPECT_THAT(warned_by(command), ElementsAre(HasSubstr("t.py:2: cuda:1: a job")))
        << command[0] << " " << command[1];
  }
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"cat", "t.py"}, {"bash", "-c", "echo python t.py"}, {"python", "-m", "t", "t.py"}}) {
    EXPECT_THAT(warned_by(command), IsEmpty()) << command[0];
  }
}

TEST_F(OfScripts, NumbersInPythonCountFromNoughtInAJob) {
  for (const char* const line :
       {"model.cuda(1)", "Net(3).cuda(1)", "x = x.to('cuda:1')", "d = torch.device('cuda', 1)",
        "m = nn.DataParallel(m, device_ids=[0, 1])", "torch.cuda.set_device(1)",
        "with torch.cuda.device(1):", "x = jax.devices()[1]", "x = jax.devices('gpu')[1]",
        "with tf.device('/GPU:1'):", "with tf.device(\"/device:GPU:1\"):",
        "t = Trainer(accelerator='gpu', devices=[1])", "t = pl.Trainer(gpus='0,1')",
        "p = pipeline('text', device=1)", "os.system('python x.py --gpu 1')"}) {
    EXPECT_THAT(warned_of("n.py", std::string("import x\n") + line + "\n"),
                ElementsAre(testing::AllOf(testing::StartsWith("n.py:2: "),
                                           HasSubstr("whichever it gets; write "))))
        << line;
    EXPECT_THAT(warned_of("n.py", std::string(line) + "\n", 2), IsEmpty()) << line;
  }
  for (const char* const line : {"t = Trainer(devices=4)", "t = L.Fabric(\n  devices=4)",
                                 "t = pl.Trainer(gpus=4)", "LLM(m, tensor_parallel_size=4)"}) {
    EXPECT_THAT(warned_of("n.py", std::string(line) + "\n"),
                ElementsAre(HasSubstr("=4 is more than the 1 GPU that the job asks for; --gpus 4")))
        << line;
    EXPECT_THAT(warned_of("n.py", std::string(line) + "\n", 4), IsEmpty()) << line;
  }
  EXPECT_THAT(warned_of("n.py", "os.environ['MASTER_PORT'] = '29500'\n"),
              ElementsAre(HasSubstr("MASTER_PORT=29500: all who leave it")));
}

TEST_F(OfScripts, NothingIsSaidOfWhatMayBeOtherwise) {
  for (const char* const line : {"# model.cuda(1)",
                                 "'use cuda:1'",
                                 "x = 'cuda:1 is the second'",
                                 "model.cuda(rank)",
                                 "torch.cuda.set_device(args.gpu)",
                                 "def f(device='cuda:1'): pass",
                                 "p.add_argument('--d', default='cuda:1')",
                                 "d = 'cuda:1' if two else 'cuda:0'",
                                 "d = 'cuda:0' if one else 'cuda:1'",
                                 "if d == 'cuda:1': pass",
                                 "load(f, map_location={'cuda:1': 'cuda:0'})",
                                 "t = Trainer(devices=n)",
                                 "t = Trainer(accelerator='cpu', devices=4)",
                                 "devices = [0, 1]",
                                 "gpus = 4",
                                 "t = Trainer(devices='auto')",
                                 "print('cuda:1')",
                                 "x = jax.devices('cpu')[1]",
                                 "d = os.environ.get('DEV', 'cuda:1')",
                                 "t = Trainer(devices=-1)",
                                 "if torch.cuda.device_count() > 1:\n  m.cuda(1)",
                                 "version = 'cuda:12.4'",
                                 "if 'CUDA_VISIBLE_DEVICES' not in os.environ:\n"
                                 "  os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
                                 "x = \"\"\"\nd = 'cuda:1'\n\"\"\"",
                                 "t = Trainer(devices=2 * k)",
                                 "a.cuda(1 if b else 0)"}) {
    EXPECT_THAT(warned_of("q.py", std::string(line) + "\n"), IsEmpty()) << line;
  }
  EXPECT_THAT(warned_of("q.sh",
                        "if [ -z \"$CUDA_VISIBLE_DEVICES\" ]; then\n"
                        "  export CUDA_VISIBLE_DEVICES=0\nfi\n"
                        "cat > note <<EOF\nsudo python t.py --gpu 1\nEOF\n"
                        "docker_args=\"--gpu 1\"\nssh -N -L 80:x:80 host\n"),
              IsEmpty());
}

TEST_F(OfScripts, ShellsAreReadAsCommands) {
  EXPECT_THAT(warned_of("s.sh",
                        "cd x && sudo python t.py\nssh -p 22 host nvidia-smi\n"
                        "python t.py --devices '[1]'\n"),
              ElementsAre(HasSubstr("s.sh:1: sudo: it drops"), HasSubstr("s.sh:2: ssh: what it"),
                          HasSubstr("s.sh:3: --devices [1]: a job that asks for 1 GPU")));
  EXPECT_THAT(warned_of("h.sh", "python - <<'EOF'\nimport torch\nx.cuda(1)\nEOF\n"),
              ElementsAre(HasSubstr("h.sh:3: .cuda(1): a job that asks for 1 GPU sees cuda:0")));
  EXPECT_THAT(warned_of("l.sh", "torchrun \\\n  --nproc_per_node 4 \\\n  t.py\n"),
              ElementsAre(HasSubstr("l.sh:2: --nproc_per_node 4 is more")));
  EXPECT_THAT(warned({"python", "t.py", "--gpus", "0,1"}),
              ElementsAre(HasSubstr("--gpus 0,1: a job that asks for 1 GPU sees number 0 alone")));
  EXPECT_THAT(warned({"python", "-c", "import torch; torch.zeros(1).cuda(1)"}),
              ElementsAre(HasSubstr(".cuda(1): a job")));
  EXPECT_THAT(warned({"berth", "run", "--gpus", "4", "--", "python", "x.py"}), IsEmpty());
}

TEST(GpuHabits, OfSweepsNameTheTask) {
  const auto of_sweep = [](const char* option, const char* name,
                           const std::vector<std::string>& values) {
    GpuProgram program{.command = {"python", "t.py", option, "{" + std::string(name) + "}"},
                       .directory = ".",
                       .gpus = 1};
    for (const std::string& value : values) program.points.push_back({{name, value}});
    return habits_of_gpus(program).warnings;
  };
  EXPECT_THAT(of_sweep("--gpu", "gpu", {"0", "1", "2"}),
              ElementsAre(HasSubstr("task 2 (gpu=1): --gpu 1: a job that asks for 1 GPU")));
  EXPECT_THAT(of_sweep("--lr", "lr", {"1", "2"}), IsEmpty());
  EXPECT_THAT(of_sweep("--lr", "d", {"cpu", "cuda:1"}),
              ElementsAre(HasSubstr("task 2 (d=cuda:1): cuda:1: a job")));
}

TEST_F(OfScripts, PartsOfACardAreFound) {
  const auto parts_of = [&](const char* name, const char* text) {
    folder_.write(name, text);
    std::string told;
    const std::vector<std::string> command{std::string(name).ends_with(".py") ? "python" : "bash",
                                           name};
    const GpuProgram program{
        .command = command, .directory = folder_.path().string(), .gpus = std::nullopt};
    for (const MemoryShare& share : habits_of_gpus(program).shares) {
      told += share.where + share.written + "|";
    }
    return told;
  };
  EXPECT_EQ(parts_of("v.py",
                     "llm = LLM(m, gpu_memory_utilization=0.9)\n"
                     "torch.cuda.set_per_process_memory_fraction(.5, 0)\n"
                     "os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '.75'\n"
                     "LLM(m, gpu_memory_utilization=args.part)\n"
                     "print('gpu_memory_utilization=0.9')\n"),
            "v.py:1: gpu_memory_utilization=0.9|v.py:2: set_per_process_memory_fraction(.5)|"
            "v.py:3: XLA_PYTHON_CLIENT_MEM_FRACTION=.75|");
  EXPECT_EQ(parts_of("v.sh",
                     "XLA_PYTHON_CLIENT_MEM_FRACTION=.8 python t.py\n"
                     "vllm serve m --gpu-memory-utilization 0.9\n"),
            "v.sh:1: XLA_PYTHON_CLIENT_MEM_FRACTION=.8|v.sh:2: --gpu-memory-utilization 0.9|");
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
