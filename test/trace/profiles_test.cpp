// Goal: traces without run times get them from their profiles, or say what is missing.
// Method: small traces and profiles with times worked out by hand; the published ones where they
// are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/published.hpp"

namespace berth::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// ---- Gavel ----

const std::vector<Profile> kThroughputs = {{"t.json",
                                            R"json({"v100": {
              "('Net (batch size 8)', 1)": {"null": 4.0, "('Net (batch size 8)', 1)": [2, 2]},
              "('Net (batch size 8)', 2)": {"null": 8.0},
              "('Slow', 1)": {"null": 0.0},
              "('Odd', 1)": {"null": "fast"}},
            "k80": {"('Net (batch size 8)', 1)": {"null": 0.5}}})json"}};

Expected<Trace> gavel(const std::string& text, std::string_view type = "") {
  return read_gavel(
      {.text = text, .file = "g.trace", .profiles = kThroughputs, .profile_type = type});
}

TEST(Gavel, StepsByTheirRateAreTheRunTime) {
  const auto trace = gavel(
      "Net (batch size 8)\tpython x.py\t-n\t1\t1000\t0.000000\t1\n"
      "Net (batch size 8)\tpython x.py\t-n\t1\t1000\t7.500000\t2\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).duration, seconds(250));
  EXPECT_EQ(trace->jobs.at(1).duration, seconds(125));
  EXPECT_EQ(trace->jobs.at(1).submit, kStart + Duration(7'500'000));
  EXPECT_EQ(trace->jobs.at(1).model, "Net (batch size 8)");
  EXPECT_EQ(trace->jobs.at(1).spec.request.gpu.count, GpuCount(2));
}

TEST(Gavel, AnotherTypeOfGpuMayBeNamed) {
  const auto trace = gavel("Net (batch size 8)\tc\t-n\t1\t1000\t0\t1\n", "k80");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).duration, seconds(2000));
  EXPECT_EQ(error_of(gavel("Net (batch size 8)\tc\t-n\t1\t1000\t0\t1\n", "h100")),
            "t.json: no throughputs for GPU type 'h100'");
}

TEST(Gavel, TheTestbedsLayoutHasTenFields) {
  const auto trace = gavel("Net (batch size 8)\tc\tdir\t-n\t1\t100\t1\t1\t-1.000000\t3\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).submit, kStart + seconds(3));
  EXPECT_EQ(trace->jobs.at(0).duration, seconds(25));
}

TEST(Gavel, ShockwavesLayoutStatesTheRunTime) {
  const auto trace = read_gavel(
      {.text = "Net\tc\tdir\t-n\t1\t100\t4\tgns\t1\t-1.000000\t1418\t9\n", .file = "s.trace"});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.at(0).duration, seconds(1418));
  EXPECT_EQ(trace->jobs.at(0).spec.request.gpu.count, GpuCount(4));
}

TEST(Gavel, NamesWhatIsMissingOrWrong) {
  const std::string row = "Net (batch size 8)\tc\t-n\t1\t1000\t0\t1\n";
  EXPECT_EQ(error_of(read_gavel({.text = row, .file = "g.trace"})),
            "g.trace: has steps and no run times: --profiles names the file of throughputs");
  EXPECT_EQ(error_of(gavel("a\tb\n")), "g.trace:1: expected 7, 10 or 12 fields with tabs between");
  for (const char* type : {"Slow", "Odd", "Unheard of"}) {
    EXPECT_EQ(error_of(gavel(std::string(type) + "\tc\t-n\t1\t1000\t0\t1\n")),
              "g.trace:1: column 'job type': '" + std::string(type) +
                  "', expected a job type with a throughput on v100 at scale factor 1; 1 of 1 jobs "
                  "in g.trace have none, --lenient skips them");
  }
  EXPECT_THAT(error_of(gavel(row + "Slow\tc\t-n\t1\t9\t0\t1\nSlow\tc\t-n\t1\t9\t0\t1\n")),
              AllOf(HasSubstr("g.trace:2: column 'job type': 'Slow'"), HasSubstr("; 2 of 3 jobs")));
  EXPECT_THAT(error_of(gavel(row + "Net (batch size 8)\tc\t-n\t1\tx\t0\t1\n")),
              HasSubstr("g.trace:2: column 'total steps': 'x'"));
  const std::vector<Profile> bad = {{"b.json", "{\"v100\": ["}};
  EXPECT_THAT(error_of(read_gavel({.text = row, .file = "g", .profiles = bad})),
              HasSubstr("b.json: no throughputs"));
}

TEST(PublishedGavel, EveryVirtualCluster) {
  if (const auto absent = test::absent_shared("traces/gavel/msr-seed0")) GTEST_SKIP() << *absent;
  const std::vector<Profile> profiles = {
      {"simulation_throughputs.json", published_text("gavel/simulation_throughputs.json.gz")}};
  std::size_t jobs = 0;
  std::size_t skipped = 0;
  for (const char* name :
       {"0e4a51", "103959", "11cb48", "23dbec", "2869ce", "51b7ef", "6214e9", "6c71a0", "795a4c",
        "7f04ca", "925e2b", "b436b2", "e13805", "ed69ec", "ee9e8c"}) {
    const std::string text = published_text("gavel/msr-seed0/" + std::string(name) + ".trace.gz");
    const auto trace =
        read_gavel({.text = text, .file = name, .bad_rows = BadRows::Skip, .profiles = profiles});
    ASSERT_TRUE(trace) << trace.error().message;
    jobs += trace->jobs.size();
    skipped += trace->skipped;
  }
  EXPECT_EQ(jobs + skipped, 15'264U);
  EXPECT_EQ(skipped, 1548U) << "types that were not measured on several GPUs";
  EXPECT_EQ(published("gavel/physical/max_min_fairness.trace", profiles).jobs.size(), 96U);
  EXPECT_EQ(published("gavel/physical/minimize_makespan.trace", profiles).jobs.size(), 100U);
}

TEST(PublishedShockwave, NeedsNoProfile) {
  const std::string name =
      "shockwave/120_0.2_5_100_40_25_0,0.5,0.5_0.6,0.3,0.09,0.01_multigpu_dynamic.trace.gz";
  if (const auto absent = test::absent_shared("traces/" + name)) GTEST_SKIP() << *absent;
  EXPECT_EQ(published(name).jobs.size(), 120U);
}

// ---- Sia ----

const std::vector<Profile> kSia = {
    {"net/validation-64.csv", "progress,iteration,metric\n1,10,0\n2,100,0\n"},
    {"net/validation-4096.csv", "progress,iteration\n1,10\n"},
    {"net/placements.csv",
     "placement,local_bsz,step_time,sync_time\n"
     "1,32,1.0,0\n1,64,3.0,0\n11,32,5.0,0\n2,16,0.5,0\n2,32,0.7,0\n"},
    {"net/placements-rtx.csv", "placement,local_bsz,step_time,sync_time\n1,64,2.0,0\n"},
    {"net/scalability.csv",
     "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
     "6,8,8,9,0\n4,8,8,0.25,0\n4,8,16,0.45,0\n"},
};

Expected<Trace> sia(const std::string& rows, std::string_view type = "") {
  return read_sia({.text = "name,time,application,num_replicas,batch_size\n" + rows,
                   .file = "w.csv",
                   .profiles = kSia,
                   .profile_type = type});
}
Duration sia_time(const std::string& row, std::string_view type = "") {
  const auto trace = sia(row, type);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace && !trace->jobs.empty() ? trace->jobs[0].duration : Duration(0);
}

TEST(Sia, IterationsTimesTheStepAreTheRunTime) {
  EXPECT_EQ(sia_time("a,5,net,1,64\n"), seconds(300)) << "100 iterations of 3 s";
  EXPECT_EQ(sia_time("a,5,net,2,64\n"), seconds(70)) << "on one node, not on two";
  EXPECT_EQ(sia_time("a,5,net,8,64\n"), seconds(25)) << "on the fewest nodes";
  EXPECT_EQ(sia_time("a,5,net,1,64\n", "rtx"), seconds(200));
  EXPECT_EQ(sia_time("a,5,net,1,64\n", "aws"), seconds(300)) << "the unnamed one";
}

TEST(Sia, BetweenAndBeyondWhatWasMeasured) {
  const std::vector<Profile> profiles = {
      {"net/validation-48.csv", "iteration\n10\n"},
      {"net/validation-640.csv", "iteration\n10\n"},
      {"net/validation-1.csv", "iteration\n10\n"},
      {"net/placements.csv", "placement,local_bsz,step_time\n1,32,1.0\n1,64,3.0\n"}};
  const auto time = [&](const std::string& batch) {
    const std::string text = "name,time,application,num_replicas,batch_size\na,0,net,1," + batch;
    const auto trace = read_sia({.text = text, .file = "w", .profiles = profiles});
    return trace ? trace->jobs.at(0).duration : Duration(-1);
  };
  EXPECT_EQ(time("48"), seconds(20)) << "half way between 1 and 3 s";
  EXPECT_EQ(time("640"), seconds(300)) << "ten times the largest";
  EXPECT_EQ(time("1"), seconds(10)) << "no less than the smallest";
}

TEST(Sia, NamesWhatIsMissingOrWrong) {
  EXPECT_EQ(error_of(read_sia(
                {.text = "name,time,application,num_replicas,batch_size\n", .file = "w.csv"})),
            "w.csv: has no run times: --profiles names the folder of the models' profiles");
  for (const char* row : {"a,5,other,1,64\n", "a,5,net,1,65\n", "a,5,net,3,64\n"}) {
    EXPECT_THAT(error_of(sia(row)), HasSubstr("w.csv:2: column 'application'")) << row;
  }
  EXPECT_THAT(error_of(sia("a,5,net,0,64\n")), HasSubstr("column 'num_replicas': '0'"));
  const std::vector<Profile> bad = {
      {"net/validation-64.csv", "iteration\n10\n"},
      {"net/placements.csv", "placement,local_bsz,step_time\n0,32,1.0\n"}};
  EXPECT_EQ(
      error_of(read_sia({.text = "name,time,application,num_replicas,batch_size\na,5,net,1,64\n",
                         .file = "w",
                         .profiles = bad})),
      "net/placements.csv:2: column 'placement': '0', expected digits from 1 to 9, one per node");
}

std::vector<Profile> published_sia() {
  namespace fs = std::filesystem;
  const fs::path folder = test::shared_dir() / "traces/sia-pollux/profiles";
  std::vector<Profile> profiles;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    profiles.push_back(
        {file.path().lexically_relative(folder).string(), test::read_file(file.path())});
  }
  return profiles;
}

TEST(PublishedSia, Workloads) {
  if (const auto absent = test::absent_shared("traces/sia-pollux")) GTEST_SKIP() << *absent;
  const auto profiles = published_sia();
  const std::string folder = "sia-pollux/workloads/";
  EXPECT_EQ(published(folder + "philly/workload-1.csv", profiles).jobs.size(), 160U);
  EXPECT_EQ(published(folder + "saturn/workload-5.csv", profiles).jobs.size(), 160U);
  EXPECT_EQ(published(folder + "newtrace/workload-1.csv", profiles).jobs.size(), 960U);
  EXPECT_EQ(published(folder + "scale/scale_32x/workload-1.csv", profiles).jobs.size(), 5120U);
}

// ---- CARMA ----

const std::vector<Profile> kCarma = {
    {"task_files.csv",
     "task_file,script,args,dataset,batch_size,mode,gpus,measured_mib,horus_mib,faketensor_mib,"
     "gpumemnet_mib,lines\n"
     "small.rad,net.py,--batch_size 32 --epochs 20,set,32,exclusive,1,600,1,1,1,12\n"
     "large.rad,net.py,--batch_size 64,set,64,exclusive,2,9000,1,1,1,12\n"
     "free.rad,alone.py,,set,8,exclusive,1,,1,1,1,12\n"
     "never.rad,unmeasured.py,,set,8,exclusive,1,50,1,1,1,12\n"},
    {"ehsan-summary.csv",
     "Script,Run folder,Execution time(s)\n"
     "net.py,2025_net.py_--batch_size_32_--epochs_1,10.5\n"
     "net.py,2025_net.py_--batch_size_64_--num_epochs_1,100\n"
     "_some_where_alone.py,2025__some_where_alone.py,7\n"}};

Expected<Trace> carma(const std::string& rows) {
  return read_carma(
      {.text = "task,submit_s,task_file\r\n" + rows, .file = "a.csv", .profiles = kCarma});
}

TEST(Carma, TasksHaveMeasuredMemoryAndRunTimes) {
  const auto trace = carma("0,0,small.rad\r\n1,30,large.rad\r\n2,40,free.rad\r\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& small = trace->jobs.at(0);
  EXPECT_EQ(small.duration, seconds(210)) << "20 epochs of 10.5 s";
  EXPECT_EQ(small.spec.request.gpu.vram, Bytes(std::int64_t{600} << 20));
  EXPECT_EQ(small.spec.request.gpu.sharing, Sharing::Shared);
  EXPECT_EQ(trace->jobs.at(1).duration, seconds(100));
  EXPECT_EQ(trace->jobs.at(1).spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs.at(2).duration, seconds(7));
  EXPECT_EQ(trace->jobs.at(2).spec.request.gpu.sharing, Sharing::Alone) << "memory not measured";
}

TEST(Carma, NamesWhatIsMissing) {
  const std::string wanted = "expected a task that is described and has a run in ehsan-summary.csv";
  EXPECT_EQ(error_of(carma("0,0,x.rad\n")), "a.csv:2: column 'task_file': 'x.rad', " + wanted);
  EXPECT_THAT(error_of(carma("0,0,never.rad\n")), HasSubstr(wanted));
  EXPECT_EQ(error_of(read_carma({.text = "task,submit_s,task_file\n", .file = "a.csv"})),
            "a.csv: has no run times: --profiles names the folder with ehsan-summary.csv");
}

constexpr auto kSmallTask =
    "# a comment\nconda activate tf\n"
    "python /srv/workloads/net.py --batch_size 32 --epochs 20\nnet.model\nset\n32\nexclusive\n"
    "2\n600\n1.5\n40000\n8000";

Expected<Trace> carma_script(const std::string& text, const std::string& small = kSmallTask,
                             BadRows bad_rows = BadRows::Refuse) {
  const std::vector<Profile> profiles = {
      {"small_1.rad", small},
      {"free.rad", "# c\nconda\npython /srv/alone.py\nm\ns\n8\nexclusive\n1\n"},
      kCarma[1]};
  return read_carma({.text = text, .file = "t1.sh", .bad_rows = bad_rows, .profiles = profiles});
}

TEST(Carma, ReadsTheScriptsAndDescriptionsThatArePublished) {
  const std::string text =
      "sleep 0\r\npython /srv/src/submit.py --task /srv/workloads/small_1.rad\n"
      "# a comment\n\nsleep 31\nsleep 4\npython src/submit.py --task workloads/free.rad";
  ASSERT_TRUE(guess_format(text, "t1.sh"));
  EXPECT_EQ((*guess_format(text, "t1.sh"))->name, "carma");
  EXPECT_EQ((*guess_format("python submit.py --task a.rad\n", "t"))->name, "carma");
  const auto trace = carma_script(text);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].submit, kStart);
  EXPECT_EQ(trace->jobs[0].duration, seconds(210)) << "20 epochs of 10.5 s";
  EXPECT_EQ(trace->jobs[0].model, "net.py");
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs[0].spec.request.gpu.vram, Bytes(std::int64_t{600} << 20));
  EXPECT_EQ(trace->jobs[1].submit, kStart + seconds(35));
  EXPECT_EQ(trace->jobs[1].spec.request.gpu.sharing, Sharing::Alone) << "memory not measured";
}

TEST(Carma, NamesTheLineOfAScript) {
  const std::string good = "sleep 1\npython submit.py --task w/free.rad\n";
  EXPECT_EQ(error_of(carma_script(good + "\nrm -rf x\n")),
            "t1.sh:4: 'rm -rf x', expected sleep SECONDS or ... --task NAME.rad");
  EXPECT_EQ(error_of(carma_script(good + "sleep 5m\n")),
            "t1.sh:3: 'sleep 5m', expected sleep SECONDS or ... --task NAME.rad");
  EXPECT_EQ(error_of(carma_script(good + "python submit.py --task w/x.rad\n")),
            "t1.sh:3: column 'task_file': 'x.rad', expected a task that is described and has a run "
            "in ehsan-summary.csv");
  const auto lenient = carma_script(good + "rm -rf x\n", kSmallTask, BadRows::Skip);
  ASSERT_TRUE(lenient) << lenient.error().message;
  EXPECT_EQ(lenient->skipped, 1U);
  EXPECT_EQ(error_of(carma_script(good, "one\n")),
            "small_1.rad:8: '', expected the number of GPUs of a task");
  EXPECT_EQ(error_of(carma_script(good, "1\n2\n3\n4\n5\n6\n7\n1\n")),
            "small_1.rad:3: '3', expected the task's command: python SCRIPT");
  EXPECT_EQ(error_of(carma_script(good, "1\n2\npython x.py\n4\n5\n6\n7\n1\nmany\n")),
            "small_1.rad:9: 'many', expected the task's measured peak of memory in MiB");
}

TEST(PublishedCarma, Arrivals) {
  const std::string folder = "gpu-memory/carma/";
  if (const auto absent = test::absent_shared("traces/" + folder)) GTEST_SKIP() << *absent;
  const std::vector<Profile> profiles = {
      {"task_files.csv", published_text(folder + "task_files.csv")},
      {"ehsan-summary.csv", published_text(folder + "ehsan-summary.csv")}};
  const Trace first = published(folder + "arrivals_philly_trace-t1.csv", profiles);
  EXPECT_EQ(first.jobs.size(), 60U);
  EXPECT_EQ(first.jobs.back().submit, kStart + seconds(13'767));
  const std::string mix = published_text(folder + "arrivals_philly_mix-90-tasks.csv");
  const auto second =
      read_carma({.text = mix, .file = "mix", .bad_rows = BadRows::Skip, .profiles = profiles});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->jobs.size() + second->skipped, 90U);
  EXPECT_EQ(second->skipped, 1U) << "one task was never measured: " << second->first_skipped;
}

}  // namespace
}  // namespace berth::trace
