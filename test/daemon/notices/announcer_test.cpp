// Goal: users are told of their jobs' starts, ends and failures as they asked, by a process of
// their own, and nothing of a job waits for that.
//
// Method: the message made for each kind of address; a berthd whose jobs tell commands that write
// files, one of which never ends.
#include "daemon/notices/announcer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "daemon/receiver.hpp"
#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using test::slurp;
using test::without_gpus;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

News news(const Json& more = Json::object()) {
  Json job = {{"id", 7},
              {"name", "train"},
              {"user_name", "ann"},
              {"state", "failed"},
              {"exit_code", 3},
              {"note", "n"},
              {"command_line", "python train.py"}};
  job.update(more);
  return {.occasion = live::Occasion::Fail, .job = job.dump()};
}

live::Command command() {
  live::Command command;
  command.arguments = {"true"};
  command.directory = "/tmp";
  command.owner = {.user = 1000, .group = 100, .groups = {100, 27}};
  return command;
}

TEST(Message, ToAShellCommandHasTheJobInItsEnvironmentAndInput) {
  const Message message =
      message_to("notify-send done", news(), command(), {"PATH=/bin", "BERTH_EVENT=old"});
  EXPECT_EQ(message.arguments, (std::vector<std::string>{"/bin/sh", "-c", "notify-send done"}));
  EXPECT_EQ(message.as, command().owner);
  EXPECT_EQ(message.directory, "/tmp");
  for (const char* variable :
       {"PATH=/bin", "BERTH_EVENT=fail", "BERTH_JOB_ID=7", "BERTH_JOB_NAME=train",
        "BERTH_JOB_STATE=failed", "BERTH_EXIT_CODE=3", "BERTH_NOTE=n", "BERTH_JOB_USER=ann"}) {
    EXPECT_THAT(message.environment, Contains(variable));
  }
  EXPECT_THAT(message.environment, Not(Contains("BERTH_EVENT=old")));
  const Json told = Json::parse(message.input);
  EXPECT_EQ(told["event"], "fail");
  EXPECT_EQ(told["job"]["id"], 7);
}

TEST(Message, ToAWebAddressIsPosted) {
  const std::string to = "https://example.org/hook?a=b@c";
  const Message message = message_to(to, news(), command(), {});
  EXPECT_EQ(message.arguments.front(), "curl");
  EXPECT_EQ(message.arguments.back(), to);
  EXPECT_EQ(message.arguments[message.arguments.size() - 2], "--") << "never an option";
  EXPECT_TRUE(Json::accept(message.input));
}

TEST(Message, ToAMailAddressIsAMailWhoseHeadersNoNameCanAddTo) {
  const Message message =
      message_to("ann@example.org", news({{"name", "a\nBcc: x@y"}}), command(), {});
  EXPECT_EQ(message.arguments, (std::vector<std::string>{"sendmail", "-t", "-i"}));
  EXPECT_THAT(message.environment,
              Contains("PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/usr/lib"));
  EXPECT_THAT(message.input, testing::StartsWith("To: ann@example.org\nSubject: berth: job 7 (a "
                                                 "Bcc: x@y) on "));
  EXPECT_THAT(message.input, HasSubstr(": failed, exit code 3\n"));
  EXPECT_THAT(message.input, HasSubstr("\n\njob: 7\n"));
  EXPECT_THAT(message.input, Not(HasSubstr("\nBcc")));
  const Message shell = message_to("echo a@b; rm c", news(), command(), {});
  EXPECT_EQ(shell.arguments.front(), "/bin/sh") << "a command with an @ in it";
}

TEST(Message, OfTheAdministratorTakesNothingOfTheJobsSurroundings) {
  const Message message = message_of_administrator("logger done", news(), command());
  EXPECT_EQ(message.directory, "/");
  EXPECT_EQ(message.as, command().owner);
  EXPECT_THAT(message.environment, Contains("BERTH_JOB_STATE=failed"));
  EXPECT_THAT(
      message.environment,
      Contains("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib"));
}

TEST(Message, ToWhatIsNoWholeAddressIsRefusedAndTheRestIsNot) {
  for (const char* broken : {"foo@", "@example.org", "a@b@c"}) {
    EXPECT_TRUE(is_broken_mail_address(broken)) << broken;
  }
  for (const char* good : {"ann@example.org", "echo a@; true", "https://a@", "true"}) {
    EXPECT_FALSE(is_broken_mail_address(good)) << good;
  }
  EXPECT_EQ(why_untold("echo done"), "") << "the shell is always there";
}

TEST(Message, ComesBackAsItWas) {
  const Message message = message_to("true", news(), command(), {"A=1"});
  const auto decoded = decode_message(encode(message));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, message);
  EXPECT_FALSE(decode_message(""));
  EXPECT_FALSE(decode_message(encode(message) + "x"));
  EXPECT_FALSE(decode_message(encode(Message{})));
}

// ---- With berthd -----------------------------------------------------------------------------

std::string lines(Rig& rig, const std::string& file, std::size_t count) {
  std::string text;
  eventually(file + " has its lines", [&] {
    text = slurp(rig.folder() / file);
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) >= count;
  });
  return text;
}

TEST(Notify, TellsWhatWasAskedForAndNothingElse) {
  Rig rig;
  rig.start();
  const std::string note = "echo $BERTH_EVENT $BERTH_JOB_ID $BERTH_JOB_STATE $(id -u) >>told";
  const int quiet = rig.submit("true", without_gpus({{"notify", note}, {"notify_on", "fail"}}));
  EXPECT_EQ(rig.wait_end(quiet)["state"], "done");
  const int fails = rig.submit("exit 3", without_gpus({{"notify", note}, {"notify_on", "fail"}}));
  EXPECT_EQ(rig.job(fails)["notify"], note);
  const std::string uid = std::to_string(::geteuid());
  EXPECT_EQ(lines(rig, "told", 1), "fail " + std::to_string(fails) + " failed " + uid + "\n");
  const int both = rig.submit(
      "exit 4", without_gpus({{"notify", "echo $BERTH_EVENT >>both"}, {"notify_on", "start,end"}}));
  EXPECT_EQ(lines(rig, "both", 2), "start\nfail\n") << both;
  // One that never started is told of, too.
  const int held = rig.submit("true", without_gpus({{"held", true},
                                                    {"notify",
                                                     "echo $BERTH_JOB_STATE "
                                                     ">>held"}}));
  rig.request("POST", test::path(held, "/cancel"));
  EXPECT_EQ(lines(rig, "held", 1), "cancelled\n");
}

/// Its tasks start and end in the same step.
TEST(Notify, AnArrayIsToldOfAsOne) {
  Rig rig;
  rig.start();
  const std::string note = "echo $BERTH_EVENT $BERTH_JOB_ID $BERTH_JOB_STATE $BERTH_EXIT_CODE >>";
  const auto array = [&](const std::string& script, const std::string& file) {
    return rig.submit(
        script,
        without_gpus({{"array", "1-5%2"}, {"notify", note + file}, {"notify_on", "start,end"}}));
  };
  const int mixed = array("[ $BERTH_ARRAY_TASK_ID != 3 ] || exit 4", "mixed");
  EXPECT_EQ(rig.wait_end(mixed)["state"], "failed");
  const int well = array("true", "well");
  EXPECT_EQ(rig.wait_end(well)["state"], "done");
  EXPECT_EQ(lines(rig, "well", 2), "start " + std::to_string(well) + " running\nend " +
                                       std::to_string(well) + " done 0\n");
  EXPECT_EQ(lines(rig, "mixed", 2), "start " + std::to_string(mixed) + " running\nfail " +
                                        std::to_string(mixed) + " failed 4\n");
}

/// The first message is slow: the second waits for it, of an array as of a job.
TEST(Notify, TheEndIsNotToldBeforeTheStart) {
  Rig rig;
  rig.start();
  const std::string note = "[ $BERTH_EVENT != start ] || sleep 0.5; echo $BERTH_EVENT >>";
  for (const Json& more : {Json::object(), Json{{"array", "1-3"}}}) {
    const std::string file = more.empty() ? "of_job" : "of_array";
    Json wish = without_gpus({{"notify", note + file}, {"notify_on", "start,end"}});
    wish.update(more);
    rig.submit("true", wish);
    EXPECT_EQ(lines(rig, file, 2), "start\nend\n");
  }
}

TEST(Notify, OfAStartSaysWhatWasThenThoughTheJobHasEnded) {
  const Message message = message_to(
      "true",
      {.occasion = live::Occasion::Start,
       .job = Json{{"id", 7}, {"state", "failed"}, {"exit_code", 3}, {"ended_at", 5.0}}.dump()},
      command(), {});
  EXPECT_THAT(message.environment, Contains("BERTH_JOB_STATE=running"));
  EXPECT_THAT(message.environment, Contains("BERTH_EXIT_CODE="));
  const Json job = Json::parse(message.input)["job"];
  EXPECT_EQ(job["state"], "running");
  EXPECT_TRUE(job["ended_at"].is_null());
}

TEST(Notify, TellsOfEachOfManyThatEndInOneStep) {
  constexpr std::size_t kMany = 50;
  Rig rig;
  rig.start();
  for (std::size_t i = 0; i < kMany; ++i) {
    rig.submit("true", without_gpus({{"held", true}, {"notify", "echo $BERTH_JOB_STATE >>all"}}));
  }
  EXPECT_EQ(rig.request("POST", "/v1/cancel").status, 200);
  std::string all;
  for (std::size_t i = 0; i < kMany; ++i) all += "cancelled\n";
  EXPECT_EQ(lines(rig, "all", kMany), all);
}

/// It waits again, for a job that has its GPU, when berthd is restarted: its next start is none of
/// the occasions.
TEST(Notify, TellsOfTheFirstStartAloneWhateverComesBetween) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "priority"}});
  rig.start();
  const Json whole = {{"exclusive", true}, {"vram_bytes", nullptr}};
  const auto wish = [&](const Json& more) {
    Json merged = whole;
    merged.update(more);
    return merged;
  };
  const Json told = {
      {"notify", "echo $BERTH_EVENT >>told"}, {"notify_on", "start,end"}, {"requeue_on", {75}}};
  const std::string twice =
      "[ $BERTH_ATTEMPT = 1 ] || exit 0; while [ ! -e go ]; do sleep 0.01; done; exit 75";
  const int again = rig.submit(twice, wish(told));
  rig.wait_for(again, "running");
  const int between =
      rig.submit("while [ ! -e go2 ]; do sleep 0.01; done", wish({{"priority", 5}}));
  rig.folder().write("go", "");
  rig.wait_for(between, "running");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(again)["state"], "queued");
  rig.folder().write("go2", "");
  EXPECT_EQ(rig.wait_end(again)["attempts"].size(), 2U);
  EXPECT_EQ(lines(rig, "told", 2), "start\nend\n");
}

TEST(Notify, OneThatNeverEndsHoldsNothingUp) {
  Rig rig;
  rig.start();
  for (std::size_t i = 0; i <= Announcer::kAtOnceOfLane; ++i) {
    const int slow =
        rig.submit("true", without_gpus({{"notify", "echo x >>begun; exec sleep 1000"}}));
    EXPECT_EQ(rig.wait_end(slow)["state"], "done");
  }
  lines(rig, "begun", Announcer::kAtOnceOfLane);
  EXPECT_EQ(rig.wait_end(rig.submit("true", test::kNoGpus))["state"], "done");
  EXPECT_EQ(rig.stop(), 0) << "and what is under way ends with it";
}

TEST(Notify, ReceiversOfTwoUsersThatHangLeaveAPlaceForEveryOther) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Rig rig;
  rig.start();
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms(0711));
  const auto submit_as = [&](uid_t user, const std::string& notify) {
    const Json wish = {{"command", {"true"}}, {"directory", "/"},
                       {"gpus", 0},           {"cpus", 0.01},
                       {"notify", notify},    {"environment", {"PATH=/usr/bin:/bin"}}};
    EXPECT_EQ(test::request_as(rig, user, "POST", "/v1/jobs", wish).status, 201);
  };
  for (const uid_t hangs : {test::kNobody, uid_t{1}}) {
    for (std::size_t i = 0; i < Announcer::kAtOnce; ++i) submit_as(hangs, "exec sleep 1000");
  }
  const std::string told = rig.folder() / "told";
  rig.folder().write("told", "");
  std::filesystem::permissions(told, std::filesystem::perms(0666));
  submit_as(2, "echo told >>" + told);
  eventually("the third user is told", [&] { return slurp(told) == "told\n"; });
  EXPECT_EQ(rig.stop(), 0);
}

TEST(Notify, AUsersReceiverThatHangsHoldsUpNoMessageOfTheAdministrator) {
  test::ScratchFolder folder;
  const std::string all = folder / "all";
  Rig rig({.config = "probe = \"100ms\"\nnotify_command = \"echo $PATH >>" + all + "\"\n"});
  rig.start();
  for (std::size_t i = 0; i < Announcer::kAtOnceOfLane + 1; ++i) {
    rig.submit("true", without_gpus({{"notify", "exec sleep 1000"},
                                     {"environment", {"PATH=/no/such:/usr/bin:/bin"}}}));
  }
  std::string text;
  eventually("all are told of", [&] {
    text = slurp(all);
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) == Announcer::kAtOnceOfLane + 1;
  });
  EXPECT_THAT(text, Not(HasSubstr("/no/such"))) << "no program of a user's stands in for another";
  EXPECT_EQ(rig.stop(), 0);
}

TEST(Notify, ThatFailsIsShownToItsUser) {
  Rig rig;
  rig.start();
  const int id = rig.submit(
      "true", without_gpus({{"notify", "for i in 1 2 3; do echo no such host; done; exit 1"}}));
  eventually("the failure is shown", [&] { return rig.job(id).contains("notify_failure"); });
  EXPECT_EQ(rig.job(id)["notify_failure"], "failed: no such host");
  const auto answer = rig.request("GET", "/v1/doctor");
  EXPECT_THAT(answer.body.dump(), HasSubstr("the latest message of 1 job failed"));
  const int array =
      rig.submit("true", without_gpus({{"array", "1-2"}, {"notify", "echo no; exit 1"}}));
  const std::string whole = test::path(array);
  eventually("so is that of an array", [&] {
    return rig.request("GET", whole).body.value("notify_failure", "") == "failed: no";
  });
}

/// What stands in for a mail system: keeps what it is called with and what it is given.
constexpr const char* kSendmail =
    "#!/bin/sh\n"
    "d=$(dirname \"$0\")\n"
    "printf '%s\\n' \"$@\" >\"$d/arguments\"\n"
    "cat >\"$d/part\" && mv \"$d/part\" \"$d/mail\"\n";

TEST(Mail, GoesThroughTheSendmailOfThePath) {
  Rig rig;
  rig.start();
  const std::string folder = rig.folder() / "mta";
  std::filesystem::create_directory(folder);
  rig.folder().write("mta/sendmail", kSendmail);
  std::filesystem::permissions(folder + "/sendmail", std::filesystem::perms::owner_all);
  const int id = rig.submit(
      "exit 3", without_gpus({{"notify", "ann@example.org"},
                              {"name", "tr\u00e4ume"},
                              {"environment", {"PATH=" + folder + ":" + std::getenv("PATH")}}}));
  std::string mail;
  eventually("the mail", [&] { return !(mail = slurp(folder + "/mail")).empty(); });
  EXPECT_EQ(slurp(folder + "/arguments"), "-t\n-i\n");
  EXPECT_THAT(mail, testing::StartsWith("To: ann@example.org\nSubject: berth: job " +
                                        std::to_string(id) + " (tr\u00e4ume) on "));
  EXPECT_THAT(mail, HasSubstr(": failed, exit code 3\n"));
  EXPECT_THAT(mail, HasSubstr("\n\njob: " + std::to_string(id) + "\n"));
  EXPECT_THAT(mail, HasSubstr("state: failed\nexit code: 3\n"));
}

// ---- Web addresses ---------------------------------------------------------------------------

TEST(Webhook, IsPostedToItsReceiverOnceForEachOccasion) {
  test::Receiver receiver;
  Rig rig;
  rig.start();
  const int id = rig.submit("exit 4", without_gpus({{"notify", receiver.address("/hook?a=b")},
                                                    {"notify_on", "start,end"}}));
  const auto first = receiver.next();
  EXPECT_EQ(first.line, "POST /hook?a=b HTTP/1.1");
  EXPECT_THAT(first.head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_EQ(Json::parse(first.body)["event"], "start");
  const Json told = Json::parse(receiver.next().body);
  EXPECT_EQ(told["event"], "fail");
  EXPECT_EQ(told["job"]["id"], id);
  EXPECT_EQ(told["job"]["state"], "failed");
  EXPECT_EQ(told["job"]["exit_code"], 4);
  EXPECT_EQ(receiver.count(), 2U);
}

TEST(Webhook, IsTriedAgainWhereTheReceiverIsBusy) {
  test::Receiver receiver;
  receiver.answer_next("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  Rig rig;
  rig.start();
  rig.submit("true", without_gpus({{"notify", receiver.address("/")}}));
  const auto first = receiver.next();
  const auto second = receiver.next();
  EXPECT_EQ(Json::parse(first.body)["event"], "end");
  EXPECT_EQ(second.body, first.body);
}

TEST(Webhook, ThatIsRefusedIsNotTriedAgain) {
  test::Receiver receiver;
  receiver.answer_next("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  Rig rig;
  rig.start();
  const int refused = rig.submit("true", without_gpus({{"notify", receiver.address("/")}}));
  EXPECT_EQ(Json::parse(receiver.next().body)["job"]["id"], refused);
  const int other = rig.submit("true", without_gpus({{"notify", receiver.address("/")}}));
  EXPECT_EQ(Json::parse(receiver.next().body)["job"]["id"], other);
}

TEST(Webhook, AReceiverThatNeverAnswersHoldsNothingUp) {
  test::Receiver silent;
  silent.never_answer();
  test::Receiver receiver;
  Rig rig;
  rig.start();
  for (std::size_t i = 0; i < Announcer::kAtOnceOfLane - 1; ++i) {
    rig.submit("true", without_gpus({{"notify", silent.address("/")}}));
    silent.next();
  }
  const int id = rig.submit("true", without_gpus({{"notify", receiver.address("/")}}));
  EXPECT_EQ(Json::parse(receiver.next().body)["job"]["id"], id);
  EXPECT_EQ(rig.wait_end(rig.submit("true", test::kNoGpus))["state"], "done");
  EXPECT_EQ(rig.stop(), 0) << "and what is under way ends with it";
}

TEST(Notify, OfTheConfigurationIsForAllJobsAndSurvivesARestart) {
  test::ScratchFolder folder;
  const std::string all = folder / "all";
  Rig rig({.config = "probe = \"100ms\"\nnotify_command = \"echo $BERTH_JOB_ID >>" + all +
                     "\"\nnotify_on = [\"end\"]\n"});
  rig.start();
  const int id = rig.submit(test::kUntilGo, without_gpus({{"notify", "echo own >>own"}}));
  rig.wait_for(id, "running");
  rig.kill();
  rig.start();
  rig.folder().write("go", "");
  EXPECT_EQ(lines(rig, "own", 1), "own\n");
  eventually("all", [&] { return slurp(all) == std::to_string(id) + "\n"; });
}

TEST(Notify, RefusesWhatMakesNoSense) {
  Rig rig;
  rig.start();
  const auto refused = [&](const Json& more) {
    Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
    body.update(without_gpus(more));
    body.erase("vram_bytes");
    return rig.request("POST", "/v1/jobs", body).body.value("error", "");
  };
  EXPECT_EQ(refused({{"notify_on", "end"}}), "notify: is missing");
  EXPECT_THAT(refused({{"notify", "x"}, {"notify_on", "never"}}),
              HasSubstr("'never' is none of start, end, fail, idle, overuse"));
}

// ---- Signals before a limit ------------------------------------------------------------------

constexpr const char* kWarned = "trap 'echo warned; exit 0' USR1; while :; do sleep 0.02; done";

TEST(LimitSignal, ComesBeforeTheTimeLimit) {
  Rig rig;
  rig.start();
  const int id = rig.submit(kWarned, without_gpus({{"time_limit_seconds", 300},
                                                   {"warning_signal", "SIGUSR1"},
                                                   {"warning_seconds", 299}}));
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_THAT(rig.log(id), HasSubstr("warned\n"));
  const Json job = rig.job(id);
  EXPECT_EQ(job["warning_signal"], "USR1");
  EXPECT_EQ(job["warning_seconds"], 299);
}

/// A script around a program is what most jobs are.
TEST(LimitSignal, ReachesThoseThatHandleItAndNoOther) {
  Rig rig;
  rig.start();
  const std::string program = "trap \"echo saved; exit 0\" USR1; while :; do sleep 0.02; done";
  const int id = rig.submit(
      "sh -c '" + program + "' | cat; echo the shell lives",
      without_gpus(
          {{"time_limit_seconds", 300}, {"warning_signal", "USR1"}, {"warning_seconds", 299}}));
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.log(id), "saved\nthe shell lives\n");
}

TEST(LimitSignal, ThatNobodyHandlesEndsNothingAndIsToldInTheLog) {
  Rig rig;
  rig.start();
  const int id = rig.submit(
      "while [ ! -e go ]; do sleep 0.02; done; echo on it went",
      without_gpus(
          {{"time_limit_seconds", 300}, {"warning_signal", "USR1"}, {"warning_seconds", 299}}));
  eventually("it is told", [&] { return !rig.log(id).empty(); });
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.log(id),
            "berth: no process of the job handles SIGUSR1, which was to warn it of its time limit\n"
            "on it went\n");
}

TEST(LimitSignal, ThatFallsDueWhileBerthdIsAwayComesOnce) {
  Rig rig;
  rig.start();
  const std::string counts =
      "n=0; trap 'n=$((n+1)); echo warned $n' USR1; while [ ! -e go ]; do sleep 0.02; done";
  const int id = rig.submit(counts, without_gpus({{"time_limit_seconds", 300},
                                                  {"warning_signal", "USR1"},
                                                  {"warning_seconds", 299.5}}));
  rig.wait_for(id, "running");
  rig.kill();
  for (int i = 0; i < 2; ++i) {
    rig.start();
    eventually("it was warned", [&] { return rig.log(id).find("warned 1") != std::string::npos; });
    rig.kill();
  }
  rig.start();
  rig.folder().write("go", "");
  rig.wait_end(id);
  EXPECT_THAT(rig.log(id), Not(HasSubstr("warned 2")));
}

TEST(LimitSignal, NeedsALimitThatItComesBefore) {
  Rig rig;
  rig.start();
  const auto refused = [&](const Json& more) {
    Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
    body.update(more);
    return rig.request("POST", "/v1/jobs", body).body.value("error", "");
  };
  EXPECT_EQ(refused({{"warning_signal", "USR1"}}),
            "warning_signal: comes before a time limit, and there is none");
  EXPECT_EQ(refused({{"warning_signal", "USR1"}, {"time_limit_seconds", 30}}),
            "warning_seconds: 60, the time limit is 30");
  EXPECT_EQ(refused({{"warning_seconds", 5}}), "warning_signal: is missing");
  for (const char* signal : {"KILL", "NONE", "99", ""}) {
    EXPECT_THAT(refused({{"warning_signal", signal}, {"time_limit_seconds", 300}}),
                HasSubstr("must be a signal that a program can take"))
        << signal;
  }
}

}  // namespace
}  // namespace berth::daemon
