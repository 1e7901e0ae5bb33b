// Goal: `berth trace` says what is in a trace, converts it and generates one; `berth sim` replays
// any of them.
// Method: runs the real program on small files, and on a journal of an engine with a random past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/program.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kPhilly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2020-01-01 00:00:00,3600.0,2,7200.0,a\n"
    "2020-01-01 01:00:00,1800.0,1,1800.0,b\n"
    "2020-01-01 02:00:00,60.0,1,60.0,a\n";

constexpr auto kSpeeds = "model,gpus,throughput\nbert,1,10\nbert,2,18\nvgg,4,3\n";

class Trace : public testing::Test {
 protected:
  static Ran trace(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "trace");
    return run_program("berth", arguments);
  }
  static nlohmann::json facts(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "info");
    arguments.emplace_back("--json");
    const Ran ran = trace(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }
  /// A history of three jobs, written as berthd does: one that ran twice, one that never did.
  std::string write_journal() {
    const std::string path = scratch_ / "journal.db";
    journal::Store store = need_store(path);
    need(store.begin());
    add_job(store, 1, {.asked = 0, .started = 10, .ended = 40});
    add_job(store, 2, {.asked = 5, .started = -1, .ended = 20});
    add_job(store, 3, {.asked = 30, .started = 50, .ended = 57});
    need(store.commit());
    return path;
  }

  ScratchFolder scratch_;
  std::string philly_ = scratch_.write("p.csv", kPhilly);

 private:
  struct Times {
    std::int64_t asked, started, ended;
  };
  static Instant at(std::int64_t second) { return kStart + seconds(1'700'000'000 + second); }

  static void add_job(journal::Store& store, std::uint64_t number, const Times& times) {
    const JobId job(number);
    JobSpec spec{.user = UserId(1001)};
    spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(std::int64_t{4} << 30)};
    need(store.add_job({.job = job, .spec = spec, .submitted = at(times.asked), .name = "n,x"}));
    const journal::End end{.at = at(times.ended)};
    if (times.started >= 0) {
      need(store.add_attempt({.job = job, .attempt = Attempt(1), .granted = at(times.asked)}));
      need(store.end_attempt(job, Attempt(1), {.at = at(times.asked + 1)}));
      need(store.add_attempt({.job = job, .attempt = Attempt(2), .granted = at(times.started)}));
      need(store.set_started(job, Attempt(2), at(times.started)));
      need(store.end_attempt(job, Attempt(2), end));
    }
    need(store.end_job(job, end));
  }
};

TEST_F(Trace, InfoSaysWhatIsInIt) {
  const Ran ran = trace({"info", philly_});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "format        philly\n"
            "jobs          3\n"
            "left out      0\n"
            "skipped       0\n"
            "span          7200 s\n"
            "run time      median 1800 s, mean 1820 s, longest 3600 s\n"
            "GPU-hours     2.52\n"
            "jobs by GPUs  2 of 1, 1 of 2\n"
            "users         2\n"
            "with memory   0\n"
            "with deadline 0\n"
            "with GPU types 0\n");
  const auto json = facts({philly_});
  EXPECT_EQ(json.value("jobs", 0), 3);
  EXPECT_EQ(json.value("format", ""), "philly");
  EXPECT_DOUBLE_EQ(json["run_time_seconds"].value("mean", 0.0), 1820);
}

TEST_F(Trace, WithoutJobsIsRefused) {
  const std::vector<std::string> headers = {
      "job_id,num_gpu,submit_time,duration",
      kPhilly,
      "job_id,num_gpu,submit_time,duration,resource_time_0",
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli",
      "job_id,submission_time,duration,num_gpu",
      "job_id,num_gpu,submit_time,duration,expect_time_list,best_effort",
      "; Version: 2.2",
      "JobID|Submit|Elapsed|AllocTRES",
      "job,submit_seconds,duration_seconds,gpus"};
  for (const std::string& text : headers) {
    const std::string header = text.substr(0, text.find('\n')) + "\n";
    const std::string path = scratch_.write("e.csv", header);
    const Ran ran = trace({"info", path});
    EXPECT_EQ(ran.exit_code, kFailed) << header;
    EXPECT_EQ(ran.err, "berth: " + path + ": no jobs\n");
    EXPECT_EQ(trace({"convert", path, "--to", "berth", "--out", scratch_ / "o"}).exit_code,
              kFailed);
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "o"));
    EXPECT_EQ(run_program("berth", {"sim", "--trace", path, "--cluster", "1x1"}).exit_code,
              kFailed);
  }
  const std::string steps = scratch_.write(
      "s.txt", "JobID|Submit|ElapsedRaw|AllocTRES|State\n1|2024-03-01T00:00:00|5||RUNNING\nx|y\n");
  EXPECT_EQ(trace({"info", steps, "--lenient"}).err,
            "berth: " + steps +
                ": no jobs: left out 1 job that has not ended, skipped 1 bad one; the first: " +
                steps + ":3: 2 fields, expected 5\n");
}

TEST_F(Trace, AnEmptyFileIsSaidToBeOne) {
  const std::string path = scratch_.write("e.csv", "");
  const Ran ran = trace({"info", path});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: " + path + ": is empty\n");
}

TEST_F(Trace, JobsThatHaveNotEndedAreToldOf) {
  const std::string path = scratch_.write(
      "s.txt",
      "JobID|Submit|ElapsedRaw|AllocTRES|State\n1|2024-03-01T00:00:00|5|gres/gpu=1|COMPLETED\n"
      "2|2024-03-01T00:00:00|5|gres/gpu=1|RUNNING\n");
  const Ran ran = trace({"info", path});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: " + path + ": left out 1 job that has not ended\n");
}

TEST_F(Trace, ValuesOfAFileAreShownShortAndWithoutControls) {
  const std::string path = scratch_.write(
      "v.csv", std::string("job,submit_seconds,duration_seconds,gpus\na,\0\x1b[2J", 48) +
                   std::string(10'000'000, 'x') + ",1,1\n");
  const Ran ran = trace({"info", path});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(":2: column 'submit_seconds': '\\x00\\x1b[2Jxxx"),
                             HasSubstr("xxx...', expected seconds from 0 to")));
}

/// While it lives, programs that are started get so much address space.
class LittleMemory {
 public:
  explicit LittleMemory(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit little{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_{};
};

TEST_F(Trace, MoreTextThanThereIsMemoryForIsRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(BERTH_SANITIZED)
  GTEST_SKIP() << "a sanitizer takes terabytes of address space";
#endif
  const std::string path = scratch_ / "bomb.gz";
  const gzFile file = gzopen(path.c_str(), "wb1");
  ASSERT_NE(file, nullptr);
  const std::string zeros(1 << 20, '\0');
  for (int i = 0; i < 256; ++i) ASSERT_GT(gzwrite(file, zeros.data(), 1 << 20), 0);
  ASSERT_EQ(gzclose(file), Z_OK);
  const LittleMemory little(rlim_t{256} << 20);
  const Ran ran = trace({"info", path});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: " + path + ": there is not enough memory for its text\n");
}

TEST_F(Trace, BadRowsAreRefusedOrCounted) {
  const std::string bad =
      scratch_.write("bad.csv", std::string(kPhilly) + "later,1,1,1,a\n2020-01-01,1\n");
  const Ran refused = trace({"info", bad});
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_THAT(refused.err, HasSubstr("bad.csv:5: column 'timestamp': 'later', expected a time"));
  EXPECT_EQ(refused.out, "");
  const Ran skipped = trace({"info", bad, "--lenient"});
  EXPECT_EQ(skipped.exit_code, 0);
  EXPECT_THAT(skipped.err, AllOf(HasSubstr("bad.csv: skipped 2 bad rows; the first: "),
                                 HasSubstr("bad.csv:5: column 'timestamp': 'later'")));
  EXPECT_THAT(skipped.out, AllOf(HasSubstr("jobs          3\n"), HasSubstr("skipped       2\n")));
}

TEST_F(Trace, ConvertsToWhatTheSimulatorReplaysAlike) {
  const auto replayed = [&](const std::string& file) {
    const Ran ran = run_program("berth", {"sim", "--trace", file, "--cluster", "1x2", "--policy",
                                          "fifo", "--jobs", scratch_ / "jobs.csv"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    // Not every format has names of users.
    return std::regex_replace(read_file(scratch_ / "jobs.csv"), std::regex(",[^,]*,done,"),
                              ",done,");
  };
  const std::string expected = replayed(philly_);
  EXPECT_THAT(expected, HasSubstr("\n2,3600,3600,5400,0,1800,1,0,0,done,"));
  for (const char* format : {"berth", "tiresias", "swf"}) {
    const std::string out = scratch_ / format;
    const Ran ran = trace({"convert", philly_, "--to", format, "--out", out});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(facts({out}).value("format", ""), format);
    EXPECT_EQ(replayed(out), expected) << format;
  }
}

TEST_F(Trace, AMissingColumnSaysAsWhatTheFileIsRead) {
  const std::string path = scratch_.write("h.csv", "job_id,num_gpu,submit_time\na,1,0\n");
  EXPECT_EQ(trace({"info", path}).err,
            "berth: " + path +
                ":1: no column 'duration' in the header; its first line is taken for one of the "
                "format tiresias by the column 'submit_time', which needs job_id, num_gpu, "
                "submit_time, duration; --format names another, and a table of your own is read "
                "with --columns job=job_id,submit_seconds=submit_time,duration_seconds=COLUMN,"
                "gpus=num_gpu\n");
  EXPECT_EQ(trace({"info", path, "--format", "tiresias"}).err,
            "berth: " + path + ":1: no column 'duration' in the header\n");
}

TEST_F(Trace, ATableOfOnesOwnIsReadByItsColumns) {
  const std::string path =
      scratch_.write("own.csv",
                     "id,who,ngpus,created,began,done\n"
                     "a,ann,2,03.02.2026 10:00,03.02.2026 10:05,03.02.2026 11:05\n"
                     "b,bob,1,03.02.2026 10:10,03.02.2026 10:10,\n"
                     "c,bob,1,03.02.2026 10:20,03.02.2026 10:20,03.02.2026 10:21\n");
  const std::vector<std::string> how = {
      path, "--columns",
      "job=id,user=who,gpus=ngpus,submit_seconds=created,start_seconds=began,end_seconds=done",
      "--time-format", "%d.%m.%Y %H:%M"};
  const auto json = facts(how);
  EXPECT_EQ(json.value("format", ""), "berth");
  EXPECT_EQ(json.value("jobs", 0), 2);
  EXPECT_EQ(json["left_out_by"].value("jobs that have not ended", 0), 1);
  EXPECT_EQ(json.value("span_seconds", 0.0), 1200);
  EXPECT_EQ(json["run_time_seconds"].value("longest", 0.0), 3600);
  EXPECT_EQ(json.value("users", 0), 2);
}

TEST_F(Trace, ColumnsThatAreNotThereAreNamedWithThoseThatAre) {
  const std::string path = scratch_.write("own.csv", "id,created,took,ngpus\na,0,5,1\n");
  const auto error = [&](const std::string& columns) {
    return trace({"info", path, "--columns", columns}).err;
  };
  EXPECT_EQ(error("job=id,submit_seconds=created,duration_seconds=took,gpus=ngpu"),
            "berth: " + path +
                ":1: no column 'ngpu' (ngpus?) for --columns gpus; its columns: id, created, took, "
                "ngpus\n");
  EXPECT_THAT(error("job=id,submit_second=created,duration_seconds=took,gpus=ngpus"),
              StartsWith("berth: --columns: 'submit_second' is no column of this format "
                         "(submit_seconds?); valid columns: job, submit_seconds, gpus, "));
  EXPECT_THAT(error("job=id,submit_seconds=created,gpus=ngpus"),
              HasSubstr("no column 'duration_seconds' in the header"));
  EXPECT_EQ(error("job"),
            "berth: --columns: 'job' is not NAME=COLUMN, as in "
            "job=id,submit_seconds=created,gpus=ngpus\n");
  EXPECT_EQ(error("job=id,job=took"), "berth: --columns: names 'job' twice\n");
}

TEST_F(Trace, ATimeFormatIsForTimesOfTheCalendar) {
  const std::string path =
      scratch_.write("t.csv", "job_id,num_gpu,submit_time,duration\na,1,0,5\n");
  EXPECT_EQ(trace({"info", path, "--time-format", "%s"}).err,
            "berth: --time-format: times in the format tiresias are numbers; it goes with: berth, "
            "philly, sacct, acme, helios\n");
}

TEST_F(Trace, IsNotReplacedByWhatIsMadeOfIt) {
  const std::string text = "job,submit_seconds,duration_seconds,gpus\na,0,1,1\n";
  const std::string own = scratch_.write("o.csv", text);
  const Ran ran = trace({"convert", own, "--to", "berth", "--out", scratch_ / "./o.csv"});
  EXPECT_EQ(ran.exit_code, kBadUsage);
  EXPECT_THAT(ran.err, HasSubstr("is the trace, which would be lost; name another file\n"));
  EXPECT_EQ(read_file(own), text);
  const std::string mixes = scratch_.write("m.toml", "[[mix]]\nname = \"mine\"\n");
  const Ran drawn = trace({"generate", "mix", "--mix", "mine", "--mixes", mixes, "--out", mixes});
  EXPECT_THAT(drawn.err, HasSubstr(": is --mixes, which would be lost; name another file\n"));
  const Ran shown = trace({"convert", own, "--to", "tiresias", "--out", "-"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("job_id,num_gpu,"));
}

TEST_F(Trace, OtherFormatsHaveNoPlaceForAJobWithoutAGpu) {
  const std::string own =
      scratch_.write("o.csv", "job,submit_seconds,duration_seconds,gpus\na,0,1,0\nb,1,1,1\n");
  const Ran ran = trace({"convert", own, "--to", "tiresias", "--out", scratch_ / "t"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: left out 1 job without a GPU: tiresias has no place for it\n");
  EXPECT_EQ(facts({scratch_ / "t"}).value("jobs", 0), 1);
}

TEST_F(Trace, AJournalIsItsHistory) {
  const std::string journal = write_journal();
  const auto json = facts({journal});
  EXPECT_EQ(json.value("format", ""), "berth");
  EXPECT_EQ(json.value("jobs", 0), 2);
  EXPECT_EQ(json.value("left_out", 0), 1) << "it never ran";
  EXPECT_EQ(json.value("with_memory", 0), 2);
  EXPECT_EQ(json.value("users", 0), 1) << "one user, whose number is 1001";
  const Ran ran = trace({"convert", journal, "--to", "berth", "--out", scratch_ / "h.csv"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string text = read_file(scratch_ / "h.csv");
  EXPECT_THAT(text, HasSubstr("\n1,1001,n_x,0,30,1,4294967296,"));
  EXPECT_THAT(text, HasSubstr("\n3,1001,n_x,30,7,1,4294967296,"));
  EXPECT_EQ(trace({"info", journal, "--format", "swf"}).exit_code, kBadUsage);
}

TEST_F(Trace, AModelGivesMemory) {
  const std::vector<std::string> model = {"--vram-model", "uniform:2G-20G"};
  EXPECT_EQ(facts({philly_}).value("with_memory", -1), 0);
  EXPECT_EQ(facts({philly_, model[0], model[1]}).value("with_memory", 0), 3);
  const auto converted = [&](const std::string& seed) {
    const Ran ran = trace({"convert", philly_, "--to", "berth", "--out", scratch_ / "v.csv",
                           model[0], model[1], "--seed", seed});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return read_file(scratch_ / "v.csv");
  };
  EXPECT_EQ(converted("5"), converted("5"));
  EXPECT_NE(converted("5"), converted("6"));
  const std::string quantiles = scratch_.write("q.csv", "quantile,vram\n0,3G\n1,3G\n");
  const Ran ran = trace({"convert", philly_, "--to", "berth", "--out", scratch_ / "v.csv",
                         "--vram-model", quantiles});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(read_file(scratch_ / "v.csv"), HasSubstr(",2,3221225472,"));
  const Ran bad = trace({"info", philly_, "--vram-model", "normal:1G-2G"});
  EXPECT_EQ(bad.exit_code, kBadUsage);
  EXPECT_THAT(bad.err, HasSubstr("memory model 'normal:1G-2G': expected uniform:LOW-HIGH"));
}

TEST_F(Trace, ProfilesAreAFileOrAFolder) {
  const std::string steps = scratch_.write("g.trace", "Net\tc\t-n\t1\t1000\t0\t1\n");
  const std::string rates =
      scratch_.write("rates.json", R"json({"v100": {"('Net', 1)": {"null": 4.0}}})json");
  EXPECT_DOUBLE_EQ(facts({steps, "--profiles", rates})["run_time_seconds"]["mean"].get<double>(),
                   250);
  EXPECT_THAT(trace({"info", steps}).err, HasSubstr("--profiles names the file of throughputs"));
  std::filesystem::create_directories(scratch_.path() / "models/net");
  scratch_.write("models/net/validation-64.csv", "iteration\n100\n");
  scratch_.write("models/net/placements.csv", "placement,local_bsz,step_time\n1,64,3.0\n");
  scratch_.write("models/notes.txt", "no table");
  const std::string sia =
      scratch_.write("w.csv", "name,time,application,num_replicas,batch_size\na,0,net,1,64\n");
  EXPECT_DOUBLE_EQ(
      facts({sia, "--profiles", scratch_ / "models"})["run_time_seconds"]["mean"].get<double>(),
      300);
}

TEST_F(Trace, GeneratesTheSameForOneSeed) {
  const auto generated = [&](const std::string& seed) {
    const std::string out = scratch_ / "g.csv";
    const Ran ran =
        trace({"generate", "philly-like", "--jobs", "50", "--seed", seed, "--out", out});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(facts({out}).value("jobs", 0), 50);
    return read_file(out);
  };
  EXPECT_EQ(generated("1"), generated("1"));
  EXPECT_NE(generated("1"), generated("2"));
}

TEST_F(Trace, DrawsAMixForACluster) {
  const std::string out = scratch_ / "m.csv";
  const auto drawn = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "mix", "--mix", "even", "--jobs", "40", "--out", out});
    return trace(more);
  };
  const Ran ran = drawn({"--seed", "3"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::MatchesRegex("40 jobs over [0-9.]+ hours; replay them with "
                                             "--estimates learned\n"));
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(facts({out}).value("with_memory", 0), 40);
  const double span = facts({out}).value("span_seconds", 0.0);
  EXPECT_EQ(drawn({"--seed", "3", "--set", "load=2", "--set", "users=3"}).exit_code, 0);
  EXPECT_NEAR(facts({out}).value("span_seconds", 0.0), span / 2, 1);
  EXPECT_LE(facts({out}).value("users", 9), 3);
  const Ran small = drawn({"--cluster", "1x4"});
  EXPECT_EQ(small.exit_code, 0);
  EXPECT_THAT(small.err, HasSubstr("jobs ask for more GPUs or GPU memory than this cluster has"));
}

TEST_F(Trace, DrawsAMixOfOnesOwn) {
  const std::string workloads = scratch_.write(
      "w.csv",
      "name,gpus,vram_mib,memory,duty_milli,duration_seconds,class\na,2,10,0:9,500,60,short\n");
  const std::string mixes =
      scratch_.write("m.toml", "[[mix]]\nname = \"mine\"\nlike = \"other\"\n");
  const auto drawn = [&] {
    return trace({"generate", "mix", "--mix", "mine", "--jobs", "5", "--workloads", workloads,
                  "--mixes", mixes, "--out", scratch_ / "o.csv"});
  };
  EXPECT_EQ(drawn().err, "berth: " + mixes + ":3:8: like: must be the name of a mix above\n");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "o.csv"));
  scratch_.write("m.toml", "[[mix]]\nname = \"mine\"\nestimates = \"guessed\"\n");
  EXPECT_THAT(drawn().err, HasSubstr("mix 'mine': --estimates: 'guessed' is not"));
  scratch_.write("m.toml", "[[mix]]\nname = \"mine\"\n");
  EXPECT_EQ(drawn().exit_code, 0);
  EXPECT_DOUBLE_EQ(facts({scratch_ / "o.csv"}).value("gpu_hours", 0.0), 5 * 2.0 / 60);
}

TEST_F(Trace, ListsTheMixes) {
  const Ran ran = trace({"mixes", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto mixes = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_GE(mixes.size(), 14U);
  EXPECT_EQ(mixes[0]["name"], "even");
  EXPECT_EQ(mixes[0]["estimates"], "learned");
  EXPECT_THAT(trace({"mixes"}).out, HasSubstr("\nliar-limits    table      8      0       1 "));
}

TEST_F(Trace, NamesWhatAMixLacks) {
  const std::string out = scratch_ / "m.csv";
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "mix", "--out", out});
    const Ran ran = trace(more);
    EXPECT_EQ(ran.exit_code, kBadUsage);
    return ran.err;
  };
  EXPECT_THAT(error({}), HasSubstr("--mix is required; valid names: even, "));
  EXPECT_THAT(error({"--mix", "odd"}), HasSubstr("mix 'odd' is unknown; valid names: even, "));
  EXPECT_THAT(error({"--mix", "even", "--cluster", "0x1"}), HasSubstr("'0x1'"));
  const Ran kind = trace({"generate", "philly-like", "--set", "load=1", "--out", out});
  EXPECT_EQ(kind.err, "berth: --set goes with the kind mix, not philly-like\n");
  const Ran change = trace({"generate", "mix", "--mix", "even", "--set", "load=0", "--out", out});
  EXPECT_EQ(change.err, "berth: --set 'load=0': load: must be a number from 0.001 to 100\n");
  EXPECT_NE(change.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Trace, ANumberThatIsNoneIsRefused) {
  for (const char* seed : {"-1", "nan", "1.5"}) {
    const Ran ran = trace({"info", philly_, "--seed=" + std::string(seed)});
    EXPECT_EQ(ran.exit_code, kBadUsage) << seed;
    EXPECT_THAT(ran.err, HasSubstr("--seed: '" + std::string(seed) + "' is not a whole number"));
  }
}

TEST_F(Trace, NamesWhatItDoesNotKnow) {
  const Ran kind = trace({"generate", "moon-like", "--out", scratch_ / "x"});
  EXPECT_EQ(kind.exit_code, kBadUsage);
  EXPECT_EQ(kind.err, "berth: trace kind 'moon-like' is unknown; valid kinds: philly-like, mix\n");
  const Ran to = trace({"convert", philly_, "--to", "muri", "--out", scratch_ / "x"});
  EXPECT_EQ(to.exit_code, kBadUsage);
  EXPECT_EQ(to.err,
            "berth: trace format 'muri' is not one that berth writes; valid names: berth, swf, "
            "tiresias\n");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "x"));
  EXPECT_EQ(trace({}).exit_code, kBadUsage);
  EXPECT_EQ(trace({"info"}).exit_code, kBadUsage);
  EXPECT_EQ(trace({"generate", "philly-like", "--jobs", "-1", "--out", "x"}).exit_code, kBadUsage);
}

TEST_F(Trace, PackedFilesAreReadByTheSimulatorToo) {
  const std::string path = scratch_ / "p.csv.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_GT(gzputs(file, kPhilly), 0);
  ASSERT_EQ(gzclose(file), Z_OK);
  EXPECT_EQ(facts({path}).value("jobs", 0), 3);
  const std::string nodes = scratch_.write("c.toml", "[[node]]\ngpus = 2\ncount = 2\n");
  const Ran ran = run_program("berth", {"sim", "--trace", path, "--cluster", nodes});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("3 jobs"));
  const Ran cut = trace({"info", scratch_.write("cut.gz", read_file(path).substr(0, 40))});
  EXPECT_EQ(cut.exit_code, kFailed);
  EXPECT_THAT(cut.err, HasSubstr("cut.gz: the gzip data is cut short"));
}

TEST_F(Trace, SpeedsAreShownByGpus) {
  const std::string path = scratch_.write("s.csv", kSpeeds);
  const Ran ran = trace({"speeds", path});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("1.000 on 1, 1.800 on 2"), HasSubstr("1.000 on 4")));
  EXPECT_THAT(trace({"speeds", path, "--asked", "2", "--model", "bert"}).out,
              HasSubstr("0.556 on 1, 1.000 on 2"));
  EXPECT_THAT(trace({"speeds", path, "--model", "lm"}).err,
              HasSubstr("these files do not say how fast lm is on other numbers of GPUs"));
}

TEST(TraceVerb, SaysWhichOptionIsMissing) {
  const auto err = [](std::vector<std::string> words) {
    return test::run_program("berth", std::move(words)).err;
  };
  EXPECT_THAT(err({"trace", "convert", "x.csv", "--to", "berth"}),
              HasSubstr("berth: --out is required; say --out FILE; see berth trace --help"));
  EXPECT_THAT(err({"trace"}), HasSubstr("say berth trace info, or berth trace convert"));
}

}  // namespace
}  // namespace berth::test
