// Goal: runs of one and the same thing are one program, and whatever may need other memory or time
// is another.
// Method: pairs of command lines as people write them.
#include "live/telling_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/command.hpp"

namespace berth::live {
namespace {

/// `python3 train.py` and these words, divided at blanks.
Command command(const std::string& words, const std::string& start = "python3 train.py") {
  Command made{.arguments = {}, .directory = "/data/ada/project", .owner = {}, .environment = {}};
  std::string word;
  for (const char c : start + " " + words + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      made.arguments.push_back(std::exchange(word, ""));
    }
  }
  return made;
}

void expect_same(const Command& one, const Command& other, const std::string& which) {
  EXPECT_EQ(fingerprint_of(one), fingerprint_of(other)) << which;
  EXPECT_EQ(memory_fingerprint_of(one), memory_fingerprint_of(other)) << which;
}
void expect_other(const Command& one, const Command& other, const std::string& which) {
  EXPECT_NE(fingerprint_of(one), fingerprint_of(other)) << which;
  EXPECT_NE(memory_fingerprint_of(one), memory_fingerprint_of(other)) << which;
}

TEST(TellingWords, WhatIsNewInEveryRunDoesNotCount) {
  const Command plain = command("--model llama-7b");
  for (const char* const more : {"--seed 1",
                                 "--seed=2",
                                 "seed=3",
                                 "+trainer.seed=1",
                                 "--random_seed 42",
                                 "--manualSeed 7",
                                 "--data-seed=9",
                                 "--master_port 29501",
                                 "--master-port=29502",
                                 "--port 8000",
                                 "--main_process_port 1",
                                 "--local_rank 3",
                                 "--local-rank=0",
                                 "--node_rank 1",
                                 "--rank=2",
                                 "--rdzv_endpoint node7:29400",
                                 "--rdzv-id=17",
                                 "--master_addr 10.0.0.3",
                                 "--worker_seed 3",
                                 "--output runs/17",
                                 "--output=runs/2026-11-27_10-30-11",
                                 "--output_dir out",
                                 "-output out",
                                 "--out out.txt",
                                 "--out_dir 17",
                                 "--output-dir out/exp17",
                                 "--work-dir work/3",
                                 "--ckpt_dir ckpt/20261127",
                                 "--checkpoint_dir checkpoints/17",
                                 "--run_name run-17",
                                 "--run_name=20261127T103011Z",
                                 "--wandb_id 1x7k2b9q",
                                 "WANDB_RUN_ID=q5x8zk1t",
                                 "--exp_id 3",
                                 "--exp_id 3f2a9c01-77aa-4b1c-8d2e-0123456789ab",
                                 "--trial 4",
                                 "--job_id 123456",
                                 "--timestamp 1764230400",
                                 "--tag 2026-11-27",
                                 "--name exp7",
                                 "--save-dir=models/17",
                                 "--log_dir /tmp/logs/3",
                                 "hydra.run.dir=outputs/17",
                                 "--resume ckpt/epoch_3.pt",
                                 "--resume=ckpt/epoch_4.pt",
                                 "--resume_from_checkpoint out/checkpoint-500",
                                 "trainer.resume=last"}) {
    expect_same(command(std::string("--model llama-7b ") + more), plain, more);
    expect_same(command(std::string(more) + " --model llama-7b"), plain, more);
  }
  for (const char* const environment : {"SEED=1", "MASTER_PORT=29501", "RANK=0", "LOCAL_RANK=3"}) {
    const std::string start = std::string("env ") + environment + " python3 train.py";
    expect_same(command("", start), command("", "env python3 train.py"), environment);
  }
}

TEST(TellingWords, WordsAndNumbersMakeAnotherProgram) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"--model llama-7b", "--model llama-70b"},
           {"--model=llama-7b", "--model=llama-70b"},
           {"model=llama-7b", "model=llama-70b"},
           {"+model=llama-7b", "+model=llama-70b"},
           {"llama-7b", "llama-70b"},
           {"7", "70"},
           {"--config small.yaml", "--config big.yaml"},
           {"--config conf/1.yaml --x", "--config conf/2.json --x"},
           {"--config a/base.yaml", "--config b/base.yaml"},
           {"--batch_size 8", "--batch_size 64"},
           {"--batch-size=8", "--batch-size=64"},
           {"batch_size=8", "batch_size=64"},
           {"-b 8", "-b 64"},
           {"--lr 1e-3", "--lr 1e-4"},
           {"--layers 12", "--layers 24"},
           {"--lora_rank 8", "--lora_rank 256"},
           {"--max_steps 100", "--max_steps 100000"},
           {"--steps_per_epoch 10", "--steps_per_epoch 1000"},
           {"--seeds 1", "--seeds 5"},
           {"--data cifar10", "--data imagenet"},
           {"--data /data/cifar", "--data /data/imagenet"},
           {"--seed_everything", ""},
           {"--n_output 10", "--n_output 10000"},
           {"--resume configs/small.yaml", "--resume configs/big.yaml"},
           {"--resume ckpt/llama-7b.pt", "--resume ckpt/llama-70b.pt"},
           {"--restore_from gpt2-small", "--restore_from gpt2-xl"},
           {"resume=unet64", "resume=unet512"},
           {"--rank 8", "--rank 256"},
           {"--seed_len 512", "--seed_len 8192"},
           {"--num_seed 1", "--num_seed 64"},
           {"--n_seed 1", "--n_seed 64"},
           {"--exp_file exps/yolox_s.py", "--exp_file exps/yolox_x.py"},
           {"--run_file a.py", "--run_file b.py"},
           {"--experiment_file a.yaml", "--experiment_file b.yaml"},
           {"--out_dir=out-gpt2", "--out_dir=out-gpt2-xl"},
           {"--run_dir runs/resnet18", "--run_dir runs/vit-huge"},
           {"--output_dir out/llama-7b", "--output_dir out/llama-70b"},
           {"--output_dir out/7b/17", "--output_dir out/70b/17"},
           {"--output=runs/small", "--output=runs/big"},
           {"--output model.7b.pt", "--output model.70b.pt"},
           {"--results_dir res/resnet18", "--results_dir res/vit-h"},
           {"--save-path a", "--save-path b"},
           {"--model-out llama7", "--model-out llama70"},
           {"--output 4k", "--output 1k"},
           {"--output 1024", "--output 4096"},
           {"--output logits", "--output hidden"},
           {"--fan_out 10,10", "--fan_out 100,100"},
           {"--layer-out big", "--layer-out small"},
           {"--run_name llama-7b-17", "--run_name llama-70b-17"},
           {"--exp_id resnet18", "--exp_id resnet50"},
           {"--wandb_id resnet18", "--wandb_id resnet50"},
           {"--checkpoint_dir checkpoints/llama-7b", "--checkpoint_dir checkpoints/llama-70b"},
           {"--name yolo-s", "--name yolo-x"},
           {"--cfg job1.yaml", "--cfg job2.yaml"},
           {"--config conf/trial-1.yaml", "--config conf/trial-2.yaml"},
           {"--data data/256", "--data data/512"},
           {"data/imagenet/64", "data/imagenet/512"},
           {"--checkpoint llama-7b/epoch_3.pt", "--checkpoint llama-70b/epoch_3.pt"},
           {"--fp16", "--bf16"},
           {"--checkpointing", ""},
           {"--model_name_or_path meta/Llama-2-7b", "--model_name_or_path meta/Llama-2-70b"},
           {"serve meta/Llama-2-7b --port 1", "serve meta/Llama-2-13b --port 1"},
           {"--model ollama:7b", "--model ollama:70b"},
           {"--gpus 1", "--gpus 8"}}) {
    expect_other(command(one), command(other), one + " and " + other);
  }
}

TEST(TellingWords, WhatIsRunCounts) {
  const Command plain = command("");
  for (const char* const other :
       {"python3 eval.py", "python3 sub/train.py", "python3 /data/bob/train.py", "python3 -m train",
        "python3 -m pkg.train", "python3 -c pass", "torchrun train.py"}) {
    expect_other(plain, command("", other), other);
  }
  expect_other(command("", "python3 -m pkg.train"), command("", "python3 -m pkg.tune"), "-m");
  expect_other(command("", "python3 -c f(7)"), command("", "python3 -c f(70)"), "-c");
  expect_other(command("", "/data/ada/a/run.sh"), command("", "/data/ada/b/run.sh"), "script");
  expect_other(command("", "./job1.sh"), command("", "./job2.sh"), "the first of two scripts");
  expect_other(command("", "bash job1.sh"), command("", "bash job2.sh"), "and by a shell");
  expect_same(plain, command("", "/opt/conda/bin/python3 ./train.py"), "installed elsewhere");
  expect_same(plain, command("", "python3 ../project/train.py"), "the same file");
  expect_same(command("", "python3 /data/ada/runs/17/train.py"),
              command("", "python3 /data/ada/runs/18/train.py"), "a copy for every run");
  Command elsewhere = plain;
  elsewhere.directory = "/data/ada/other";
  expect_other(plain, elsewhere, "another script of that name");
  Command module = command("", "python3 -m train");
  elsewhere = module;
  elsewhere.directory = "/data/ada/other";
  expect_other(module, elsewhere, "another module of that name");
  Command installed = command("--vram 3G", "berth-load");
  elsewhere = installed;
  elsewhere.directory = "/tmp";
  expect_same(installed, elsewhere, "the same program from another folder");
}

TEST(TellingWords, AreThoseOfACommandLineInOneWord) {
  const auto shell = [](const std::string& line) {
    Command made = command("", "sh -c");
    made.arguments.push_back(line);
    return made;
  };
  expect_same(shell("python3 train.py --seed 1"), shell("python3 train.py  --seed=2"), "seed");
  expect_same(shell("sleep 3; exec python3 train.py\n--seed 7"),
              shell("sleep 3; exec python3 train.py\n--seed 8"), "lines");
  expect_other(shell("python3 train.py --model 7b"), shell("python3 train.py --model 70b"),
               "model");
  expect_other(shell("python3 train.py"), shell("python3 eval.py"), "script");
}

TEST(TellingWords, NumbersOfRunsInPathsDoNotCount) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"ckpt/epoch_3.pt", "ckpt/epoch_14.pt"},
           {"--weights out/checkpoint-500", "--weights out/checkpoint-1000"},
           {"--weights lightning_logs/version_3/last.ckpt",
            "--weights lightning_logs/version_4/last.ckpt"},
           {"--weights runs/17/best.pt", "--weights runs/18/best.pt"},
           {"--dir runs/2026-11-27/a", "--dir runs/2026-11-28/a"},
           {"--config runs/17/config.yaml", "--config runs/18/config.yaml"},
           {"--init_method tcp://node:29501", "--init_method tcp://node:29502"},
           {"--dist-url tcp://127.0.0.1:1000", "--dist-url tcp://127.0.0.1:2000"},
           {"--server localhost:8000", "--server localhost:8001"}}) {
    expect_same(command(one), command(other), one + " and " + other);
  }
}

/// But what else is in such a name.
TEST(TellingWords, WhatIsNewInTheNameOfARunDoesNotCount) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"--output_dir /data/ada/out/17", "--output_dir /data/ada/out/18"},
           {"--output_dir out/llama-7b/2026-11-27", "--output_dir out/llama-7b/2026-11-28"},
           {"--output_dir out/llama-7b_20261127_103011",
            "--output_dir out/llama-7b_20261128_114500"},
           {"--log_dir logs/2026-11-27_10-30-11-llama", "--log_dir logs/2026-11-28_11-45-00-llama"},
           {"--save_dir s/vit-seed3", "--save_dir s/vit-seed4"},
           {"--work-dir work/mask-rcnn/exp3", "--work-dir work/mask-rcnn/exp4"},
           {"--run_name llama-1764230400", "--run_name llama-1764230999"},
           {"--name llama/3f2a9c01", "--name llama/99b1c2d4"}}) {
    expect_same(command(one), command(other), one + " and " + other);
  }
}

TEST(TellingWords, OfVariablesBeforeTheCommandAreRead) {
  expect_other(command("", "env MODEL=7b python3 train.py"),
               command("", "env MODEL=70b python3 train.py"), "env");
  const auto with = [](std::vector<std::string> words, const std::string& directory = "") {
    Command made = command("");
    note_programs(made, {.words = std::move(words), .directory = directory});
    return made;
  };
  expect_other(with({"MODEL=7b"}), with({"MODEL=70b"}), "typed for the job");
  expect_other(with({"MODEL=7b"}), command(""), "or not");
  expect_same(with({"SEED=1", "MASTER_PORT=29501"}), command(""), "what is new in every run");
  expect_other(with({"sha256:11"}), with({"sha256:12"}), "a file that was edited");
  const Command noted = with({"MODEL=7b"});
  EXPECT_EQ(decode_command(encode(noted))->programs, noted.programs) << "it is kept";
}

TEST(TellingWords, OfACopyAreThoseOfItsOriginal) {
  const auto copy = [](const std::string& folder) {
    Command made = command("--config cfg/c.yaml");
    made.directory = "/srv/ada/.local/state/berth/snapshots/project-" + folder;
    made.snapshot = made.directory;
    note_programs(made, {.words = {}, .directory = "/data/ada/project"});
    return made;
  };
  expect_same(copy("a1B2c3"), copy("d4E5f6"), "copies");
  expect_same(copy("a1B2c3"), command("--config cfg/c.yaml"), "and the original");
}

/// Each does what its number says.
TEST(TellingWords, OfTasksTheNumberCountsForMemory) {
  const Command plain = command("");
  EXPECT_NE(memory_fingerprint_of(plain, 0), memory_fingerprint_of(plain, 1));
  EXPECT_NE(memory_fingerprint_of(plain, 0), memory_fingerprint_of(plain));
  EXPECT_EQ(memory_fingerprint_of(plain, 7), memory_fingerprint_of(command("--seed 3"), 7));
  EXPECT_EQ(memory_fingerprint_of(command("", "bash"), 7), Fingerprint(0));
  const Command sweep = command("--seed {s} --batch {b}");
  const auto of_point = [&](const char* seed, const char* batch, const char* layers = "2") {
    return memory_fingerprint_of(
        sweep, Point{{"s", seed}, {"b", batch}, {"layers", layers}, {"seed", seed}});
  };
  EXPECT_EQ(of_point("1", "8"), of_point("2", "8"));
  EXPECT_NE(of_point("1", "8"), of_point("1", "16"));
  EXPECT_NE(of_point("1", "8"), of_point("1", "8", "3"));
}

TEST(TellingWords, EpochsCountForTimeAndNotForMemory) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"--epochs 1", "--epochs 300"},
           {"--epochs=1", "--epochs=300"},
           {"trainer.max_epochs=1", "trainer.max_epochs=300"},
           {"--num_train_epochs 3", "--num_train_epochs 30"},
           {"--nepochs 3", "--nepochs 30"},
           {"--start-epoch 3", "--start-epoch 4"}}) {
    EXPECT_NE(fingerprint_of(command(one)), fingerprint_of(command(other))) << one;
    EXPECT_EQ(memory_fingerprint_of(command(one)), memory_fingerprint_of(command(other))) << one;
  }
}

TEST(TellingWords, HoweverTheyAreWrittenTheyAreTheSame) {
  expect_same(command("--batch_size 8"), command("--batch_size=8"), "=");
  Command other = command("--batch_size 8");
  other.environment = BlobId(7);
  expect_same(command("--batch_size 8"), other, "environment");
  other.owner.user = 7;
  expect_other(command("--batch_size 8"), other, "user");
}

TEST(TellingWords, OfAnythingThereAreSome) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {""},
           {"=", "--", "-", "--=", "a=", "=b"},
           {"/", "//", "./", "../.."},
           {"--seed"},
           {"\xff\xfe", std::string(100'000, 'x'), std::string(100'000, '7')}}) {
    EXPECT_FALSE(telling_words(arguments, "/", Telling::Memory).empty());
  }
}

}  // namespace
}  // namespace berth::live
