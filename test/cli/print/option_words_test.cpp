// Goal: refusals and hints speak of options, never of the API's keys.
// Method: the words of the daemon by hand; every key that the command line can send.
#include "cli/print/option_words.hpp"

#include <gtest/gtest.h>

#include "cli/fake_daemon.hpp"
#include "cli/job/submission.hpp"
#include "cli/program.hpp"
#include "core/text/amounts.hpp"
#include "core/text/job_fields.hpp"

namespace berth {
namespace {

using cli::in_options;

TEST(OptionWords, ARefusalNamesWhatWasTyped) {
  EXPECT_EQ(in_options("/v1/jobs", "gpu_types: 'x' is not a GPU type of this machine"),
            "--gpu-type: 'x' is not a GPU type of this machine");
  EXPECT_EQ(in_options("/v1/jobs", "after: job 999: no such job"), "--after: job 999: no such job");
  EXPECT_EQ(
      in_options("/v1/jobs", "after: job 7 ended as failed: after-ok 7 can never be satisfied"),
      "--after: job 7 ended as failed: --after-ok 7 can never be satisfied");
  EXPECT_EQ(in_options("/v1/jobs?dry_run=true", "warning_signal: 'FOO', must be a signal"),
            "--signal: 'FOO', must be a signal");
  EXPECT_EQ(in_options("/v1/jobs", "min_gpus and max_gpus: 2 and 1"),
            "--min-gpus and --max-gpus: 2 and 1");
  EXPECT_EQ(in_options("/v1/jobs", "environment[3]: has no ="), "--env: has no =");
  EXPECT_EQ(in_options("/v1/jobs/7/update", "job 7: vram_bytes: it asks for no GPU"),
            "job 7: --vram: it asks for no GPU");
  EXPECT_EQ(in_options("/v1/update", "change: vram_bytes: 0, the least is 1"),
            "--vram: 0, the least is 1");
}

TEST(OptionWords, OfAMachineNamesTheGpu) {
  EXPECT_EQ(in_options("/v1/drain", "gpus: GPU 7: this machine has 2"),
            "GPU 7: this machine has 2");
  EXPECT_EQ(in_options("/v1/reserve", "users: names nobody"), "--user: names nobody");
  EXPECT_EQ(in_options("/v1/unreserve", "reservations: names none"), "names none");
}

TEST(OptionWords, OtherWordsStay) {
  for (const char* said : {"job 7: has ended already", "asks 9 GPUs, the cluster has 2", "",
                           "the queue of uid 7 is full: it has 10", "name and more"}) {
    EXPECT_EQ(in_options("/v1/jobs", said), said);
  }
}

TEST(OptionWords, EveryKeyOfASubmissionHasAnOption) {
  cli::JobOptions options;
  options.command = {"true"};
  for (const JobField& field : kJobFields) {
    if (field.option.type.empty()) continue;
    const FieldKind kind = field.kind;
    const bool is_number = kind == FieldKind::Count || kind == FieldKind::Cores;
    options[field.option.name] = kind == FieldKind::Size   ? "1G"
                                 : kind == FieldKind::Time ? "10min"
                                 : kind == FieldKind::Flag ? "yes"
                                 : is_number               ? "1"
                                                           : "x";
  }
  for (const auto& [option, typed] : {std::pair("--share", "mps"),
                                      {"--class", "short"},
                                      {"--signal", "USR1@60s"},
                                      {"--after", "1"},
                                      {"--gpu-index", "1"},
                                      {"--deadline", "10min"},
                                      {"--requeue-on", "exit:75"},
                                      {"--on-preempt", "signal:USR1,grace=60s"},
                                      {"--begin", "+2h"},
                                      {"--array", "1-4"}}) {
    options[option] = typed;
  }
  options["--at-once"].reset();  // of a sweep
  options.exclusive = options.hold = true;
  const auto made = cli::submission_of(
      options, {.environment = {}, .directory = "/", .umask = 0, .now = kStart + hours(500'000)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GT(made->body.size(), 35U);
  const std::string help = test::berth({"submit", "--help"}, {}).out;
  for (const auto& [key, value] : made->body.items()) {
    if (key == "umask") continue;  // nobody types it
    const std::string option(cli::option_for(key));
    EXPECT_NE(option, "") << key;
    const bool is_typed = option.starts_with("--");
    EXPECT_TRUE(!is_typed || help.contains(option)) << key;
  }
}

TEST(OptionWords, EachVerbHasTheOptionsOfTheTable) {
  const auto help_of = [](const char* verb) { return test::berth({verb, "--help"}).out; };
  const std::string submit = help_of("submit");
  const std::string run = help_of("run");
  const std::string update = help_of("update");
  for (const JobField& field : kJobFields) {
    const std::string option =
        std::string(field.option.name) + " " + std::string(field.option.type);
    if (field.option.type.empty()) continue;
    EXPECT_TRUE(submit.contains(option)) << "berth submit: " << option;
    EXPECT_EQ(run.contains(option), field.option.verbs == FieldVerbs::RunAndSubmit)
        << "berth run: " << option;
    EXPECT_EQ(update.contains(option), may_be_changed(field)) << "berth update: " << option;
  }
}

TEST(OptionWords, AChangeIsTypedAsUpdateTakesIt) {
  const auto text = [](const char* json) { return cli::options_of(nlohmann::json::parse(json)); };
  EXPECT_EQ(text(R"({"time_limit_seconds":2280.0})"), "--time 38min");
  EXPECT_EQ(text(R"({"vram_bytes":9663676416})"), "--vram 9G");
  EXPECT_EQ(text(R"({"share":"now"})"), "--share now");
  EXPECT_EQ(text(R"({"gpu_types":["a100","h100"]})"), "--gpu-type a100,h100");
  EXPECT_EQ(text(R"({"gpu_indices":[0,2]})"), "--gpu-index 0,2");
  EXPECT_EQ(text(R"({"gpus":2,"priority":3})"), "--gpus 2 --priority 3");
  EXPECT_EQ(text("null"), "");
  EXPECT_EQ(text(R"({"unheard_of":2})"), "");
}

TEST(OptionWords, WhatIsTypedReadsBackAsIt) {
  for (const std::int64_t minutes : {1, 38, 60, 90, 125, 600, 1440, 1500, 2880, 10080}) {
    const auto back = parse_duration(cli::typed_time(static_cast<double>(minutes) * 60));
    ASSERT_TRUE(back) << cli::typed_time(static_cast<double>(minutes) * 60);
    EXPECT_EQ(*back, seconds(60 * minutes));
  }
  for (const std::int64_t mib : {512, 1024, 1536, 9216}) {
    const auto back = parse_size(cli::typed_size(mib << 20));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->raw(), mib << 20);
  }
}

}  // namespace
}  // namespace berth
