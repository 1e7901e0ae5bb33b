// Goal: every format is told by its first line, and one list names them all.
// Method: a first line of each; the list against itself.
#include "trace/formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "support/paths.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> kFirstLines = {
    {"tiresias", "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"},
    {"philly", "timestamp,duration,num_gpus,gpu_time,cluster"},
    {"muri",
     "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
     "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\r"},
    {"openb", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase"},
    {"openb", "name,cpu_milli,memory_mib,num_gpu,gpu_milli"},
    {"elasticflow", "job_id,submission_time,duration,num_gpu"},
    {"elasticflow", "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration"},
    {"gavel", "Net (batch size 8)\tpython3 main.py, twice\t-n\t1\t1079657\t219316.000000\t4"},
    {"gavel", "Net\tc\td\t--steps\t1\t100\t1\tgns\t1\t-1.000000\t1418\t0"},
    {"sia", "name,time,application,num_replicas,batch_size"},
    {"chronus",
     "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,"
     "expect_value_list,best_effort,job_type"},
    {"carma", "task,submit_s,task_file\r"},
    {"swf", "; Version: 2.2"},
    {"swf", "  1 0 5 100 4 -1 -1 8 200 -1 1 3 1 -1 1 -1 -1 -1"},
    {"sacct", "JobID|JobName|User|Submit|Elapsed|AllocTRES"},
    {"sacct", "JobIDRaw|Submit|Elapsed|AllocTRES"},
    {"berth", "job,user,model,submit_seconds,duration_seconds,gpus,vram_bytes,gpu_milli"},
};

TEST(Formats, AreToldByTheFirstLine) {
  std::set<std::string> seen;
  for (const auto& [name, line] : kFirstLines) {
    const auto format = guess_format("\n" + line + "\n1,2,3\n", "t");
    ASSERT_TRUE(format) << name << ": " << format.error().message;
    EXPECT_EQ((*format)->name, name) << line;
    seen.insert(name);
  }
  EXPECT_EQ(seen.size(), formats().size()) << "every format has a line here";
}

TEST(Formats, AnUnknownLineNamesThem) {
  for (const char* text : {"a,b,c\n", "job_idx,num_gpuses\n", "xsubmit_time\n"}) {
    const auto format = guess_format(text, "t.csv");
    ASSERT_FALSE(format) << text;
    EXPECT_THAT(
        format.error().message,
        HasSubstr("t.csv:1: the line is not the header of a trace format; valid formats: berth, "));
    EXPECT_THAT(format.error().message,
                HasSubstr("by the columns job, submit_seconds, duration_seconds and gpus"));
  }
  EXPECT_THAT(guess_format("[{\"jobid\": 1}]\n", "t.json").error().message,
              HasSubstr("t.json:1: JSON is not read as a trace: Philly's is known as the CSV"));
}

TEST(Formats, AnEmptyFileAndOneOfAnotherLineEndAreSaidToBeThat) {
  for (const char* text : {"", "\n\n", " \r\r"}) {
    EXPECT_EQ(guess_format(text, "t.csv").error().message, "t.csv: is empty");
    EXPECT_EQ(read_cluster(text, "c.csv").error().message, "c.csv: is empty");
  }
  for (const auto& [name, line] : kFirstLines) {
    const std::string bare = line.ends_with('\r') ? line : line + "\r";
    const auto format = guess_format(bare + "1,2,3\r", "t.csv");
    ASSERT_FALSE(format) << name;
    EXPECT_EQ(format.error().message,
              "t.csv:1: a carriage return inside the line; lines must end in LF or CR LF");
    const auto read = (*find_format(name))->read({.text = bare + "1,2,3\r", .file = "t"});
    EXPECT_FALSE(read) << name << " named by --format";
  }
}

TEST(Formats, AJobStandsOnce) {
  const std::string text =
      "job,submit_seconds,duration_seconds,gpus\na,0,1,1\nb,0,1,1\na,5,1,1\n\x01,0,1,1\n";
  const auto refused = read_native({.text = text, .file = "t"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "t:4: job 'a' is in line 2 already");
  const auto skipped = read_native({.text = text, .file = "t", .bad_rows = BadRows::Skip});
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->jobs.size(), 2U);
  EXPECT_EQ(skipped->skipped, 2U) << "and one is named by a control character";
}

TEST(Formats, AreFoundByName) {
  for (const Format& format : formats()) {
    const auto found = find_format(format.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, &format);
    EXPECT_FALSE(format.what.empty());
  }
  EXPECT_EQ(find_format("xml").error().code, ErrorCode::NotFound);
  EXPECT_THAT(find_format("xml").error().message,
              HasSubstr("trace format 'xml' is unknown; valid names: berth, philly, "));
}

TEST(Formats, NoneReadsNothingOrNoiseAsJobs) {
  for (const Format& format : formats()) {
    const auto empty = format.read({.text = "", .file = "t"});
    EXPECT_TRUE(!empty || empty->jobs.empty()) << format.name;
    const auto noise = format.read({.text = "\x01,\t|;\n\n,\n", .file = "t"});
    EXPECT_TRUE(!noise || noise->jobs.empty()) << format.name;
  }
}

TEST(Formats, AreAllInTheManual) {
  const std::string manual = test::read_file(test::source_dir() / "doc/traces.md");
  for (const Format& format : formats()) {
    EXPECT_THAT(manual, HasSubstr("| `" + std::string(format.name) + "` |"));
  }
}

}  // namespace
}  // namespace berth::trace
