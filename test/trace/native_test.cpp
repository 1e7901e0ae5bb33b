// Goal: berth's own form holds everything a job asks, and what is written is read again.
// Method: small texts; a job with every field set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Expected<Trace> native(const std::string& text) {
  return read_native({.text = text, .file = "n.csv"});
}

constexpr std::string_view kShort = "job,submit_seconds,duration_seconds,gpus\n";

TEST(Native, FourColumnsAreEnough) {
  const auto trace = native(std::string(kShort) + "a,1.5,60,2\nb,3,5,0\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const GpuRequest& gpu = trace->jobs.at(0).spec.request.gpu;
  EXPECT_EQ(trace->jobs.at(0).submit, kStart + Duration(1'500'000));
  EXPECT_EQ(gpu.count, GpuCount(2));
  EXPECT_EQ(gpu.sharing, Sharing::Alone) << "no memory stated: whole GPUs";
  EXPECT_EQ(trace->jobs.at(0).spec.time_limit, kForever);
  EXPECT_EQ(trace->jobs.at(0).spec.deadline, kNever);
  EXPECT_EQ(trace->jobs.at(1).spec.request.gpu.sharing, Sharing::Shared) << "without a GPU";
}

TEST(Native, WarnsOfColumnsThatItDoesNotReadAndOfMemoryThatIsNoBytes) {
  const auto trace = native(
      "job,submit_seconds,duration_seconds,gpus,vram,time_limit,prioritiy,note,vram_bytes\n"
      "a,0,1,1,8,60,1,x,8\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(trace->warnings,
              ElementsAre("columns that are not read: vram (vram_gib?), time_limit, "
                          "prioritiy (priority?), note",
                          "column 'vram_bytes': the largest is 8, and it is bytes that are read, "
                          "not MiB (vram_mib) or GiB (vram_gib)"));
  EXPECT_TRUE(native(std::string(kShort) + "a,0,1,1\n")->warnings.empty());
}

TEST(Native, ReadsMemoryWithAUnitAndInGibibytes) {
  const std::string head = "job,submit_seconds,duration_seconds,gpus,";
  const auto vram = [&](const std::string& column, const std::string& value) {
    const auto trace = native(head + column + "\na,0,1,1," + value + "\n");
    return trace ? std::to_string(trace->jobs.front().spec.request.gpu.vram.raw() >> 20)
                 : trace.error().message;
  };
  EXPECT_EQ(vram("vram_bytes", "20G"), "20480");
  EXPECT_EQ(vram("vram_bytes", "512 MiB"), "512");
  EXPECT_EQ(vram("vram_gib", "1.5"), "1536");
  EXPECT_THAT(vram("vram_bytes", "2.x G"), HasSubstr("expected bytes, or a size such as 20G"));
  EXPECT_EQ(vram("vram_gib", "20G"), "20480");
  EXPECT_EQ(vram("vram_gib", "16384 MiB"), "16384");
  EXPECT_EQ(vram("vram_mib", "16384"), "16384");
  EXPECT_EQ(vram("vram_mib", "16384 MiB"), "16384");
  EXPECT_THAT(vram("vram_gib", "20x"), HasSubstr("'20x', expected a number from 0 to "));
  EXPECT_THAT(vram("vram_mib", "50%"),
              HasSubstr("'50%', expected a size such as 20G: of which GPU this is a part is not "
                        "known here"));
}

TEST(Native, ARunTimeMayHaveHoursAndMinutes) {
  const auto run_time = [](const std::string& value) {
    const auto trace = native(std::string(kShort) + "a,0," + value + ",1\n");
    return trace ? std::to_string(micros(trace->jobs.front().duration) / 1'000'000)
                 : trace.error().message;
  };
  EXPECT_EQ(run_time("1:30:00"), "5400");
  EXPECT_EQ(run_time("1-00:00:10"), "86410");
  EXPECT_EQ(run_time("0 days 01:00:00"), "3600");
  EXPECT_EQ(run_time("2 days 00:00:01.500000"), "172801");
  EXPECT_EQ(run_time("0:00:00"), "0");
  EXPECT_EQ(run_time("90min"), "5400");
  for (const char* none : {"1:30", "1:30:00:00", "x:00:00", "min"}) {
    EXPECT_EQ(run_time(none), "n.csv:2: column 'duration_seconds': '" + std::string(none) +
                                  "', expected seconds, or a time such as 1:30:00");
  }
}

TEST(Native, ATimeOfAnotherFormIsToldTheOptionThatReadsIt) {
  EXPECT_EQ(native(std::string(kShort) + "a,3/1/2024 12:00,1,1\n").error().message,
            "n.csv:2: column 'submit_seconds': '3/1/2024 12:00', expected seconds, or a time such "
            "as 2024-03-01 12:00:00; --time-format reads others");
}

TEST(Native, ReadsWholeNumbersAsPandasWritesThem) {
  const auto trace =
      native("job,submit_seconds,duration_seconds,gpus,vram_bytes\na,0.0,1.0,2.0,8589934592.0\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.front().spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(trace->jobs.front().spec.request.gpu.vram, Bytes(std::int64_t{8} << 30));
  EXPECT_FALSE(native(std::string(kShort) + "a,0,1,1.5\n"));
  const auto large = native(
      "job,submit_seconds,duration_seconds,gpus,vram_bytes,limit_seconds,types,class,after,user\n"
      "a,0,1.5e+03,1,1e10,nan,NaN,NA,nan,NA\n"
      "b,0,1,1,nan,60.0,,,,\n");
  ASSERT_TRUE(large) << large.error().message;
  const TraceJob& job = large->jobs.front();
  EXPECT_EQ(job.duration, seconds(1500));
  EXPECT_EQ(job.spec.request.gpu.vram, Bytes(10'000'000'000));
  EXPECT_EQ(job.spec.time_limit, kForever);
  EXPECT_TRUE(job.types.empty() && job.after.empty());
  EXPECT_EQ(job.user, "NA") << "somebody may be called that";
  EXPECT_EQ(large->jobs.at(1).spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_FALSE(native(std::string(kShort) + "a,0,nan,1\n")) << "nothing stands for it";
}

TEST(Native, MemoryOrAComputeShareMeansSharing) {
  const auto trace = native(
      "job,submit_seconds,duration_seconds,gpus,vram_bytes,gpu_milli,alone\n"
      "a,0,1,1,1073741824,,\nb,1,1,1,,500,\nc,2,1,1,1073741824,,1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const auto gpu = [&](std::size_t i) { return trace->jobs.at(i).spec.request.gpu; };
  EXPECT_EQ(gpu(0).sharing, Sharing::Shared);
  EXPECT_EQ(gpu(0).vram, Bytes(std::int64_t{1} << 30));
  EXPECT_EQ(gpu(1).sharing, Sharing::Shared);
  EXPECT_EQ(gpu(1).vram, kUnstated);
  EXPECT_EQ(gpu(2).sharing, Sharing::Alone);
}

TEST(Native, WhomAJobComesAfterIsWrittenWhereAnyDoes) {
  const auto trace =
      native("job,submit_seconds,duration_seconds,gpus,after\na,0,1,1,\nb,0,1,1,\nc,1,1,1,a|b\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(trace->jobs.at(2).after, ElementsAre("a", "b"));
  const std::string written = write_native(*trace);
  EXPECT_THAT(native(written)->jobs.at(2).after, ElementsAre("a", "b"));
  Trace alone = *trace;
  alone.jobs.pop_back();
  EXPECT_THAT(write_native(alone), testing::Not(HasSubstr("after")));
}

TEST(Native, WhatIsWrittenIsReadAgain) {
  Trace trace;
  TraceJob job{.name = "j,1",
               .submit = kStart + Duration(2'500'000),
               .duration = seconds(7),
               .spec = {},
               .user = "ann",
               .model = "resnet\n50",
               .types = {"A100", "H100"}};
  job.spec.user = UserId(1);
  job.spec.request = {
      .cpu = CpuMilli(4500),
      .host = Bytes(1 << 20),
      .gpu = {.count = GpuCount(2), .vram = Bytes(5 << 20), .milli = GpuMilli(300)}};
  job.spec.priority = 3;
  job.spec.time_limit = minutes(5);
  job.spec.deadline = kStart + hours(1);
  trace.jobs = {job};
  const std::string text = write_native(trace);
  EXPECT_THAT(text, HasSubstr("\nj_1,ann,resnet_50,2.5,7,2,5242880,300,,4500,1048576,A100|H100,3,"
                              "300,3600\n"));
  const auto again = native(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->jobs.at(0).spec, job.spec);
  EXPECT_EQ(again->jobs.at(0).submit, job.submit);
  EXPECT_EQ(again->jobs.at(0).duration, job.duration);
  EXPECT_EQ(again->jobs.at(0).user, "ann");
  EXPECT_THAT(again->jobs.at(0).types, ElementsAre("A100", "H100"));
  EXPECT_EQ(write_native(*again), text);
}

TEST(Native, KeepsWhatFewJobsSay) {
  Trace trace;
  TraceJob plain{.name = "plain", .duration = seconds(1)};
  plain.spec.request.gpu.count = GpuCount(1);
  TraceJob elastic = plain;
  elastic.name = "elastic";
  elastic.batch = 64;
  elastic.spec.request.gpu = {.count = GpuCount(2), .min = GpuCount(1), .max = GpuCount(4)};
  elastic.spec.group = "sweep";
  trace.jobs = {plain};
  EXPECT_THAT(write_native(trace), Not(HasSubstr("min_gpus")));
  trace.jobs = {plain, elastic};
  const std::string text = write_native(trace);
  EXPECT_THAT(text, HasSubstr("deadline_seconds,batch,min_gpus,max_gpus,group\n"));
  const auto again = native(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->jobs.at(0).spec.request.gpu.is_elastic());
  EXPECT_EQ(again->jobs.at(1).batch, 64);
  EXPECT_EQ(again->jobs.at(1).spec.request.gpu.min, GpuCount(1));
  EXPECT_EQ(again->jobs.at(1).spec.request.gpu.max, GpuCount(4));
  EXPECT_EQ(again->jobs.at(1).spec.group, "sweep");
}

TEST(Native, ARangeOfGpusIsAroundWhatIsAsked) {
  const auto read = [](const std::string& range) {
    return native("job,submit_seconds,duration_seconds,gpus,min_gpus,max_gpus\na,1,60,2," + range +
                  "\n");
  };
  EXPECT_EQ(read("1,")->jobs.at(0).spec.request.gpu.max, GpuCount(2));
  EXPECT_EQ(read(",8")->jobs.at(0).spec.request.gpu.min, GpuCount(2));
  EXPECT_THAT(read("3,4").error().message, HasSubstr("column 'min_gpus': '3'"));
  EXPECT_THAT(read("1,1").error().message,
              HasSubstr("expected a range of GPUs around those that the job asks for"));
}

TEST(Native, ClassDutyMemoryAndRetriesAreReadAndWrittenWhereAJobStatesThem) {
  const std::string text =
      "job,submit_seconds,duration_seconds,gpus,vram_bytes,class,duty_milli,memory,retries,saves\n"
      "a,0,60,1,4294967296,short,130,0:300|20.5:4000 40:1000,3,1\n"
      "b,1,60,1,4294967296,,,,,\n"
      "c,2,60,1,4294967296,medium,0,7:12,0,0\n";
  const auto trace = native(text);
  ASSERT_TRUE(trace) << trace.error().message;
  const TraceJob& all = trace->jobs.at(0);
  EXPECT_EQ(all.spec.duration_class, DurationClass::Short);
  EXPECT_EQ(all.duty, GpuMilli(130));
  EXPECT_EQ(all.spec.retries, 3);
  EXPECT_NE(all.spec.conditions.if_set(), nullptr) << "that it saves itself is one";
  EXPECT_THAT(all.use.points(),
              ElementsAre(UsePoint{Duration(0), Bytes(300 << 20)},
                          UsePoint{Duration(20'500'000), Bytes(std::int64_t{4000} << 20)},
                          UsePoint{seconds(40), Bytes(1000 << 20)}));
  const TraceJob& none = trace->jobs.at(1);
  EXPECT_EQ(none.spec.duration_class, DurationClass::Medium);
  EXPECT_EQ(none.duty, kUnstatedDuty);
  EXPECT_TRUE(none.use.empty());
  EXPECT_EQ(none.spec.conditions.if_set(), nullptr);
  EXPECT_EQ(trace->jobs.at(2).duty, GpuMilli(0));
  const std::string written = write_native(*trace);
  EXPECT_THAT(written, HasSubstr("deadline_seconds,class,duty_milli,memory,retries,saves\n"));
  EXPECT_THAT(written, HasSubstr(",short,130,0:300|20.5:4000|40:1000,3,1\n"));
  const auto again = native(written);
  ASSERT_TRUE(again) << again.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again->jobs.at(i).spec, trace->jobs.at(i).spec);
    EXPECT_EQ(again->jobs.at(i).duty, trace->jobs.at(i).duty);
    EXPECT_EQ(again->jobs.at(i).use, trace->jobs.at(i).use);
  }
  EXPECT_EQ(write_native(*again), written);
}

TEST(Native, TimesOfTheCalendarAreReadAsTheFirstRowHasThem) {
  const std::string header = "job,submit_seconds,start_seconds,end_seconds,gpus,deadline_seconds\n";
  const auto table = [&](const std::string& rows, std::string_view form = {}) {
    return read_native({.text = header + rows, .file = "t", .time_format = form});
  };
  const auto trace = table(
      "a,2024-03-01 12:00:00,2024-03-01 12:00:05,2024-03-01 12:01:05,1,2024-03-01 13:00:00\n"
      "b,2024-03-01T12:30:00+00:00,2024-03-01T12:30:00Z,,1,\n"
      "c,2024-03-01T12:30:00Z,,,1,\n"
      "d,2024-03-01T12:30:00Z,2024-03-01T12:30:00Z,2024-03-01T14:30:00+02:00,1,\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].submit, kStart);
  EXPECT_EQ(trace->jobs[0].duration, minutes(1));
  EXPECT_EQ(trace->jobs[0].spec.deadline, kStart + hours(1));
  EXPECT_EQ(trace->jobs[1].submit, kStart + minutes(30));
  EXPECT_EQ(left_out_as(*trace, kNotEnded), 1U);
  EXPECT_EQ(left_out_as(*trace, kNeverRan), 1U);
  EXPECT_EQ(table("a,01.03.2024,01.03.2024,02.03.2024,1,\n", "%d.%m.%Y")->jobs.at(0).duration,
            hours(24));
  EXPECT_EQ(error_of(table("a,noon,,,1,\n", "%d.%m.%Y")),
            "t:2: column 'submit_seconds': 'noon', expected a time of the form %d.%m.%Y");
  EXPECT_EQ(error_of(table("a,2024-03-01 12:00:00,,,1,\nb,7,,,1,\n")),
            "t:3: column 'submit_seconds': '7', expected a time such as 2024-03-01 12:00:00");
  EXPECT_EQ(error_of(table("a,1990-03-01 12:00:00,1990-03-01 12:00:00,1990-03-02 12:00:00,1,\n"
                           "b,2124-03-01 12:00:00,2124-03-01 12:00:00,2124-03-02 12:00:00,1,\n")),
            "t: its times are more than a century apart");
}

TEST(Native, NamesWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const auto trace = native(text);
    return trace ? "none" : trace.error().message;
  };
  EXPECT_THAT(error(std::string(kShort) + "a,1,60,-1\n"),
              HasSubstr("n.csv:2: column 'gpus': '-1'"));
  EXPECT_THAT(error(std::string(kShort) + ",1,60,1\n"), HasSubstr("column 'job': ''"));
  EXPECT_THAT(error("job,submit_seconds,duration_seconds,gpus,gpu_milli\na,1,1,1,1001\n"),
              HasSubstr("column 'gpu_milli': '1001', expected an integer from 0 to 1000"));
  EXPECT_THAT(error("job,submit_seconds,duration_seconds,gpus,alone\na,1,1,1,yes\n"),
              HasSubstr("column 'alone': 'yes'"));
  const auto stating = [&](const std::string& column, const std::string& value) {
    return error("job,submit_seconds,duration_seconds,gpus," + column + "\na,1,1,1," + value +
                 "\n");
  };
  EXPECT_THAT(stating("class", "brief"),
              HasSubstr("column 'class': 'brief', expected one of short, medium, long, service"));
  EXPECT_THAT(stating("duty_milli", "1001"), HasSubstr("expected an integer from 0 to 1000"));
  EXPECT_THAT(stating("retries", "101"), HasSubstr("expected an integer from 0 to 100"));
  EXPECT_THAT(stating("saves", "2"), HasSubstr("expected an integer from 0 to 1"));
  for (const char* curve : {"5", ":5", "5:", "1:2:3", "-1:2", "1:-2", "1:2.5", "2:1|2:1", "3:1 2:1",
                            "x:1", "1:1073741825"}) {
    EXPECT_THAT(stating("memory", curve),
                HasSubstr("expected at most 1000 points SECONDS:MIB, ascending in time"))
        << curve;
  }
  EXPECT_EQ(error("job,submit_seconds,gpus\n"),
            "n.csv:1: no column 'duration_seconds' in the header");
}

}  // namespace
}  // namespace berth::trace
