// Goal: `why` and `submit --dry-run` tell the daemon's answer so that a reader knows what to do.
// Method: the real program against a daemon of canned answers; the page alone where it shows times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/why_text.hpp"

namespace berth {
namespace {

using test::FakeDaemon;
using test::kFailed;
using test::Ran;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

const auto kWaiting = R"j({"id":3,"state":"queued","policy":"easy","why":"capacity",
  "reason":"needs 8 GiB on one GPU; none of the 2 GPUs has room for it; GPU 1 lacks 2.5 GiB",
  "fitting_gpus":0,
  "lacking":[{"gpu":1,"name":"GPU 1","why":"capacity","lacking_bytes":2621440001,"foreign_bytes":0,
              "holders":[{"job":1,"charge_bytes":8589934592},{"job":2,"charge_bytes":1073741824}]},
             {"gpu":0,"name":"GPU 0","why":"drain","lacking_bytes":0,"foreign_bytes":0,
              "text":"is drained by bob until 18:00 (new fan)","holders":[]}],
  "must_end":[1],"reservation":{"gpus":[1],"from_at":null},
  "must_not_delay":[],"passing":"no job behind it starts before it","predicted_start_at":null,
  "confidence":"unknown","rests_on":"it is not known when job 1 ends","no_known_end":[1],
  "before":[],
  "before_count":0})j";

class WhyVerb : public testing::Test {
 protected:
  Ran berth(std::vector<std::string> arguments) const {
    return test::berth(std::move(arguments),
                       {.environment = {"BERTH_SOCKET=" + daemon_.socket()}, .directory = "/tmp"});
  }
  FakeDaemon daemon_;
};

TEST_F(WhyVerb, TellsWhatIsMissingAndWhoHoldsIt) {
  daemon_.answer("GET /v1/jobs/3/why", kWaiting);
  const Ran ran = berth({"why", "3"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "job           3, queued\n"
            "reason        needs 8 GiB on one GPU; none of the 2 GPUs has room for it\n"
            "GPU 1         lacks 2501 MiB: job 1 holds 8 GiB, job 2 holds 1 GiB\n"
            "GPU 0         is drained by bob until 18:00 (new fan)\n"
            "must end      job 1\n"
            "reserved      GPU 1, as soon as it is free\n"
            "others        no job behind it starts before it\n"
            "start         unknown: it is not known when job 1 ends\n");
}

TEST_F(WhyVerb, TellsHowAHeldJobGoesOn) {
  daemon_.answer("GET /v1/jobs/7/why",
                 R"({"id":7,"state":"held","why":"held","reason":"held by its owner"})");
  const Ran ran = berth({"why", "7"});
  EXPECT_EQ(ran.out,
            "job           7, held\n"
            "reason        held by its owner\n"
            "to go on      berth release 7\n");
}

TEST_F(WhyVerb, SaysWhatThePolicyDecidedWhereThereIsRoom) {
  const std::map<std::string, std::string> lines = {
      {"order", "waits for     its turn: GPUs 0, 1 are 85, 88 % busy (limit 75 %)\n"},
      {"patience",
       "waits for     a better place: GPUs 0, 1 are 85, 88 % busy (limit 75 %); beside jobs 1, "
       "2\n"},
      {"locality", "waits for     GPUs closer together, as the placement wants them\n"},
      {"reservation", "waits for     a place that is not reserved for another job\n"}};
  for (const auto& [decided, line] : lines) {
    Json body = Json::parse(kWaiting);
    body["why"] = decided;
    body["gate"] = {
        {"text", "GPUs 0, 1 are 85, 88 % busy (limit 75 %)"},
        {"gpu", "GPU 0"},
        {"gpus", {{{"name", "GPU 0"}, {"jobs", {1}}}, {{"name", "GPU 1"}, {"jobs", {2}}}}}};
    daemon_.answer("GET /v1/jobs/3/why", body.dump());
    EXPECT_THAT(berth({"why", "3"}).out, HasSubstr(line)) << decided;
  }
}

TEST_F(WhyVerb, GoesOnAfterARefusalAndPrintsJson) {
  daemon_.answer("GET /v1/jobs/3/why", kWaiting);
  const Ran ran = berth({"why", "--json", "9", "3"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: /v1/jobs/9/why: no such job\n");
  EXPECT_EQ(Json::parse(ran.out), Json({{"jobs", {Json::parse(kWaiting)}}}));
  EXPECT_EQ(berth({"why"}).exit_code, 2);
}

TEST_F(WhyVerb, SurvivesNonsense) {
  for (const char* body : {"{}", R"({"lacking":7,"before":[1],"must_end":[],"reservation":3})"}) {
    daemon_.answer("GET /v1/jobs/3/why", body);
    EXPECT_EQ(berth({"why", "3"}).exit_code, 0) << body;
  }
}

TEST_F(WhyVerb, ADryRunSubmitsNothing) {
  daemon_.answer("POST /v1/jobs", R"({"admitted_now":true,"gpus":[0],"predicted_start_at":0,
      "confidence":"bound","rests_on":"nothing has to happen before"})");
  const Ran ran = berth({"submit", "--dry-run", "--vram", "2G", "true"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "starts now    yes\n"
            "on            GPU 0\n"
            "start         now (bound: nothing has to happen before)\n");
  const http::Request request = daemon_.take("POST /v1/jobs");
  EXPECT_EQ(request.parameter("dry_run"), "true");
  EXPECT_EQ(Json::parse(request.body).at("vram_bytes"), std::int64_t{2} << 30);
  EXPECT_THAT(berth({"submit", "--dry-run", "--json", "true"}).out, StartsWith("{\n"));
}

TEST(WhyPage, ShowsTimesByTheClockAndFromNow) {
  const Json why = Json::parse(R"({"id":3,"state":"queued","predicted_start_at":1300.0,
      "confidence":"bound","rests_on":"limits","reservation":{"gpus":[0,1],"from_at":1060.0},
      "before":[{"at":1060.0,"job":1,"event":"ends","by":"time limit"},
                {"at":1060.0,"job":2,"event":"starts","by":null}],"before_count":5})");
  const std::string page = cli::why_page(why, 1000, {});
  EXPECT_THAT(page, HasSubstr(", in 5m00s (bound: limits)\n"));
  EXPECT_THAT(page, HasSubstr("reserved      GPUs 0, 1\n"));
  EXPECT_THAT(page, HasSubstr(", in 1m00s: job 1 ends (time limit)\n"));
  EXPECT_THAT(page, HasSubstr(": job 2 starts\n  and 3 more\n"));
  EXPECT_THAT(page, Not(HasSubstr("reason")));
}

TEST(WhyPage, NamesNoPlaceThatIsKeptIfItStartsOnAnother) {
  Json why = Json::parse(R"({"id":3,"state":"queued","predicted_start_at":1300.0,
      "confidence":"estimate","rests_on":"job 1","start_gpus":[1],
      "reservation":{"gpus":[0],"from_at":1060.0}})");
  const std::string elsewhere = cli::why_page(why, 1000, {});
  EXPECT_THAT(elsewhere, HasSubstr("on GPU 1"));
  EXPECT_THAT(elsewhere, Not(HasSubstr("reserved")));
  why["start_gpus"] = {0};
  EXPECT_THAT(cli::why_page(why, 1000, {}), HasSubstr("reserved      GPU 0\n"));
}

TEST(WhyPage, SaysThatTheDeadlineWillBeMissed) {
  Json why = Json::parse(R"({"id":3,"state":"queued","predicted_start_at":1300.0,
      "confidence":"bound","rests_on":"limits","deadline_at":1400.0})");
  EXPECT_THAT(cli::why_page(why, 1000, {}), ContainsRegex("deadline      [0-9:]+\n"));
  why["expected_end_at"] = 1500;
  EXPECT_THAT(cli::why_page(why, 1000, {}), HasSubstr(", missed: it is expected to end at "));
  why["expected_end_at"] = nullptr;
  why["predicted_start_at"] = 1401;
  EXPECT_THAT(cli::why_page(why, 1000, {}), HasSubstr(", missed: it starts later\n"));
}

TEST(WhyPage, SaysByWhenItStartsWithNinetyPercent) {
  Json why = Json::parse(R"({"id":3,"state":"queued","predicted_start_at":1300.0,
      "predicted_by_at":4900.0,"predicted_from":"past predictions","confidence":"estimate",
      "rests_on":"job 1 is expected to end by its estimate","start_gpus":[0],
      "reason_brief":"GPU 0 is full"})");
  const std::string by = ", by " + cli::by_clock_text(4900, 1000);
  EXPECT_THAT(cli::why_page(why, 1000, {}),
              HasSubstr(", in 5m00s on GPU 0 (estimate: job 1 is expected to end by its estimate)" +
                        by + " for nine of ten such jobs (from past predictions)\n"));
  EXPECT_EQ(cli::waiting_line(why, 1000),
            "GPU 0 is full, starts ~" + cli::clock_text(1300, 1000) + by);
  why["predicted_from"] = "prior";
  EXPECT_THAT(
      cli::why_page(why, 1000, {}),
      HasSubstr(by + " for nine of ten such jobs (assumed: few were predicted here so far)\n"));
}

TEST(WhyPage, TellsTheLikelyStartFromTheOneThatWhatHappensBeforeLeadsTo) {
  Json why = Json::parse(R"({"id":3,"state":"queued","predicted_start_at":1300.0,
      "predicted_by_at":1900.0,"predicted_from":"past predictions","foreseen_start_at":8200.0,
      "confidence":"estimate","rests_on":"job 1 is expected to end by its class",
      "before":[{"at":8200.0,"job":1,"event":"ends","by":"class"}],"before_count":1})");
  const std::string page = cli::why_page(why, 1000, {});
  EXPECT_THAT(page, HasSubstr("(from past predictions); if jobs end as expected: 1970-"));
  EXPECT_THAT(page, HasSubstr("  if jobs end as expected:\n  1970-"));
  why["foreseen_start_at"] = 1300.0;
  EXPECT_THAT(cli::why_page(why, 1000, {}), Not(HasSubstr("as expected")));
}

TEST(WhyPage, SaysWithWhatItStartsSooner) {
  const Json why = Json::parse(R"j({"id":3,"state":"queued","predicted_start_at":1300.0,
      "confidence":"bound","rests_on":"limits","reason_brief":"needs 2.5 GiB more on GPU 0 (job 8)",
      "hints":[{"change":{"time_limit_seconds":2280.0},"starts_at":1000.0,"gpus":[1]},
               {"change":{"vram_bytes":9663676416},"starts_at":1060.0,"gpus":[0]},
               {"change":{"gpu_types":["a100","h100"]},"starts_at":1000.0,"gpus":[2]}]})j");
  const std::string page = cli::why_page(why, 1000, {});
  EXPECT_THAT(page,
              HasSubstr("sooner        with --time 38min it starts now on GPU 1: berth update "
                        "3 --time 38min\n"));
  EXPECT_THAT(page, HasSubstr("or            with --vram 9G it starts at "));
  EXPECT_THAT(page, HasSubstr("berth update 3 --gpu-type a100,h100\n"));
  Json named = Json::parse(kWaiting);
  named["handles"] = {{"1", "1_1"}};
  EXPECT_THAT(cli::why_page(named, 1000, {}), AllOf(HasSubstr("job 1_1 holds 8 GiB, job 2 holds"),
                                                    HasSubstr("must end      job 1_1\n")));
  Json of_task = why;
  of_task["handle"] = "643_5";
  EXPECT_THAT(cli::why_page(of_task, 1000, {}),
              AllOf(StartsWith("job           643_5, queued\n"),
                    HasSubstr(": berth update 643_5 --time 38min\n")))
      << "3 may be the whole of an array";
  const std::string line = cli::waiting_line(why, 1000);
  EXPECT_THAT(line, StartsWith("needs 2.5 GiB more on GPU 0 (job 8), starts by "));
  EXPECT_THAT(line, testing::EndsWith("; with --time 38min now"));
  const std::string dry = cli::dry_run_page(Json::parse(R"({"hints":[
      {"change":{"gpus":2},"starts_at":1000.0,"gpus":[0,1]}]})"),
                                            1000, {});
  EXPECT_THAT(dry, HasSubstr("sooner        with --gpus 2 it starts now on GPUs 0, 1\n"));
}

TEST(WhyPage, SaysByWhenItJoinsAGpuThatIsBusy) {
  const Json why = Json::parse(R"j({"id":3,"state":"queued","why":"patience","not_before_at":1300.0,
      "gate":{"text":"GPU 0 is 85 % busy (limit 75 %)","gpu":"GPU 0",
              "gpus":[{"name":"GPU 0","jobs":[1]}]}})j");
  const std::string page = cli::why_page(why, 1000, {});
  EXPECT_THAT(page, HasSubstr("waits for     a better place: GPU 0 is 85 % busy (limit 75 %); "
                              "beside job 1\n"));
  EXPECT_THAT(page, HasSubstr("may join      GPU 0 from "));
}

TEST(WhyPage, SaysOfJobsThatWaitThatTheyHaveToStartBefore) {
  const auto page_of = [](const char* jobs) {
    return cli::why_page(Json::parse(std::string(R"({"id":3,"state":"queued",)") + jobs + "}"),
                         1000, {});
  };
  EXPECT_THAT(page_of(R"("must_end":[1,2],"must_start":[2])"),
              HasSubstr("must end      job 1; and job 2, which has to start before\n"));
  EXPECT_THAT(page_of(R"("must_end":[1,2],"must_start":[1,2])"),
              HasSubstr("must end      jobs 1, 2, which have to start before\n"));
  EXPECT_THAT(page_of(R"("must_end":[1,2],"must_start":[])"),
              HasSubstr("must end      jobs 1, 2\n"));
  EXPECT_THAT(page_of(R"("must_end":[1,2],"must_start":[],
                         "before":[{"at":900.0,"job":1,"event":"gives way"}],"before_count":1)"),
              HasSubstr("must leave    jobs 1, 2\n"));
}

TEST(WhyPage, BreaksNoWord) {
  const Json why = Json::parse(kWaiting);
  const std::string page = cli::why_page(why, 1000, {.terminal = true, .width = 60});
  EXPECT_THAT(page, HasSubstr("reason        needs 8 GiB on one GPU; none of the 2 GPUs has\n"
                              "              room for it\n"));
}

}  // namespace
}  // namespace berth
