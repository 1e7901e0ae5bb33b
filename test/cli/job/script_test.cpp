// Goal: a script's own options are read as if typed, those typed win, and nothing of an #SBATCH
// line is dropped in silence; options of other queues are answered with what to say here.
// Method: scripts in a folder of the test, and the request made of them.
#include "cli/job/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>

#include "cli/job/foreign_flags.hpp"
#include "cli/job/other_queues.hpp"
#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Script : public testing::Test {
 protected:
  /// `job.sh` with this text.
  void write(const std::string& text, mode_t mode = 0755) {
    std::ofstream(folder_.path() / "job.sh") << text;
    ASSERT_EQ(::chmod((folder_.path() / "job.sh").c_str(), mode), 0);
  }
  Expected<Submission> submit(JobOptions options = {}) {
    if (options.command.empty()) options.command = {"./job.sh", "--lr", "1"};
    return submission_of(options, {.environment = {"A=1"}, .directory = folder_.path().string()});
  }
  Json body_of(JobOptions options = {}) {
    const auto made = submit(std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->body : Json::object();
  }
  std::string refusal() {
    const auto made = submit();
    return made ? "taken" : made.error().message;
  }

  test::ScratchFolder folder_;
};

/// One that came through a pipe, as the words of its command; what is wrong with it.
std::vector<std::string> taken(const std::string& text, JobOptions& options) {
  const auto done = take_script(options, text, {"--lr", "1"}, {.directory = "/tmp"});
  return done ? options.command : std::vector<std::string>{done.error().message};
}
std::vector<std::string> taken(const std::string& text) {
  JobOptions options;
  return taken(text, options);
}

TEST(ScriptWithoutAFile, IsAWordOfItsCommand) {
  const std::string bash = "#!/bin/bash -e\n#BERTH --vram 2G\n#SBATCH -t 10\necho $1\n";
  JobOptions options;
  EXPECT_THAT(taken(bash, options),
              ElementsAre("/bin/bash", "-e", "-c", bash, "stdin", "--lr", "1"));
  EXPECT_EQ(options["--vram"], "2G");
  EXPECT_EQ(options["--time"], "10min");
  EXPECT_EQ(options["--name"], "stdin");
  EXPECT_THAT(taken("date\n"), ElementsAre("/bin/sh", "-c", "date\n", "stdin", "--lr", "1"));
  const std::string python = "#!/usr/bin/env -S python3.11 -u\nprint(1)\n";
  EXPECT_THAT(taken(python),
              ElementsAre("/usr/bin/env", "-S python3.11 -u", "-c", python, "--lr", "1"));
}

TEST(ScriptWithoutAFile, ThatCannotBeAWordIsRefused) {
  EXPECT_THAT(taken(" \n"), ElementsAre("stdin: the script is empty"));
  EXPECT_THAT(taken(std::string("a\0b", 3)), ElementsAre("stdin: is no text"));
  EXPECT_THAT(taken("#!/usr/bin/awk -f\n"),
              ElementsAre("stdin: a script for /usr/bin/awk cannot be taken that way; name its "
                          "file instead"));
  EXPECT_THAT(taken(std::string(120'001, 'a')),
              ElementsAre(HasSubstr("120001 bytes, berth takes 120000 at most")));
  EXPECT_THAT(taken("#!/bin/sh\n#BERTH --vran 2G\n"), ElementsAre(HasSubstr("stdin:2: #BERTH")));
}

TEST_F(Script, OfSlurmIsToldWhatSlurmTellsIt) {
  write(
      "#!/bin/bash\n"
      "#SBATCH -J train -n 1 --cpus-per-task=3 --mem=2G --partition=gpu\n");
  const Json variables = body_of()["environment"];
  for (const char* variable :
       {"BERTH_SLURM=1", "SLURM_JOB_NAME=train", "SLURM_NTASKS=1", "SLURM_NPROCS=1",
        "SLURM_CPUS_PER_TASK=3", "SLURM_MEM_PER_NODE=2048", "SLURM_JOB_PARTITION=gpu"}) {
    EXPECT_TRUE(std::ranges::find(variables, variable) != variables.end()) << variable;
  }
  write("#!/bin/bash\n#BERTH --name plain\n");
  EXPECT_THAT(body_of()["environment"].dump(), testing::Not(HasSubstr("SLURM")));
}

TEST_F(Script, ItsGflowLinesAreReadForGbatchAndNamedToOthers) {
  write(
      "#!/bin/bash -e\n"
      "# GFLOW --gpus=1\n"
      "#GFLOW --name 'two words'\n"
      "echo hello\n");
  const auto made = submit();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->warnings,
              ElementsAre("./job.sh:2: #GFLOW lines are left out; berth compat gbatch reads them"));
  const std::string path = (folder_.path() / "job.sh").string();
  const auto script = gflow_script(path);
  ASSERT_TRUE(script) << script.error().message;
  ASSERT_THAT(script->lines, SizeIs(2));
  EXPECT_EQ(script->lines[0].where, path + ":2: ");
  EXPECT_THAT(script->lines[0].words, ElementsAre("--gpus=1"));
  EXPECT_THAT(script->lines[1].words, ElementsAre("--name", "two words"));
  EXPECT_THAT(script->command, ElementsAre("/bin/bash", "-e", path));
  write("#!/bin/bash\n#BERTH --hold\n");
  EXPECT_THAT(gflow_script(path)->lines, IsEmpty());
}

TEST_F(Script, ItsLinesForQueuesThatAreNotReadAreNamedOnce) {
  const std::string rest = " lines are left out; say #BERTH --gpus N --vram SIZE --time DURATION";
  for (const std::string mark : {"#OAR", "#COBALT", "#MSUB", "#PJM", "#FLUX:", "# flux:"}) {
    write("#!/bin/bash\n" + mark + " -n 1\n" + mark + " -t 30\necho\n" + mark + " -n 2\n");
    const auto made = submit();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_THAT(made->warnings, ElementsAre("./job.sh:2: " + mark + rest));
  }
  write("#!/bin/bash\n#OAR\n#OARSUB -l\n#OAR is a queue\n# influx: none\n");
  EXPECT_THAT(submit()->warnings, IsEmpty());
}

TEST_F(Script, ItsLinesForPbsLsfAndGridEngineAreReadAndItFindsItsFolder) {
  write(
      "#!/bin/bash\n"
      "#PBS -N train\n"
      "#PBS -l select=1:ngpus=2:mem=16gb,walltime=4:00:00 -j oe\n"
      "#PBS -q gpu\n"
      "#$ -pe smp 8 # slots\n"
      "cd $PBS_O_WORKDIR\n"
      "#PBS -N late\n");
  const auto made = submit();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->warnings, ElementsAre("./job.sh:4: #PBS -q gpu is left out: there are no "
                                          "queues; --class and --gpu-type say what a job needs"));
  const std::string folder = folder_.path().string();
  EXPECT_THAT(made->body.at("environment"),
              testing::IsSupersetOf({Json("PBS_O_WORKDIR=" + folder), Json("PBS_JOBNAME=train"),
                                     Json("SGE_O_WORKDIR=" + folder), Json("JOB_NAME=train")}));
  EXPECT_FALSE(made->body.value("program_words", Json()).dump().contains(folder));
  const Json body = made->body;
  EXPECT_EQ(body["name"], "train");
  EXPECT_EQ(body["gpus"], 2);
  EXPECT_EQ(body["cpus"], 8.0);
  EXPECT_EQ(body["mem_bytes"], std::int64_t{16} << 30);
  EXPECT_EQ(body["time_limit_seconds"], 4 * 3600.0);
  write("#!/bin/bash\n#$HOME, and #$ alone\n#$ is no option\n#PBSX -l\n#PBS\n");
  const auto plain = submit();
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_THAT(plain->warnings, IsEmpty());
  EXPECT_THAT(plain->body.at("environment"), ElementsAre("A=1"));
  write("#!/bin/bash\n#BERTH --gpus 4\n#PBS -l ngpus=2\n");
  EXPECT_EQ(body_of()["gpus"], 4) << "berth's own lines go first";
}

/// As #MARK OPTIONS -> options of `submit`; then what is left out.
TEST(OtherQueues, TheirOptionsMeanTheSameHere) {
  struct Line {
    std::string text;
    std::string words;
    std::string left_out = "";
  };
  const auto lines = std::to_array<Line>({
      {"#PBS -Ntrain -V -J 1-100%8", "--name train --array 1-100%8"},
      {"#PBS -l nodes=1:ppn=8:gpus=2", "--cpus 8 --gpus 2"},
      {"#PBS -l select=2:ngpus=4", "--gpus 4", "-l select=2"},
      {"#PBS -l select=1:ngpus=1+1:ncpus=1", "", "-l select=1:ngpus=1+1:ncpus=1"},
      {"#PBS -l place=scatter:excl", "", "-l place=scatter:excl"},
      {"#PBS -o host:/logs/ -e err", "--output /logs/%x.o%j", "-e err"},
      {"#PBS -o 100%^array_index^", "--output 100%%%a"},
      {"#PBS -W depend=afterok:7:8,afterany:9", "--after-ok 7,8 --after-any 9"},
      {"#PBS -m abe -M ann", "--notify-on fail,start,end --notify ann@localhost"},
      {"#PBS -m n -h -v A=1,B=2", "--hold --env A=1 --env B=2"},
      {"#BSUB -J sweep[1-100]%8 -n 4 -W 4:30",
       "--name sweep --array 1-100%8 --cpus 4 --time 4h30min"},
      {"#BSUB -J plain -W 90 -x -H", "--name plain --time 90min --exclusive --hold"},
      {"#BSUB -gpu num=2:gmem=10G:mode=shared:j_exclusive=yes", "--gpus 2 --vram 10G --exclusive"},
      {"#BSUB -gpu num=1:gmem=512:gmodel=V100:mps=no", "--gpus 1 --vram 512M", "-gpu gmodel=V100"},
      {"#BSUB -o out.%J.%I -R rusage[mem=1]", "--output out.%A.%a", "-R rusage[mem=1]"},
      {"#BSUB -w done(7)&&ended(8)&&9", "--after-ok 7,9 --after-any 8"},
      {"#BSUB -w done(\"prep\")&&done(7)", "--after-ok prep,7"},
      {"#$ -N train -cwd -j y -t 1-10 -tc 2", "--name train --array 1-10 --at-once 2"},
      {"#$ -l gpu=2,h_rt=3600 -pe smp 8", "--gpus 2 --time 3600 --cpus 8"},
      {"#$ -l h_vmem=4G", "", "-l h_vmem=4G"},
      {"#$ -o logs/$JOB_NAME.$JOB_ID.$TASK_ID", "--output logs/%x.%A.%a"},
      {"#$ -hold_jid 7,prep-* -wd /tmp", "--after-any 7,prep-* --cwd /tmp"},
      {"#$ -zzz 3 -N a", "--name a", "-zzz 3"},
      {"#$ -hard -l gpu=1", "--gpus 1", "-hard"},
  });
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  const auto read = [](const std::string& line) {
    std::istringstream text(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    const auto queues = other_queues();
    const auto queue = std::ranges::find(queues, words.front(), &OtherQueue::mark);
    return options_of_queue(*queue, std::span(words).subspan(1));
  };
  for (const Line& line : lines) {
    const auto made = read(line.text);
    ASSERT_TRUE(made) << line.text << ": " << made.error().message;
    EXPECT_EQ(joined(made->words), line.words) << line.text;
    std::string left_out = joined(made->left_out);
    EXPECT_EQ(left_out.substr(0, left_out.find(" is left out: ")), line.left_out) << line.text;
  }
  for (const char* const line : {"#PBS -W depend=before:7", "#PBS -W depend=afterok:x",
                                 "#BSUB -w done(7)||done(8)", "#BSUB -w done()"}) {
    EXPECT_FALSE(read(line)) << line;
  }
}

TEST_F(Script, ItsBerthLinesAreOptions) {
  write(
      "#!/bin/bash\n"
      "# trains\n"
      "#BERTH --vram 10GB --time 1h30m   # a comment\n"
      "#BERTH --name 'two words' --hold\n"
      "\n"
      "#BERTH --env B=2 --env C=3\n"
      "echo hello\n"
      "#BERTH --gpus 4\n");
  const Json body = body_of();
  EXPECT_EQ(body["vram_bytes"], std::int64_t{10} << 30);
  EXPECT_EQ(body["time_limit_seconds"], 5400.0);
  EXPECT_EQ(body["name"], "two words");
  EXPECT_EQ(body["held"], true);
  EXPECT_EQ(body["environment"], *parse_json(R"(["A=1", "B=2", "C=3"])"));
  EXPECT_EQ(body["command"], *parse_json(R"(["./job.sh", "--lr", "1"])"));
  EXPECT_FALSE(body.contains("gpus")) << "it stands behind a command";
}

TEST_F(Script, BerthLinesThatAreNotReadAreNamed) {
  write(
      "#!/bin/bash\n"
      "# BERTH --vram 3G\n"
      "set -e\n"
      "#BERTH --gpus 4\n"
      "#BERTHS are places\n");
  const auto made = submit();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->body.contains("gpus"));
  EXPECT_THAT(made->warnings,
              ElementsAre(HasSubstr("job.sh:2: '# BERTH --vram 3G' is not read: write #BERTH"),
                          HasSubstr("job.sh:4: '#BERTH --gpus 4' is not read: it stands behind the "
                                    "first command, in line 3")));
}

TEST_F(Script, WhatIsTypedWinsThenBerthLinesThenTheLaterLine) {
  write(
      "#!/bin/sh\n"
      "#SBATCH --time=5 --job-name=other --cpus-per-task=3\n"
      "#BERTH --vram 1G --time 2h\n"
      "#BERTH --vram 2G\n"
      "#SBATCH -c 4\n");
  JobOptions typed;
  typed["--time"] = "3h";
  const Json body = body_of(typed);
  EXPECT_EQ(body["time_limit_seconds"], 10800.0);
  EXPECT_EQ(body["vram_bytes"], std::int64_t{2} << 30);
  EXPECT_EQ(body["name"], "other");
  EXPECT_EQ(body["cpus"], 4.0);
}

TEST_F(Script, SbatchLinesAreReadWhereTheyHaveAnEqual) {
  write(
      "#!/bin/bash\n"
      "#SBATCH --gres=gpu:a100:2\n"
      "#SBATCH -t 90 -J train --mem=16000\n"
      "#SBATCH -o /tmp/%x-%j.out\n"
      "#SBATCH --chdir=/ --nodes=1 --ntasks 1 --exclusive --export=ALL\n");
  const auto made = submit();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->warnings, IsEmpty());
  EXPECT_EQ(made->body["gpus"], 2);
  EXPECT_EQ(made->body["gpu_types"], *parse_json(R"(["a100"])"));
  EXPECT_EQ(made->body["time_limit_seconds"], 5400.0) << "minutes, as sbatch has them";
  EXPECT_EQ(made->body["name"], "train");
  EXPECT_EQ(made->body["output"], "/tmp/train-%j.out");
  EXPECT_EQ(made->body["mem_bytes"], std::int64_t{16000} << 20);
  EXPECT_EQ(made->body["directory"], "/");
  EXPECT_EQ(made->body["exclusive"], true);
  EXPECT_EQ(made->body["command"][0], (folder_.path() / "./job.sh").string());
}

TEST_F(Script, SbatchLinesWithoutAnEqualAreNamed) {
  write(
      "#!/bin/bash\n"
      "#SBATCH --partition=gpu --time=1-00:00:00\n"
      "#SBATCH --nodes=2\n"
      "#SBATCH --mem-per-gpu 40G --frob\n");
  const auto made = submit();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->body["time_limit_seconds"], 86400.0);
  EXPECT_THAT(made->warnings,
              ElementsAre(HasSubstr("job.sh:2: #SBATCH --partition=gpu is left out: "),
                          HasSubstr("job.sh:3: #SBATCH --nodes=2 is left out: "),
                          HasSubstr("job.sh:4: #SBATCH --mem-per-gpu=40G is left out: say --vram"),
                          HasSubstr("job.sh:4: #SBATCH --frob is left out: berth does not know")));
}

TEST_F(Script, ThatCallsSrunWhereThereIsNoneIsWarnedOf) {
  write(
      "#!/bin/bash\n#SBATCH --gres=gpu:1\n# srun is this\nif true; then\n  srun python t.py\nfi\n");
  const std::string folder = folder_.path().string();
  const Caller caller = {.environment = {"PATH=" + folder}, .directory = folder};
  JobOptions options;
  options.command = {"./job.sh"};
  const auto made = submission_of(options, caller);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->warnings,
              ElementsAre(HasSubstr("job.sh:5: there is no srun here, and the job fails")));
  std::ofstream(folder + "/srun") << "#!/bin/sh\n";
  ASSERT_EQ(::chmod((folder + "/srun").c_str(), 0755), 0);
  EXPECT_THAT(submission_of(options, caller)->warnings, IsEmpty());
}

/// Without them the job would start too early, or with variables that it was not to have.
TEST_F(Script, SbatchLinesThatMayNotBeLeftOutAreRefused) {
  for (const std::string line :
       {"--dependency=after:1", "-d aftercorr:1", "-d singleton",
        "--dependency=afterok:1?afterok:2", "--export=NONE", "--export=A=1"}) {
    write("#!/bin/bash\n#SBATCH " + line + "\n");
    EXPECT_THAT(refusal(), HasSubstr("job.sh:2: #SBATCH " + line + " is not supported: ")) << line;
  }
  write("#!/bin/bash\n#SBATCH --export=ALL,B=2,C=3\n");
  const Json variables = body_of()["environment"];
  for (const char* variable : {"A=1", "B=2", "C=3"}) {
    EXPECT_TRUE(std::ranges::find(variables, variable) != variables.end()) << variable;
  }
}

TEST_F(Script, AWrongLineIsNamedByItsPlace) {
  write("#!/bin/sh\n\n#BERTH --frob 3\n");
  EXPECT_EQ(refusal(), "./job.sh:3: #BERTH --frob: no such option");
  write("#!/bin/sh\n#BERTH --gres gpu:1\n");
  EXPECT_EQ(refusal(),
            "./job.sh:2: #BERTH --gres: no such option; say --gpus N and --vram SIZE, the memory "
            "on each GPU");
  write("#!/bin/sh\n#BERTH --name 'open\n");
  EXPECT_EQ(refusal(), "./job.sh:2: a quote is not closed");
  write("#!/bin/sh\n#BERTH --vram\n");
  EXPECT_THAT(refusal(), HasSubstr("./job.sh:2: #BERTH --vram: needs a value: SIZE"));
  write("#!/bin/sh\n#BERTH --vram 10\n");
  EXPECT_EQ(refusal(), "--vram 10: is 10 bytes; say 10G or 10M");
}

TEST_F(Script, NeedsNeitherAFolderNorAnExecuteBit) {
  write("#!/bin/bash -e\n#BERTH --gpus 0\n", 0644);
  JobOptions options;
  options.command = {"job.sh", "x"};
  const Json body = body_of(options);
  EXPECT_EQ(body["gpus"], 0);
  EXPECT_EQ(body["command"], *parse_json(R"(["/bin/bash", "-e", "./job.sh", "x"])"));
}

TEST_F(Script, OtherProgramsAreLeftAlone) {
  write("no script\n# BERTH --gpus 0\n");
  EXPECT_FALSE(body_of().contains("gpus"));
  JobOptions options;
  options.command = {"true"};
  EXPECT_EQ(body_of(options)["command"], *parse_json(R"(["true"])"));
}

/// Its options would be left out without a word.
TEST_F(Script, WithOptionsButNoFirstLineIsRefused) {
  const std::string said =
      "has #BERTH lines, which count only in a script whose first line says what runs it; let it "
      "begin with #!/bin/bash";
  for (const auto& [name, mode] :
       {std::pair("./job.sh", mode_t{0755}), {"job.sh", 0755}, {"job.sh", 0644}}) {
    write("#BERTH --gpus 0\necho hi\n", mode);
    JobOptions options;
    options.command = {name};
    const auto made = submit(options);
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().message, HasSubstr(said));
  }
}

TEST_F(Script, ACommandLineInOneWordIsRefused) {
  JobOptions options;
  options.command = {"python train.py", "--lr", "3"};
  EXPECT_EQ(submit(options).error().message,
            "'python train.py': no such program; leave out the quotes");
  options.command = {"python train.py"};
  const auto made = submit(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "'python train.py': no such program; leave out the quotes, or say -- bash -c 'python "
            "train.py'");
}

TEST(ForeignFlags, AreAnsweredWithWhatToSayHere) {
  for (const auto& [typed, hint] : std::vector<std::pair<std::string, std::string>>{
           {"--gres=gpu:1", "--gpus N and --vram SIZE"},
           {"--mem-per-gpu", "--vram SIZE"},
           {"--gpu-memory=10", "--vram SIZE"},
           {"-J", "--name NAME"},
           {"-Jtrain", "--name NAME"},
           {"-t", "--time DURATION"},
           {"-p", "no partitions"},
           {"--gpu", "--gpu-type TYPE or --gpu-index GPUS"},
           {"-g", "--gpu-type TYPE or --gpu-index GPUS"},
           {"-gpu", "--gpus N and --vram SIZE"},
           {"-c4", "--cpus CORES"},
           {"-cwd", "leave it out"},
           {"-hold_jid", "--after-any JOBS"},
           {"-l", "--time DURATION"},
           {"-G", "--gpus N"}}) {
    EXPECT_THAT(hint_for(typed), HasSubstr(hint)) << typed;
  }
  EXPECT_EQ(hint_for("--frob"), "");
  EXPECT_EQ(hint_for("-"), "");
}

TEST_F(Script, ItsSbatchLinesMaySignalAndSendMail) {
  write(
      "#!/bin/bash\n"
      "#SBATCH --time=60 --signal=B:USR1@120\n"
      "#SBATCH --mail-type=BEGIN,FAIL --mail-user=ann@example.org\n");
  const Json body = body_of();
  EXPECT_EQ(body["warning_signal"], "USR1");
  EXPECT_EQ(body["warning_seconds"], 120.0);
  EXPECT_EQ(body["notify"], "ann@example.org");
  EXPECT_EQ(body["notify_on"], "start,fail");
  write("#!/bin/bash\n#SBATCH --mail-type=ALL\n");
  EXPECT_EQ(body_of()["notify_on"], "start,end");
  EXPECT_THAT(body_of()["notify"].get<std::string>(), HasSubstr("@localhost"));
  write("#!/bin/bash\n#SBATCH --mail-type=NONE\n");
  EXPECT_FALSE(body_of().contains("notify"));
}

}  // namespace
}  // namespace berth::cli
