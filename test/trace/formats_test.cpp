// Goal: every format is told by its first line, and one list names them all.
// Method: a first line of each; the list against itself.
#include "trace/formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "support/paths.hpp"
#include "trace/error.hpp"

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
    {"helios",
     "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
     "queue"},
    {"acme",
     "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
     "queue,gpu_time"},
    {"pai",
     "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"},
    {"pai", "4f057009a5d4,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.3,50.0,MISC"},
    {"spot",
     "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
     "job_type"},
    {"philly", "["},
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

/// Excel and R change a header's separators and quotes, and put a mark before it.
TEST(Formats, AreToldInATableOfASpreadsheetToo) {
  for (const char* text : {"\xef\xbb\xbf"
                           "job;submit_seconds;duration_seconds;gpus\r\na;0;1,5;1\r\n",
                           "sep=;\njob;submit_seconds;duration_seconds;gpus\na;0;1,5;1\n;;;\n",
                           "\"job\",\"submit_seconds\",\"duration_seconds\",\"gpus\"\na,0,1.5,1\n",
                           "job\tsubmit_seconds\tduration_seconds\tgpus\na\t0\t1.5\t1\n"}) {
    const auto format = guess_format(text, "t.csv");
    ASSERT_TRUE(format) << text << format.error().message;
    EXPECT_EQ((*format)->name, "berth") << text;
    const auto trace = (*format)->read({.text = text, .file = "t.csv"});
    ASSERT_TRUE(trace) << text << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 1U) << text;
    EXPECT_EQ(trace->jobs[0].duration, Duration(1'500'000)) << text;
  }
  EXPECT_EQ(error_of(guess_format("PK\x03\x04", "t.xlsx")),
            "t.xlsx: this is a workbook or another archive of zip; save its sheet as CSV UTF-8");
}

TEST(Formats, AnUnknownLineNamesThem) {
  for (const char* text : {"a,b,c\n", "job_idx,num_gpuses\n", "xsubmit_time\n"}) {
    const auto format = guess_format(text, "t.csv");
    ASSERT_FALSE(format) << text;
    EXPECT_THAT(
        format.error().message,
        HasSubstr("t.csv:1: the line is not the header of a trace format; valid formats: berth, "));
    EXPECT_THAT(format.error().message,
                HasSubstr("a table of your own is read with --columns job=COLUMN,submit_seconds="));
  }
  EXPECT_THAT(
      error_of(guess_format("id,created,took,ngpus\n", "t.csv")),
      HasSubstr("--columns job=id,submit_seconds=created,duration_seconds=took,gpus=ngpus,"));
  EXPECT_THAT(error_of(guess_format("Job ID;Submitted;Start Time;Finished;GPUs\n", "t.csv")),
              HasSubstr("--columns 'job=Job ID,submit_seconds=Submitted,start_seconds=Start Time,"
                        "end_seconds=Finished,gpus=GPUs',"));
  EXPECT_EQ(error_of(guess_format("{\"jobid\": 1}\n", "t.json")),
            "t.json:1: JSON is read as Philly's cluster_job_log only, which is an array of jobs");
}

TEST(Formats, AKnownTableThatHasNoJobsIsNamedWithTheOneThatHas) {
  const std::vector<std::pair<std::string, std::string>> tables = {
      {"job_name,inst_id,user,status,start_time,end_time",
       "t:1: this is PAI's table of jobs, which has no GPUs; the jobs are read from "
       "pai_task_table.csv, with this file as --profiles"},
      {"4b3f04b66a52,8cb3bec23d14,58540f19,Terminated,4550879.0,4551416.0",
       "t:1: this is PAI's table of jobs, which has no GPUs; the jobs are read from "
       "pai_task_table.csv, with this file as --profiles"},
      {"machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
       "t:1: this is PAI's list of machines; it is given as --cluster"},
      {"75c536d5ba60528b3ef3ae40,CPU,96,512,0",
       "t:1: this is PAI's list of machines; it is given as --cluster"},
      {"date,vchbv,vc4om,total",
       "t:1: this is Helios's GPUs by day and virtual cluster; it is given as --cluster"},
      {"id,gpu_num,job_num,avg_que_time_gpu",
       "t:1: this is a summary of Helios; its jobs are in cluster_log.csv"},
      {"NodeName=a Arch=x86_64",
       "t:1: this is what Slurm prints of its nodes; it is given as --cluster"},
  };
  for (const auto& [line, message] : tables) {
    EXPECT_EQ(error_of(guess_format(line + "\n", "t")), message);
  }
  EXPECT_EQ(error_of(read_cluster("job_id,gpu_num,state\n", "c")),
            "c:1: this is a trace of the format helios; it is given as --trace");
}

TEST(Formats, AMissingColumnSaysWhatWasGuessedAndWhy) {
  const std::string header = "job_id,num_gpu,submit_time\n";
  const auto format = guess_format(header, "t");
  ASSERT_TRUE(format);
  EXPECT_EQ(why_taken(**format, header),
            "its first line is taken for one of the format tiresias by the column 'submit_time', "
            "which needs job_id, num_gpu, submit_time, duration; --format names another, and a "
            "table of your own is read with --columns "
            "job=job_id,submit_seconds=submit_time,duration_seconds=COLUMN,gpus=num_gpu");
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
    EXPECT_TRUE(manual.contains("| `" + std::string(format.name) + "` |")) << format.name;
  }
}

}  // namespace
}  // namespace berth::trace
