// Goal: each verb asks what doc/openapi.yaml says, and tells the answer in words, JSON and codes.
// Method: the real program against a daemon of canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"
#include "cli/tell/job_pages.hpp"
#include "shim/ulimits.hpp"

namespace berth {
namespace {

using test::FakeDaemon;
using test::job_event;
using test::kBadUsage;
using test::kFailed;
using test::Program;
using test::Ran;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::json;

class Verbs : public testing::Test {
 protected:
  test::StartOptions options() const {
    return {.environment = {"BERTH_SOCKET=" + daemon_.socket()}, .directory = "/tmp"};
  }
  Ran berth(std::vector<std::string> arguments) const {
    return test::berth(std::move(arguments), options());
  }

  FakeDaemon daemon_;
};

constexpr const char* kOne = R"({"jobs":[{"id":1}]})";

http::Response refusal(int status, const std::string& message) {
  return {.status = status, .body = http::error_body(message)};
}

TEST_F(Verbs, SubmitPostsTheJobAndPrintsItsNumber) {
  daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":7,"state":"queued"})"}});
  const Ran ran = berth({"submit", "--vram", "2G", "--gpus", "2", "--env", "A=b", "--hold",
                         "--name", "n", "--", "sh", "-c", "exit 3", "--", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "7\n");
  EXPECT_THAT(ran.err, IsEmpty());
  const http::Request request = daemon_.take("POST /v1/jobs");
  EXPECT_EQ(request.content_type, "application/json");
  Json body = Json::parse(request.body);
  EXPECT_TRUE(body.at("umask").is_number_integer());
  body.erase("umask");
  Json& environment = body.at("environment");
  const Json own = environment.at(2);
  environment.erase(2);
  EXPECT_EQ(own, std::string(shim::kBerthUlimit) + "=" + shim::own_ulimits());
  EXPECT_EQ(body, Json::parse(R"({"command":["sh","-c","exit 3","--","--json"],
      "directory":"/tmp","environment":["PATH=/usr/bin:/bin","BERTH_SOCKET=)" +
                              daemon_.socket() + R"(","A=b"],
      "gpus":2,"vram_bytes":2147483648,"held":true,"name":"n","program_words":["A=b"]})"));
}

TEST_F(Verbs, SubmitPrintsJsonAndTakesACommandWithoutDashes) {
  daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":7,"state":"queued"})"}});
  const Ran ran = berth({"submit", "--json", "python", "t.py", "--vram", "3"});
  const Json told = Json::parse(ran.out);
  EXPECT_EQ(told["id"], 7);
  EXPECT_EQ(told["state"], "queued");
  EXPECT_THAT(told["warnings"].dump(), HasSubstr("'t.py' is not there")) << "as on standard error";
  EXPECT_THAT(ran.err, HasSubstr("--vram stands behind the command and goes to python"));
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/jobs").body).at("command"),
            Json::parse(R"(["python","t.py","--vram","3"])"));
}

TEST_F(Verbs, SubmitTakesAScriptFromItsInput) {
  daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":7,"state":"queued"})"}});
  const auto submit = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), "submit");
    Program program(std::move(arguments), options());
    program.type(text);
    program.end_input();
    return program.wait();
  };
  EXPECT_EQ(submit({}, "#!/bin/sh\n#BERTH --vram 2G\ndate\n").out, "7\n");
  const Json body = Json::parse(daemon_.take("POST /v1/jobs").body);
  EXPECT_EQ(body.at("command"),
            Json::parse(R"(["/bin/sh","-c","#!/bin/sh\n#BERTH --vram 2G\ndate\n","stdin"])"));
  EXPECT_EQ(body.at("vram_bytes"), std::int64_t{2} << 30);
  EXPECT_EQ(submit({"-", "--lr", "1"}, "date\n").out, "7\n");
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/jobs").body).at("command"),
            Json::parse(R"(["/bin/sh","-c","date\n","stdin","--lr","1"])"));
  EXPECT_EQ(submit({}, "rm -r x\n").err, "berth: no command; give it after --\n")
      << "the rest of a list that a loop reads";
}

TEST_F(Verbs, SubmitRefusesWhatMakesNoSense) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"submit", "--vram", "0", "true"}, "berth: --vram 0: is not a size"},
      {{"submit", "--vram", "-5G", "true"}, "berth: --vram -5G: is not a size"},
      {{"submit", "--vrma", "5G", "true"}, "berth: --vrma: no such option; did you mean --vram?\n"},
      {{"submit"}, "berth: no command; give it after --\n"},
      {{"submit", "echo", "\xFF"}, "berth: argument 2 of the command is not UTF-8\n"},
      {{"wait"},
       "berth: no job is named; give a number, a range, a name such as 'train-*', or "
       "-u USER for all of theirs\n"},
      {{"cancel"}, "berth: cancel takes jobs, or --user, or --all\n"},
      {{"cancel", "--all", "3"}, "berth: cancel takes jobs, or --user, or --all\n"},
      {{"cancel", "all"}, "berth: all: is not a job number; say berth cancel --all for all of "},
      {{"history", "-n", "0"}, "berth: -n: Value 0 not in range 1 to 1000000000; "},
      {{"hold", "0"}, "berth: 0: is not a job number, which is from 1 to "},
      {{"wait", "5-3"}, "berth: 5-3: the first number of a range is larger than the last\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Ran ran = berth(arguments);
    EXPECT_EQ(ran.exit_code, kBadUsage) << message;
    EXPECT_THAT(ran.err, StartsWith(message));
  }
}

TEST_F(Verbs, CompatFindsTheLastJobAndPrintsAStateAsOneWord) {
  daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":9,"state":"queued"})"}});
  const std::string mine = R"("user":)" + std::to_string(::geteuid());
  daemon_.answer("GET /v1/jobs", {{.body = R"({"jobs":[{"id":5,"state":"queued",)" + mine + "}]}"},
                                  {.body = R"({"jobs":[{"id":7,"state":"done",)" + mine + "}]}"}});
  EXPECT_EQ(berth({"compat", "tsp", "-d", "true"}).err, "");
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/jobs").body).at("after"),
            Json::parse(R"([{"job":7,"when":"after-ok"}])"));
  daemon_.answer("GET /v1/jobs", R"({"jobs":[]})");
  EXPECT_EQ(berth({"compat", "ts", "-d", "true"}).out, "9\n") << "there was none before";
  EXPECT_FALSE(Json::parse(daemon_.take("POST /v1/jobs").body).contains("after"));
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":7,"state":"done","started_at":5}]})");
  EXPECT_EQ(berth({"compat", "tsp", "-s", "7"}).out, "finished\n");
}

TEST_F(Verbs, TellTheDaemonsRefusal) {
  daemon_.answer("POST /v1/jobs", {refusal(422, "asks 9 GPUs, the cluster has 2")});
  const Ran ran = berth({"submit", "--gpus", "9", "true"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: asks 9 GPUs, the cluster has 2\n");
}

TEST_F(Verbs, SurviveNonsense) {
  for (const char* body : {"", "[]", "{", "null", R"({"id":"x"})", R"({"jobs":7})"}) {
    daemon_.answer("POST /v1/jobs", body);
    daemon_.answer("GET /v1/jobs", body);
    EXPECT_EQ(berth({"submit", "true"}).exit_code, kFailed) << body;
    EXPECT_EQ(berth({"ls"}).exit_code, kFailed) << body;
  }
}

TEST(NobodyAnswers, AtTheMachinesSocketAUserIsNotToldToStartARival) {
  EXPECT_EQ(cli::nobody_answers("/run/berth.sock", 0),
            "no berthd answers at /run/berth.sock; start one with: berthd --emulate 2x24GiB "
            "(without GPUs) or berthd");
  EXPECT_EQ(
      cli::nobody_answers("/run/berth.sock", 1000),
      "no berthd answers at /run/berth.sock; an administrator starts the machine's: systemctl "
      "start berth. One of your own, for GPUs that nobody else uses: berthd, or berthd "
      "--emulate 2x24GiB without GPUs");
}

TEST_F(Verbs, SayHowToStartADaemonThatIsNotThere) {
  daemon_.stop();
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"ls"}, {"run", "true"}, {"logs", "-f", "1"}, {"wait", "1"}}) {
    const Ran ran = berth(verb);
    EXPECT_EQ(ran.exit_code, kFailed);
    EXPECT_EQ(ran.err, "berth: no berthd answers at " + daemon_.socket() +
                           "; start one with: berthd --emulate 2x24GiB (without GPUs) or berthd\n");
  }
  EXPECT_EQ(berth({"version"}).exit_code, 0);
}

TEST_F(Verbs, LsFetchesRunningJobsOfALongQueueFirst) {
  daemon_.answer("GET /v1/jobs",
                 {{.body = R"({"jobs":[{"id":1,"state":"queued"}],"next_after":1})"},
                  {.body = R"({"jobs":[{"id":3,"state":"running"}],"next_after":null})"},
                  {.body = R"({"jobs":[{"id":2,"state":"queued"},{"id":3,"state":"running"}],
                              "next_after":3})"},
                  {.body = R"({"jobs":[{"id":4,"state":"queued"}],"next_after":null})"},
                  {.body = R"({"jobs":[{"id":0,"state":"done","exit_code":0},
                                       {"id":4,"state":"done","exit_code":0}]})"}});
  const Ran ran = berth({"ls", "--json", "--all"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::vector<int> ids;
  const Json printed = Json::parse(ran.out);
  for (const Json& job : printed.at("jobs")) ids.push_back(job.at("id"));
  EXPECT_EQ(ids, (std::vector<int>{3, 1, 2, 4, 0})) << "each once, though 4 ended meanwhile";
  const http::Request first = daemon_.take("GET /v1/jobs");
  EXPECT_EQ(first.parameter("after"), "0");
  EXPECT_EQ(first.parameter("only"), std::nullopt);
  const http::Request running = daemon_.take("GET /v1/jobs");
  EXPECT_EQ(running.parameter("only"), "running");
  EXPECT_EQ(running.parameter("after"), "0");
  EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("after"), "1");
  EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("after"), "3");
  EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("only"), "ended");
}

TEST_F(Verbs, LsWritesJsonAsOneObject) {
  const std::string empty = R"({"jobs":[]})";
  const std::string two = R"({"jobs":[{"id":1,"gpus":[0]},{"id":2,"gpus":[]}]})";
  for (const std::string& jobs : {empty, two}) {
    daemon_.answer("GET /v1/jobs", jobs);
    EXPECT_EQ(berth({"ls", "--json"}).out, Json::parse(jobs).dump(2) + "\n");
  }
}

TEST_F(Verbs, LsOfNothingIsTheTitles) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[]})");
  EXPECT_THAT(berth({"ls"}).out, StartsWith("ID  NAME"));
}

TEST_F(Verbs, LsEndsThoughPagesDoNot) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":3,"state":"queued"}],"next_after":9})");
  EXPECT_EQ(berth({"ls"}).exit_code, 0);
}

TEST_F(Verbs, ShowPrintsThePage) {
  daemon_.answer("GET /v1/jobs/42", R"({"id":42,"state":"done","exit_code":0})");
  const Ran ran = berth({"show", "42"});
  EXPECT_THAT(ran.out, StartsWith("job           42\nstate         done\nexit code     0\n"));
  const Ran unknown = berth({"show", "43"});
  EXPECT_EQ(unknown.exit_code, kFailed);
  EXPECT_EQ(unknown.err, "berth: /v1/jobs/43: no such job\n");
}

TEST_F(Verbs, ShowTakesSeveral) {
  daemon_.answer("GET /v1/jobs/3", R"({"id":3,"state":"done","exit_code":0})");
  daemon_.answer("GET /v1/jobs/4", R"({"id":4,"state":"failed","exit_code":1})");
  const Ran ran = berth({"show", "3", "4"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("job           3\n"), HasSubstr("\n\njob           4\n")));
  EXPECT_EQ(Json::parse(berth({"show", "--json", "3"}).out).at("id"), 3) << "one is itself";
  EXPECT_EQ(Json::parse(berth({"show", "--json", "3", "4"}).out).at("jobs").size(), 2U);
}

TEST_F(Verbs, LogsOfAJobThatWaitsSayWhy) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":7,"state":"queued"}]})");
  daemon_.answer("GET /v1/jobs/7/log", {{.body = "", .content_type = "text/plain"}});
  daemon_.answer("GET /v1/jobs/7", R"-({"id":7,"state":"queued","log_bytes":0,
      "reason_brief":"needs 7.5 GiB more on GPU 0 (job 3)"})-");
  daemon_.answer("GET /v1/starts", R"({"starts":[]})");
  const Ran ran = berth({"logs", "7"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "berth: job 7 is queued, it has no output yet: needs 7.5 GiB more on GPU 0 (job 3)\n");
}

TEST_F(Verbs, LogsOfSeveralStandBelowTheirNumbers) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":1},{"id":643,"handle":"643_5"}]})");
  for (const char* const job : {"1", "643_5"}) {
    daemon_.answer("GET /v1/jobs/" + std::string(job) + "/log",
                   {{.body = std::string("of ") + job + "\n", .content_type = "text/plain"}});
  }
  EXPECT_EQ(berth({"logs", "1", "643"}).out,
            "==> job 1 <==\nof 1\n\n==> job 643_5 <==\nof 643_5\n");
  EXPECT_EQ(daemon_.take("GET /v1/jobs").query,
            (std::vector<std::pair<std::string, std::string>>{
                {"chosen", "true"}, {"all", "true"}, {"jobs", "1"}, {"jobs", "643"}}));
  EXPECT_EQ(berth({"logs", "-f", "1", "643"}).err, "berth: --follow takes one job, these are 2\n");
}

TEST_F(Verbs, RefusalsOfEachJobSpeakOfOptions) {
  daemon_.answer("POST /v1/update", R"({"jobs":[],"refused":[{"handle":"7",
      "error":"job 7: time_limit_seconds: 7200, the administrator allows 3600"}]})");
  const Ran ran = berth({"update", "7", "--time", "2h"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: job 7: --time: 7200, the administrator allows 3600\n");
}

TEST_F(Verbs, LogsOfTheLastLinesAlone) {
  const auto last = [&](const char* lines) {
    daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":7}]})");
    daemon_.answer("GET /v1/jobs/7/log",
                   {{.body = "one\ntwo\n\nfour", .content_type = "text/plain"}});
    return berth({"logs", "-n", lines, "7"}).out;
  };
  EXPECT_EQ(last("0"), "");
  EXPECT_EQ(last("1"), "four");
  EXPECT_EQ(last("3"), "two\n\nfour");
  EXPECT_EQ(last("9"), "one\ntwo\n\nfour");
}

TEST_F(Verbs, LsFiltersAndSaysWhenJobsStart) {
  daemon_.answer("GET /v1/starts", R"({"starts":[{"job":2,"at":1e9,"confidence":"estimate"}]})");
  daemon_.answer("GET /v1/jobs", R"({"jobs":[
      {"id":1,"state":"running","user":7,"name":"a"},{"id":2,"state":"queued","user":7,"name":"b"},
      {"id":3,"state":"queued","user":8,"name":"b"},
      {"id":4,"state":"queued","user":8,"name":"","command_line":"sleep 7"}],
      "live_jobs":4,"running_jobs":1})");
  EXPECT_EQ(
      berth({"ls", "--user", "7", "--state", "queued", "--format", "id,predicted_start_at"}).out,
      "2\t1000000000.0\n");
  EXPECT_EQ(berth({"ls", "--name", "b", "--format", "{id}"}).out, "2\n3\n");
  EXPECT_EQ(berth({"ls", "--name", "sleep*", "--format", "{id}"}).out, "4\n");
  EXPECT_EQ(berth({"ls", "-n", "1", "--format", "{id}"}).out, "1\n");
  EXPECT_THAT(berth({"ls", "--state", "gone"}).err, HasSubstr("--state gone: no such state"));
  EXPECT_EQ(berth({"ls", "--watch"}).err,
            "berth: --watch needs a terminal; standard output is none\n");
  const http::Request request = daemon_.take("GET /v1/jobs");
  EXPECT_EQ(request.parameter("user"), "7");
  EXPECT_EQ(request.parameter("after"), "0");
}

TEST_F(Verbs, LsHasHintsForThoseWhoCanFollowThem) {
  daemon_.answer("GET /v1/starts", R"({"starts":[],"hints":[{"job":2,"change":{"gpus":1}}]})");
  auto daemon = cli::Daemon::open(daemon_.socket());
  ASSERT_TRUE(daemon);
  for (const std::uint32_t user : {0U, 7U, 8U}) {
    Json job = {{"id", 2}, {"state", "queued"}, {"user", 7}};
    cli::Starts::ask_as(user, *daemon).add_to(job);
    EXPECT_EQ(job.contains("hint"), user != 8) << user;
  }
}

TEST_F(Verbs, LsWatchesOnATerminalUntilItIsInterrupted) {
  daemon_.answer("GET /v1/starts", R"({"starts":[]})");
  daemon_.answer("GET /v1/jobs",
                 R"({"jobs":[{"id":1,"state":"running","user":7,"name":"first"}]})");
  test::StartOptions terminal = options();
  terminal.screen = test::Screen::Terminal;
  Program watch({"ls", "--watch", "0.1"}, terminal);
  watch.await_out("first");
  daemon_.answer("GET /v1/jobs",
                 R"({"jobs":[{"id":2,"state":"running","user":7,"name":"second"}]})");
  watch.await_out("second");
  watch.signal(SIGINT);
  const Ran ran = watch.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, AllOf(StartsWith("\x1b[?1049h"), testing::EndsWith("\x1b[?1049l")));
}

TEST_F(Verbs, LsOnATerminalIsAPageThatSaysHowManyAreLeft) {
  daemon_.answer("GET /v1/starts", R"({"starts":[]})");
  std::string jobs;
  for (int id = 1; id <= 1001; ++id) {
    jobs += (id == 1 ? "" : ",") + std::string(R"({"id":)") + std::to_string(id) +
            R"(,"state":"queued","user":7,"user_name":"ann"})";
  }
  daemon_.answer("GET /v1/jobs",
                 R"({"jobs":[)" + jobs + R"(],"live_jobs":1000000,"running_jobs":0})");
  test::StartOptions terminal = options();
  terminal.screen = test::Screen::Terminal;
  const auto listed = [&](const std::vector<std::string>& words) {
    Program ls(words, terminal);
    return ls.wait().out;
  };
  EXPECT_THAT(listed({"ls"}), AllOf(HasSubstr("999 more wait likewise (jobs 2 to 1000)"),
                                    HasSubstr("and 999000 more; --fold lists all, -n N so many")));
  EXPECT_THAT(listed({"ls", "--name", "*"}), HasSubstr("perhaps more among 999000 others"));
  EXPECT_THAT(listed({"ls", "--fold"}),
              AllOf(HasSubstr("1000 more wait likewise"), testing::Not(HasSubstr("--fold lists"))));
}

TEST_F(Verbs, CancelOfAUserIsOneRequest) {
  daemon_.answer("POST /v1/cancel", R"({"jobs":[{"id":4,"state":"cancelled"}],"refused":[]})");
  EXPECT_EQ(berth({"cancel", "--user", "77777"}).out, "job 4 cancelled\n");
  daemon_.answer("POST /v1/hold", R"({"jobs":[{"id":4,"state":"held"}],
      "refused":[{"id":5,"error":"job 5: is running"},{"id":6,"error":"job 6: is running"}]})");
  const Ran held = berth({"hold", "--user", "77777"});
  EXPECT_EQ(held.out, "job 4 held\n2 other jobs unchanged\n");
  EXPECT_EQ(held.exit_code, 0) << held.err;
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/cancel").body), (Json{{"users", {77777}}}));
}

TEST_F(Verbs, LogsAreTheBytes) {
  const std::string bytes("a\0\xFF\x1b[1m", 7);
  daemon_.answer("GET /v1/jobs", kOne);
  daemon_.answer("GET /v1/jobs/1/log", {{.body = bytes, .content_type = "text/plain"}});
  const Ran ran = berth({"logs", "1"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, bytes);
  EXPECT_EQ(daemon_.take("GET /v1/jobs/1/log").parameter("offset"), "0");
}

TEST_F(Verbs, LogsOnATerminalAreHarmless) {
  daemon_.answer("GET /v1/jobs", kOne);
  const std::string bytes = "\x1b[31mred\x1b[0m\n\x1b]0;title\x07\x1b[2Jend\n";
  daemon_.answer("GET /v1/jobs/1/log", {{.body = bytes, .content_type = "text/plain"}});
  test::StartOptions terminal = options();
  terminal.screen = test::Screen::Terminal;
  Program safe({"logs", "1"}, terminal);
  EXPECT_EQ(safe.wait().out, "\x1b[31mred\x1b[0m\r\n?]0;title??[2Jend\r\n");
  Program raw({"logs", "--raw", "1"}, terminal);
  EXPECT_EQ(raw.wait().out, "\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07\x1b[2Jend\r\n");
}

TEST_F(Verbs, FollowedLogsGoOnAfterARestart) {
  daemon_.answer("GET /v1/jobs", kOne);
  daemon_.answer_in_pieces("GET /v1/jobs/1/log");
  daemon_.answer("GET /v1/jobs/1", {{.body = R"({"id":1,"state":"running"})"},
                                    {.body = R"({"id":1,"state":"running"})"},
                                    {.body = R"({"id":1,"state":"done"})"}});
  Program logs({"logs", "-f", "1"}, options());
  const auto first = daemon_.take_stream("GET /v1/jobs/1/log");  // let go, it would end in order
  first->write("one\n");
  logs.await_out("one\n");
  EXPECT_EQ(daemon_.take("GET /v1/jobs/1/log").parameter("follow"), "true");
  daemon_.stop();
  logs.await_err("berthd is away");
  daemon_.start();
  // An end in order is not the job's end: a daemon that stops ends its streams so.
  const auto second = daemon_.take_stream("GET /v1/jobs/1/log");
  EXPECT_EQ(daemon_.take("GET /v1/jobs/1/log").parameter("offset"), "4");
  second->close();
  const auto third = daemon_.take_stream("GET /v1/jobs/1/log");
  EXPECT_EQ(daemon_.take("GET /v1/jobs/1/log").parameter("offset"), "4");
  third->write("two\n");
  third->close();
  const auto rest = daemon_.take_stream("GET /v1/jobs/1/log");
  EXPECT_EQ(daemon_.take("GET /v1/jobs/1/log").parameter("offset"), "8");
  rest->write("three\n");
  rest->close();
  const Ran ran = logs.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "one\ntwo\nthree\n");
  EXPECT_EQ(ran.err, "berth: berthd is away; waiting for it\n");
}

/// `berth logs -f 1 | grep -m1 http`: the next line may never come.
TEST_F(Verbs, FollowedLogsEndWithTheirReader) {
  daemon_.answer("GET /v1/jobs", kOne);
  daemon_.answer_in_pieces("GET /v1/jobs/1/log");
  daemon_.answer("GET /v1/jobs/1", R"({"id":1,"state":"running"})");
  Program logs({"logs", "-f", "1"}, options());
  const auto stream = daemon_.take_stream("GET /v1/jobs/1/log");
  stream->write("http\n");
  logs.await_out("http\n");
  logs.close_output();
  EXPECT_EQ(logs.wait().exit_code, 128 + SIGPIPE);
}

TEST_F(Verbs, WaitExitsWithTheFirstCodeThatIsNot0) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":1},{"id":2},{"id":3}]})");
  daemon_.answer_in_pieces("GET /v1/events");
  Program wait({"wait", "1", "2", "3"}, options());
  const std::vector<std::string> ends = {R"({"id":1,"state":"done","exit_code":0})",
                                         R"({"id":2,"state":"oom","exit_code":77,"note":"n"})",
                                         R"({"id":3,"state":"failed","exit_code":5})"};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto stream = daemon_.take_stream("GET /v1/events");
    EXPECT_EQ(daemon_.take("GET /v1/events").parameter("job"), std::to_string(i + 1));
    stream->write(job_event(R"({"id":1,"state":"running"})") + job_event(ends[i]));
    stream->close();
  }
  const Ran ran = wait.wait();
  EXPECT_EQ(ran.exit_code, 77);
  EXPECT_EQ(ran.out, "job 1 done\njob 2 out of GPU memory: n\njob 3 failed: exit 5\n");
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST_F(Verbs, WaitOutlastsARestart) {
  daemon_.answer("GET /v1/jobs", kOne);
  daemon_.answer_in_pieces("GET /v1/events");
  Program wait({"wait", "--json", "1"}, options());
  daemon_.take_stream("GET /v1/events")->write(job_event(R"({"id":1,"state":"running"})"));
  daemon_.stop();
  wait.await_err("berthd is away");
  daemon_.start();
  daemon_.take_stream("GET /v1/events")
      ->write(job_event(R"({"id":1,"state":"done","exit_code":0})"));
  const Ran ran = wait.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(Json::parse(ran.out).at("jobs").at(0).at("state"), "done");
}

TEST_F(Verbs, WaitEndsWithItsTimeoutAndTheJobGoesOn) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":1,"state":"done"},{"id":2},{"id":3}]})");
  daemon_.answer_in_pieces("GET /v1/events");
  const Ran ran = berth({"wait", "--timeout", "100ms", "1", "2", "3"});
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_EQ(ran.out, "job 1 done\n");
  EXPECT_EQ(ran.err,
            "berth: --timeout 100ms: job 2 has not ended, and goes on; the job behind it was not "
            "waited for\n");
  EXPECT_EQ(berth({"wait", "--timeout", "0", "1", "2", "3"}).exit_code, 124);  // only looks
  const Ran told = berth({"wait", "--json", "--timeout", "0", "1", "2", "3"});
  EXPECT_EQ(told.exit_code, 124);
  EXPECT_EQ(Json::parse(told.out).at("unfinished"), Json({"2", "3"}));
  const Ran wrong = berth({"wait", "--timeout", "soon", "1"});
  EXPECT_EQ(wrong.exit_code, kBadUsage);
  EXPECT_THAT(wrong.err, StartsWith("berth: --timeout soon: "));
}

/// Its code is that of --timeout too.
TEST_F(Verbs, WaitTellsAJobThatEndedWith124FromItsTimeout) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":1,"state":"failed","exit_code":124}]})");
  const Ran ran = berth({"wait", "--json", "--timeout", "1h", "1"});
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(Json::parse(ran.out).at("unfinished"), Json::array());
}

TEST_F(Verbs, WaitEndsForAJobThatIsNotThere) {
  const Ran ran = berth({"wait", "9"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: /v1/jobs: no such job\n");
}

TEST_F(Verbs, WaitOfAnArrayTellsOfItAsOne) {
  std::string tasks;
  for (int task = 1; task <= 5; ++task) {
    const std::string state = task == 4 ? R"("failed","exit_code":3)" : R"("done","exit_code":0)";
    tasks += (task == 1 ? "" : ",") + std::string(R"({"id":)") + std::to_string(642 + task) +
             R"(,"array":643,"array_task":)" + std::to_string(task) + R"(,"handle":"643_)" +
             std::to_string(task) + R"(","state":)" + state + "}";
  }
  daemon_.answer("GET /v1/jobs", R"({"jobs":[)" + tasks + "]}");
  const Ran ran = berth({"wait", "643"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "job 643_4 failed: exit 3\narray 643: 4 done, 1 failed\n");
  EXPECT_EQ(Json::parse(berth({"wait", "643", "--json"}).out).at("jobs").size(), 5U);
}

TEST_F(Verbs, NextGivesAJobALargerPriorityThanItsUsersOthersThatWait) {
  const std::string other = R"({"id":1,"user":5,"state":"running","priority":99},
                               {"id":2,"user":5,"state":"queued","priority":7},
                               {"id":3,"user":5,"state":"held"})";
  const auto listed = [&](const std::string& job) {
    daemon_.answer("GET /v1/jobs",
                   {{.status = 200, .body = R"({"jobs":[)" + job + "]}"},
                    {.status = 200, .body = R"({"jobs":[)" + other + "," + job + "]}"}});
    daemon_.answer("POST /v1/update", R"({"jobs":[{"id":4,"state":"queued"}],"refused":[]})");
  };
  listed(R"({"id":4,"user":5,"state":"queued"})");
  const Ran ran = berth({"next", "4"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "job 4 next, queued\n");
  daemon_.take("GET /v1/jobs");
  EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("user"), "5");
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/update").body),
            Json::parse(R"({"jobs":["4"],"change":{"priority":8}})"));
  listed(R"({"id":4,"user":5,"state":"queued","priority":20})");
  EXPECT_EQ(berth({"next", "4"}).exit_code, 0);
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/update").body).at("change").at("priority"), 20);
}

TEST_F(Verbs, CancelHoldAndReleaseAreOneRequestAndTellOfEachJob) {
  daemon_.answer("POST /v1/cancel", R"({"jobs":[{"id":2,"state":"stopping"}],
      "refused":[{"id":1,"error":"job 1: has ended already"}]})");
  daemon_.answer("POST /v1/hold", R"({"jobs":[{"id":3,"state":"held"}],"refused":[]})");
  daemon_.answer("POST /v1/release", R"({"jobs":[{"id":3,"state":"queued"}],"refused":[]})");
  const Ran cancelled = berth({"cancel", "1", "2", "train-*", "--user", "77777"});
  EXPECT_EQ(cancelled.exit_code, kFailed);
  EXPECT_EQ(cancelled.err, "berth: job 1: has ended already\n");
  EXPECT_EQ(cancelled.out, "job 2 stopping\n");
  EXPECT_EQ(Json::parse(daemon_.take("POST /v1/cancel").body),
            (Json{{"jobs", {"1", "2", "train-*"}}, {"users", {77777}}}));
  const Ran as_json = berth({"cancel", "1", "2", "--json"});
  EXPECT_EQ(as_json.exit_code, kFailed);
  EXPECT_THAT(as_json.err, IsEmpty()) << "no words beside the JSON";
  EXPECT_EQ(Json::parse(as_json.out).at("refused").at(0).at("id"), 1);
  EXPECT_EQ(berth({"hold", "3"}).out, "job 3 held\n");
  EXPECT_EQ(Json::parse(berth({"release", "3", "--json"}).out).at("jobs").at(0).at("id"), 3);
}

TEST_F(Verbs, CancelNamesWhatStandsForNothingBesideWhatItCancelled) {
  daemon_.answer("POST /v1/cancel", R"({"jobs":[{"id":644,"handle":"643_1","state":"cancelled"}],
      "refused":[{"handle":"643_9","error":"643_9: array 643 has no task 9"}]})");
  const Ran ran = berth({"cancel", "643_1", "643_9"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.out, "job 643_1 cancelled\n");
  EXPECT_EQ(ran.err, "berth: 643_9: array 643 has no task 9\n");
}

TEST_F(Verbs, CancelOfAnArrayIsOneLine) {
  Json answer = {{"jobs", Json::array()}, {"refused", Json::array()}};
  for (int task = 1; task <= 5; ++task) {
    answer["jobs"].push_back({{"id", 642 + task},
                              {"handle", "643_" + std::to_string(task)},
                              {"state", task < 5 ? "cancelled" : "stopping"}});
  }
  answer["refused"].push_back(
      {{"id", 648}, {"handle", "643_6"}, {"error", "job 643_6: is ending already"}});
  daemon_.answer("POST /v1/cancel", answer.dump());
  const Ran ran = berth({"cancel", "643"});
  EXPECT_EQ(ran.exit_code, 0) << "what was left of it is cancelled";
  EXPECT_EQ(ran.out, "array 643: 4 cancelled, 1 stopping\narray 643: 1 other unchanged\n");
}

TEST_F(Verbs, ARefusalOfAWholeArrayIsAFewLines) {
  Json answer = {{"jobs", Json::array()}, {"refused", Json::array()}};
  for (int task = 1; task <= 200; ++task) {
    const std::string handle = "643_" + std::to_string(task);
    answer["refused"].push_back(
        {{"id", 642 + task}, {"handle", handle}, {"error", "job " + handle + ": is running"}});
  }
  daemon_.answer("POST /v1/release", answer.dump());
  const Ran ran = berth({"release", "643"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err,
            "berth: job 643_1: is running\nberth: job 643_2: is running\n"
            "berth: job 643_3: is running\nberth: array 643: likewise 197 more\n");
}

TEST_F(Verbs, CancelAllNamesTheJobs) {
  daemon_.answer("POST /v1/cancel", R"({"jobs":[{"id":4,"state":"cancelled"},
      {"id":5,"state":"cancelled"}],"refused":[]})");
  EXPECT_EQ(berth({"cancel", "--all"}).out, "job 4 cancelled\njob 5 cancelled\n");
}

TEST_F(Verbs, LsHasOneRowForAnArrayAndOneForEachTaskIfAsked) {
  daemon_.answer("GET /v1/starts", R"({"starts":[],"ends":[{"array":643,"at":1e9}]})");
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":643,"array":643,"array_tasks":200,
      "name":"sweep","state":"running","user":7,"user_name":"ann","gpus":[0,1],
      "tasks":{"done":27,"running":8,"queued":165}}],"live_jobs":173,"running_jobs":8})");
  const Ran table = berth({"ls"});
  EXPECT_THAT(table.out, HasSubstr("27 of 200 done, 8 running, ends ~"));
  EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("whole_arrays"), "true");
  EXPECT_THAT(berth({"ls", "--fold"}).out, HasSubstr("173 jobs: 8 running, 165 queued; 1 user"));
  daemon_.take("GET /v1/jobs");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"ls", "--each"}, {"ls", "--json"}, {"ls", "-s", "queued"}, {"ls", "643"}}) {
    berth(words);
    EXPECT_EQ(daemon_.take("GET /v1/jobs").parameter("whole_arrays"), std::nullopt);
  }
}

TEST_F(Verbs, GpusDoctorAndVersionTellWhatTheDaemonSays) {
  daemon_.answer("GET /v1/gpus", R"({"gpus":[{"index":0,"name":"X","capacity_bytes":1024}]})");
  daemon_.answer("GET /v1/version", R"({"version":"9.9","pid":12,"policy":"fifo-skip"})");
  daemon_.answer("GET /v1/doctor",
                 R"({"checks":[{"name":"cgroups","status":"fail","detail":"no cgroup v2"}]})");
  EXPECT_THAT(berth({"gpus"}).out, StartsWith("GPU 0  X  - used of 1 KiB"));
  EXPECT_THAT(berth({"version"}).out,
              HasSubstr("berthd 9.9 at " + daemon_.socket() + ", process 12, policy fifo-skip\n"));
  const Ran doctor = berth({"doctor"});
  EXPECT_EQ(doctor.exit_code, kFailed);
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("ok      socket   " + daemon_.socket() + " ($BERTH_SOCKET)"),
                    HasSubstr("warn    version"), HasSubstr("fail    cgroups  no cgroup v2")));
}

TEST_F(Verbs, DoctorSaysTheRestWhereItIsAskedFor) {
  daemon_.answer("GET /v1/version", R"({"version":"9.9"})");
  daemon_.answer(
      "GET /v1/doctor",
      R"({"checks":[{"name":"mps","status":"ok","detail":"a server","more":"not all"}]})");
  const std::string brief = berth({"doctor"}).out;
  EXPECT_THAT(brief, HasSubstr("ok      mps      a server\nberth doctor -v says more\n"));
  EXPECT_THAT(berth({"doctor", "-v"}).out, HasSubstr("a server; not all\n"));
  EXPECT_THAT(berth({"doctor", "--json"}).out, HasSubstr("\"more\": \"not all\""));
}

TEST_F(Verbs, RefusalsSpeakOfOptions) {
  daemon_.answer("POST /v1/jobs",
                 {{.status = 400, .body = R"({"error":"gpu_types: 'x' is none"})"}});
  EXPECT_EQ(berth({"submit", "--gpu-type", "x", "true"}).err, "berth: --gpu-type: 'x' is none\n");
  daemon_.answer("POST /v1/drain", {{.status = 400, .body = R"({"error":"gpus: GPU 7: none"})"}});
  EXPECT_EQ(berth({"drain", "7"}).err, "berth: GPU 7: none\n");
}

TEST_F(Verbs, FindTheUsersOwnDaemon) {
  if (geteuid() == 0) GTEST_SKIP() << "root has the machine's daemon";
  daemon_.answer("GET /v1/version", R"({"version":"9.9"})");
  const std::string folder = daemon_.socket().substr(0, daemon_.socket().rfind('/'));
  EXPECT_THAT(test::berth({"version"}, {.environment = {"XDG_RUNTIME_DIR=" + folder}}).out,
              HasSubstr("berthd 9.9"));
}

}  // namespace
}  // namespace berth
