// Goal: of a command whose words do not say what is run, nothing is learned; of every other, it is.
// Method: command lines as people write them.
#include "live/sessions.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/command.hpp"

namespace berth::live {
namespace {

/// Divided at blanks; what stands behind `|` is one word.
Command line(const std::string& text) {
  Command made{.arguments = {}, .directory = "/data/ada/project", .owner = {}, .environment = {}};
  const std::size_t bar = text.find('|');
  std::string word;
  for (const char c : text.substr(0, bar) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      made.arguments.push_back(std::exchange(word, ""));
    }
  }
  if (bar != text.npos) made.arguments.push_back(text.substr(bar + 1));
  return made;
}

TEST(Sessions, AreOfNoProgram) {
  for (const char* const text : {"bash",
                                 "sh",
                                 "zsh",
                                 "/bin/bash",
                                 "bash -l",
                                 "bash -i",
                                 "bash -s",
                                 "bash -s 7",
                                 "bash -",
                                 "bash --norc -o pipefail",
                                 "bash --rcfile my.rc",
                                 "bash /dev/fd/63",
                                 "python3",
                                 "python",
                                 "python3 -",
                                 "python3 -i train.py",
                                 "python3 -u",
                                 "python3 -W ignore",
                                 "python3.11 -X dev",
                                 "/opt/conda/bin/python3",
                                 "python3 /dev/stdin",
                                 "R",
                                 "R --no-save",
                                 "julia",
                                 "julia -t 8 --project=.",
                                 "node",
                                 "ipython",
                                 "ipython --pylab auto",
                                 "ipython kernel",
                                 "python3 -m IPython",
                                 "jupyter lab",
                                 "jupyter-lab --port 8888",
                                 "jupyter notebook a.ipynb",
                                 "python3 -m jupyter lab",
                                 "python3 -m ipykernel_launcher -f /run/kernel-7.json",
                                 "tmux",
                                 "tmux new -s train",
                                 "screen -S a",
                                 "code-server",
                                 "marimo edit a.py",
                                 "wandb agent ada/p/x1",
                                 "python3 -m wandb agent x1",
                                 "ray start --head",
                                 "dask worker tcp://a:1",
                                 "dask-cuda-worker a",
                                 "env MODEL=7b bash",
                                 "nice -n 10 bash",
                                 "timeout 8h jupyter lab",
                                 "conda run -n ml jupyter lab",
                                 "uv run ipython",
                                 "poetry shell",
                                 "nohup python3 -",
                                 "singularity exec --nv image.sif bash",
                                 "singularity shell --nv image.sif",
                                 "docker run --rm -it --gpus all pytorch/pytorch bash",
                                 "sudo -u ada bash -l",
                                 "bash -c|jupyter lab",
                                 "bash -lc|source venv/bin/activate && exec jupyter lab --port 1",
                                 "bash -c|cd x; bash",
                                 "bash -c|PORT=1 code-server",
                                 "bash -euo pipefail -c|exec ipython",
                                 "python3 /opt/ComfyUI/main.py",
                                 "bash /srv/ada/stable-diffusion-webui/webui.sh"}) {
    const Command command = line(text);
    EXPECT_TRUE(is_session(command.arguments, command.directory)) << text;
    EXPECT_EQ(fingerprint_of(command), Fingerprint(0)) << text;
    EXPECT_EQ(memory_fingerprint_of(command), Fingerprint(0)) << text;
  }
  const Command page = line("python3 main.py --listen");
  EXPECT_TRUE(is_session(page.arguments, "/srv/ada/ComfyUI"));
  EXPECT_FALSE(is_session(page.arguments, "/srv/ada/project"));
}

TEST(Sessions, AreNotCommandsThatSayWhatIsRun) {
  for (const char* const text : {"python3 train.py",
                                 "python3 -u train.py",
                                 "python3 -W ignore train.py -i",
                                 "python3 -m train",
                                 "python3 -m torch.distributed.run train.py",
                                 "python3 -c|import torch",
                                 "python3 -m jupyter nbconvert --execute a.ipynb",
                                 "jupyter nbconvert --execute a.ipynb",
                                 "bash run.sh",
                                 "bash -x run.sh -s",
                                 "bash -o pipefail run.sh",
                                 "bash -i run.sh",
                                 "./run.sh",
                                 "sh -c|sleep 3; exec python3 train.py",
                                 "bash -c|python3 train.py",
                                 "bash -c|bash run.sh",
                                 "bash -c|cat a.py && python3 - <<< 'print(7)'",
                                 "bash -c|cat train.py | python3 -",
                                 "Rscript train.R",
                                 "R -f train.R",
                                 "R CMD BATCH train.R",
                                 "julia -t 8 train.jl",
                                 "julia -e|f(7)",
                                 "node --max-old-space-size=1 train.js",
                                 "ipython train.py",
                                 "matlab -batch train",
                                 "torchrun --nproc_per_node 8 train.py",
                                 "accelerate launch train.py",
                                 "env MODEL=7b python3 train.py",
                                 "timeout 8h bash run.sh",
                                 "conda run -n ml python3 train.py",
                                 "uv run --with torch train.py",
                                 "srun -n 4 python3 train.py",
                                 "make train",
                                 "docker run --rm --gpus all pytorch/pytorch python3 train.py",
                                 "numactl --cpunodebind=0 ./train --lr 1",
                                 "wandb sync runs",
                                 "ray job submit train.py",
                                 "berth-load --vram 3G",
                                 "env",
                                 ""}) {
    Command command = line(text);
    if (command.arguments.empty()) command.arguments.emplace_back();
    EXPECT_FALSE(is_session(command.arguments, command.directory)) << text;
    EXPECT_NE(fingerprint_of(command), Fingerprint(0)) << text;
  }
}

/// A step of the engine does it.
TEST(Sessions, OfManyWordsAreFoundInOneLook) {
  std::vector<std::string> words;
  for (int i = 0; i < 20'000; ++i) words.insert(words.end(), {"nice", "-n"});
  EXPECT_FALSE(is_session(words, "/"));
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "bash -c env;";
  EXPECT_FALSE(is_session(std::vector<std::string>{"bash", "-c", text}, "/"));
}

}  // namespace
}  // namespace berth::live
