// Goal: what a user sends is taken in as it was meant or refused with key, value and limit, and
// nothing that is sent can hurt. Method: texts and peers in, submissions or messages out; one test
// per kind of wrong.
#include "daemon/requests/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/limits.hpp"
#include "core/text/words.hpp"
#include "daemon/requests/admit.hpp"
#include "engine/engine.hpp"
#include "gpu/probe.hpp"

namespace berth::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

const http::Peer kPeer{.pid = 7, .user = 1000, .group = 100, .groups = {100, 27}};

Json smallest() {
  return {{"command", {"true"}}, {"directory", "/people/ada"}, {"environment", Json::array()}};
}

Json with(const std::string& key, const Json& value) {
  Json json = smallest();
  json[key] = value;
  return json;
}

live::Submission taken(const std::string& body) {
  auto job = parse_submission(body, kPeer);
  if (job) return std::move(*job);
  ADD_FAILURE() << job.error().message << " for " << body.substr(0, 200);
  return {};
}
live::Submission taken(const Json& json) { return taken(json.dump()); }

std::string refusal(const std::string& body) {
  const auto job = parse_submission(body, kPeer);
  return job ? "taken" : job.error().message;
}
std::string refusal(const Json& json) { return refusal(json.dump()); }

ErrorCode code_of(const std::string& body) {
  const auto job = parse_submission(body, kPeer);
  return job ? ErrorCode::Io : job.error().code;
}

TEST(Requests, DefaultsAreThoseOfTheContract) {
  const live::Submission job = taken(smallest());
  const GpuRequest& gpu = job.spec.request.gpu;
  EXPECT_EQ(gpu.count, GpuCount(1));
  EXPECT_EQ(gpu.vram, Bytes(0));
  EXPECT_EQ(gpu.sharing, Sharing::Shared);
  EXPECT_EQ(job.spec.request.cpu, CpuMilli(0));
  EXPECT_EQ(job.spec.request.host, Bytes(0));
  EXPECT_EQ(job.spec.duration_class, DurationClass::Medium);
  EXPECT_EQ(job.spec.time_limit, kForever);
  EXPECT_FALSE(job.held);
  EXPECT_EQ(job.name, "");
  EXPECT_EQ(job.command.umask, 022U);
  EXPECT_FALSE(job.command.attach);
}

TEST(Requests, WhenAJobJoinsOthersIsItsWordOrADefault) {
  const auto sharing = [](Json more, std::optional<Sharing> fallback = std::nullopt) {
    Json json = smallest();
    json.update(more);
    const auto job = parse_submission(json.dump(), kPeer, {.sharing = fallback});
    if (!job) ADD_FAILURE() << job.error().message;
    return job ? job->spec.request.gpu.sharing : Sharing::Alone;
  };
  const auto attended = [](bool terminal) {
    return Json{{"attach", {{"socket", "/s"}, {"terminal", terminal}}}};
  };
  const Json service = {{"class", "service"}};
  EXPECT_EQ(sharing({{"share", "now"}}), Sharing::AtOnce);
  EXPECT_EQ(sharing({{"share", "mps,now"}}), Sharing::AtOnce);
  EXPECT_EQ(sharing({{"share", "never"}}), Sharing::Alone);
  EXPECT_EQ(sharing({{"share", "exclusive"}}), Sharing::Alone);
  EXPECT_EQ(sharing({{"share", "never"}, {"exclusive", true}}), Sharing::Alone);
  EXPECT_EQ(sharing(Json::object()), Sharing::Shared);
  EXPECT_EQ(sharing(service), Sharing::AtOnce);
  EXPECT_EQ(sharing(attended(true)), Sharing::AtOnce);
  EXPECT_EQ(sharing(attended(false)), Sharing::Shared);
  EXPECT_EQ(sharing({{"share", "patient"}, {"class", "service"}}), Sharing::Shared);
  EXPECT_EQ(sharing(Json::object(), Sharing::AtOnce), Sharing::AtOnce);
  EXPECT_EQ(sharing(service, Sharing::Shared), Sharing::Shared) << "an administrator has said so";
  EXPECT_EQ(sharing({{"exclusive", true}}, Sharing::AtOnce), Sharing::Alone);
  EXPECT_EQ(sharing({{"gpus", 0}}, Sharing::Alone), Sharing::Shared) << "there is nothing to share";
}

TEST(Requests, WhenAJobJoinsOthersIsSaidOnceAndWithoutContradiction) {
  const auto told = [](Json more) {
    Json json = smallest();
    json.update(more);
    return refusal(json);
  };
  EXPECT_EQ(told({{"share", "now"}, {"exclusive", true}}),
            "share: 'now' with exclusive, which is true; that is never");
  EXPECT_EQ(told({{"share", "never"}, {"exclusive", false}}),
            "share: 'never' with exclusive, which is false; never is true");
  EXPECT_EQ(told({{"share", "now,patient"}}), "share: 'now,patient' says twice when");
  EXPECT_EQ(told({{"share", "mps,timeslice"}}), "share: 'mps,timeslice' says twice how");
  EXPECT_EQ(told({{"share", "half"}}),
            "share: 'half', must be now, patient or never, or timeslice, mps or mig:PROFILE as "
            "mig:3g.40gb, or one of each, as now,mps");
}

TEST(Requests, EveryKeyArrives) {
  const live::Submission job = taken(Json{
      {"command", {"python", "train.py", ""}},
      {"directory", "/data/träume"},
      {"environment", {"PATH=/bin", "EMPTY=", "A=b=c"}},
      {"umask", 0077},
      {"name", "first"},
      {"gpus", 2},
      {"vram_bytes", std::int64_t{20} << 30},
      {"exclusive", true},
      {"cpus", 1.5},
      {"mem_bytes", 4 << 20},
      {"class", "short"},
      {"min_gpus", 1},
      {"max_gpus", 4},
      {"gpu_types", {"h100", "a100"}},
      {"gpu_milli", 500},
      {"gpu_processes", 8},
      {"priority", 7},
      {"estimate_seconds", 60},
      {"deadline_at", 1'700'000'000.5},
      {"job_group", "sweep"},
      {"model", "resnet50"},
      {"batch", 256},
      {"time_limit_seconds", 0.25},
      {"held", true},
      {"attach", {{"socket", "/tmp/s"}, {"terminal", true}, {"rows", 50}, {"columns", 65535}}}});
  EXPECT_THAT(job.command.arguments, ElementsAre("python", "train.py", ""));
  EXPECT_EQ(job.command.directory, "/data/träume");
  EXPECT_THAT(*live::decode_environment(job.environment),
              ElementsAre("PATH=/bin", "EMPTY=", "A=b=c"));
  EXPECT_EQ(job.command.umask, 077U);
  EXPECT_EQ(job.name, "first");
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(2));
  EXPECT_EQ(job.spec.request.gpu.vram, Bytes(std::int64_t{20} << 30));
  EXPECT_EQ(job.spec.request.gpu.sharing, Sharing::Alone);
  EXPECT_EQ(job.spec.request.cpu, CpuMilli(1500));
  EXPECT_EQ(job.spec.request.host, Bytes(4 << 20));
  EXPECT_EQ(job.spec.duration_class, DurationClass::Short);
  EXPECT_EQ(job.spec.request.gpu.min, GpuCount(1));
  EXPECT_EQ(job.spec.request.gpu.max, GpuCount(4));
  EXPECT_THAT(job.gpu_types, ElementsAre("h100", "a100"));
  EXPECT_EQ(job.spec.request.gpu.milli, GpuMilli(500));
  EXPECT_EQ(job.spec.request.gpu.processes, 8);
  EXPECT_EQ(job.spec.priority, 7);
  EXPECT_EQ(job.spec.estimate, minutes(1));
  EXPECT_EQ(job.spec.deadline, instant_from_micros(1'700'000'000'500'000));
  EXPECT_EQ(job.spec.group, "sweep");
  EXPECT_EQ(job.spec.model, "resnet50");
  EXPECT_EQ(job.spec.batch, 256);
  EXPECT_EQ(job.spec.time_limit, Duration(250'000));
  EXPECT_TRUE(job.held);
  ASSERT_TRUE(job.command.attach);
  EXPECT_EQ(job.command.attach->socket, "/tmp/s");
  EXPECT_TRUE(job.command.attach->terminal);
  EXPECT_EQ(job.command.attach->rows, 50);
  EXPECT_EQ(job.command.attach->columns, 65535);
}

TEST(Requests, ATaskAndTheSameTaskExcludeEachOther) {
  const auto job = taken(with("after", {{{"job", 7}, {"same_task", true}}}));
  EXPECT_TRUE(job.after.at(0).same_task);
  EXPECT_EQ(refusal(with("after", {{{"job", 7}, {"same_task", true}, {"task", 1}}})),
            "after[0]: has task and same_task, one can be");
}

TEST(Requests, EveryClassIsKnownByItsWord) {
  for (const char* word : {"short", "medium", "long", "service"}) {
    EXPECT_EQ(word_for(taken(with("class", word)).spec.duration_class), word);
  }
  EXPECT_EQ(refusal(with("class", "huge")),
            "class: \"huge\" is unknown; valid values: short, medium, long, service");
}

TEST(Requests, ARangeOfGpusThatIsHalfSaidEndsAtWhatIsAsked) {
  Json json = smallest();
  json["gpus"] = 4;
  json["min_gpus"] = 2;
  EXPECT_EQ(taken(json).spec.request.gpu.max, GpuCount(4));
  json.erase("min_gpus");
  json["max_gpus"] = 8;
  EXPECT_EQ(taken(json).spec.request.gpu.min, GpuCount(4));
  json["gpus"] = 0;
  EXPECT_EQ(refusal(json), "min_gpus and max_gpus: a job with 0 GPUs has neither");
}

TEST(Requests, ATimeLimitIsTheLongestOneAtMost) {
  Duration limit = kForever;
  ASSERT_TRUE(keep_to_time(limit, hours(2)));
  EXPECT_EQ(limit, hours(2));
  limit = hours(3);
  EXPECT_EQ(keep_to_time(limit, hours(2)).error().message,
            "time_limit_seconds: 3h, the administrator allows 2h (longest_time)");
}

TEST(Requests, AWarningMayComeBeforeTheLongestTimeLimit) {
  const Json json = with("warning_signal", "USR1");
  EXPECT_FALSE(parse_submission(json.dump(), kPeer));
  const auto job = parse_submission(json.dump(), kPeer, {.longest_time = hours(1)});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->spec.time_limit, hours(1));
}

TEST(Requests, TypesOfGpuAreThoseOfTheCluster) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .type = "a100"});
  cluster.add_node({.name = "m", .gpus = 1, .type = "h100"});
  live::Submission job{.gpu_types = {"h100"}};
  ASSERT_TRUE(accept_gpus(job, cluster).has_value());
  EXPECT_EQ(job.spec.request.gpu.types, GpuTypes{2});
  job.gpu_types = {"k80"};
  EXPECT_EQ(accept_gpus(job, cluster).error().message,
            "gpu_types: 'k80' is not a GPU type of this machine; its types: a100, h100");
}

TEST(Requests, IndicesOfGpusAreThoseOfTheMachineAndSayHowMany) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 2, .type = "a100"});
  cluster.add_node({.name = "m", .gpus = 70, .type = "h100"});
  Json json = with("gpu_indices", {0, 2});
  live::Submission job = taken(json);
  EXPECT_EQ(job.spec.request.gpu.count, GpuCount(2));
  ASSERT_TRUE(accept_gpus(job, cluster));
  EXPECT_EQ(job.spec.request.gpu.only, GpuSet{0b101});
  json["gpus"] = 1;
  EXPECT_EQ(taken(json).spec.request.gpu.count, GpuCount(1));
  json["gpus"] = 3;
  const std::string needs = "it needs 1 at least, and as many indices";
  EXPECT_EQ(refusal(json), "gpu_indices: 2 for a job of 3 GPUs; " + needs);
  json["gpus"] = 0;
  EXPECT_EQ(refusal(json), "gpu_indices: 2 for a job of 0 GPUs; " + needs);
  json["gpus"] = 1;
  json["max_gpus"] = 3;
  EXPECT_EQ(refusal(json), "gpu_indices: 2 for a job of 3 GPUs; " + needs);
  EXPECT_EQ(refusal(with("gpu_indices", {1, 1})), "gpu_indices: GPU 1 is there twice");
  EXPECT_THAT(refusal(with("gpu_indices", {-1})), HasSubstr("gpu_indices: -1, the least is 0"));
  for (const Json& bad : {Json("0"), Json::array()}) {
    EXPECT_EQ(refusal(with("gpu_indices", bad)),
              "gpu_indices: must be a list of 1 to 64 indices, as GET /v1/gpus has them");
  }
}

TEST(Requests, AnIndexThatNoJobCanHaveIsRefusedByItsName) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 2, .type = "a100"});
  cluster.add_node({.name = "m", .gpus = 70, .type = "h100"});
  const auto refused = [&](live::Submission job, const Cluster& machine) {
    const auto done = accept_gpus(job, machine);
    return done ? "accepted" : done.error().message;
  };
  EXPECT_EQ(refused({.gpu_indices = {0, 72}}, cluster),
            "gpu_indices: GPU 72: this machine has 72, the last is GPU 71");
  EXPECT_EQ(refused({.gpu_indices = {64}}, cluster),
            "gpu_indices: GPU 64: the last that a job may name is GPU 63");
  EXPECT_EQ(refused({.gpu_types = {"h100"}, .gpu_indices = {2, 1}}, cluster),
            "gpu_indices: GPU 1: has type a100, which is none of those that the job may have");
  EXPECT_EQ(refused({.gpu_types = {"h100"}, .gpu_indices = {2, 3}}, cluster), "accepted");
  EXPECT_EQ(refused({.gpu_indices = {0}}, Cluster{}), "gpu_indices: GPU 0: this machine has none");
}

TEST(Requests, WhoItIsComesFromThePeerOnly) {
  const live::Submission job = taken(smallest());
  EXPECT_EQ(job.spec.user, UserId(1000));
  EXPECT_EQ(job.command.owner, (live::Credentials{1000, 100, {100, 27}}));
  for (const char* key : {"user", "uid", "group", "owner"}) {
    EXPECT_THAT(refusal(with(key, 0)), HasSubstr(std::string(key) + ": unknown key"));
  }
}

TEST(Requests, MemoryIsChargedInTheStepsOfTheProbe) {
  EXPECT_EQ(taken(with("vram_bytes", 1 << 20)).spec.request.gpu.vram, kProbeStep);
  EXPECT_EQ(taken(with("vram_bytes", kProbeStep.raw())).spec.request.gpu.vram, kProbeStep);
  EXPECT_EQ(taken(with("vram_bytes", kProbeStep.raw() + 1)).spec.request.gpu.vram, kProbeStep * 2);
}

TEST(Requests, NumbersHaveLimits) {
  EXPECT_EQ(refusal(with("gpus", -1)), "gpus: -1, the least is 0");
  EXPECT_EQ(refusal(with("gpus", 4097)), "gpus: 4097, the most is 4096");
  EXPECT_EQ(taken(with("gpus", 4096)).spec.request.gpu.count, GpuCount(4096));
  EXPECT_EQ(refusal(with("vram_bytes", 10)), "vram_bytes: 10, the least is 1048576");
  EXPECT_EQ(refusal(with("vram_bytes", (std::int64_t{1} << 50) + 1)),
            "vram_bytes: 1125899906842625, the most is 1125899906842624");
  EXPECT_EQ(refusal(with("mem_bytes", 0)), "mem_bytes: 0, the least is 1048576");
  EXPECT_EQ(refusal(with("umask", 0777 + 1)), "umask: 512, the most is 511");
  EXPECT_EQ(refusal(with("cpus", 0)), "cpus: 0, must be more than 0");
  EXPECT_EQ(refusal(with("cpus", -0.5)), "cpus: -0.5, must be more than 0");
  EXPECT_EQ(refusal(with("cpus", 100001)), "cpus: 100001, the most is 100000");
  EXPECT_EQ(refusal(with("time_limit_seconds", 1e10)),
            "time_limit_seconds: 10000000000.0, the most is 315360000");
  EXPECT_EQ(taken(with("time_limit_seconds", 1e-12)).spec.time_limit, Duration(1));
  EXPECT_EQ(taken(with("cpus", 1e-9)).spec.request.cpu, CpuMilli(1));
}

TEST(Requests, AmountsMayBeTextsAsOnTheCommandLine) {
  EXPECT_EQ(taken(with("vram_bytes", "10GB")).spec.request.gpu.vram, Bytes(std::int64_t{10} << 30));
  EXPECT_EQ(taken(with("time_limit_seconds", "1h30m")).spec.time_limit, seconds(5400));
  EXPECT_EQ(taken(with("estimate_seconds", "1-00:00:00")).spec.estimate, hours(24));
  EXPECT_EQ(refusal(with("vram_bytes", "10")), "vram_bytes: '10' is 10 bytes; say 10G or 10M");
  EXPECT_THAT(refusal(with("time_limit_seconds", "soon")),
              HasSubstr("time_limit_seconds: 'soon' is not a duration such as "));
}

TEST(Requests, AWholeNumberIsWrittenAsOne) {
  EXPECT_EQ(refusal(with("gpus", 1.5)), "gpus: 1.5, must be a whole number of at most 4096");
  EXPECT_THAT(refusal(with("gpus", 2.0)), HasSubstr("gpus: 2.0, must be a whole number"));
  EXPECT_EQ(refusal(with("gpus", "2")), "gpus: must be a whole number, is \"2\"");
}

TEST(Requests, NumbersThatNoTypeHoldsAreRefused) {
  const auto literal = [](const std::string& key, const std::string& number) {
    std::string text = with(key, 123456).dump();
    return refusal(text.replace(text.find("123456"), 6, number));
  };
  EXPECT_EQ(literal("gpus", "18446744073709551615"),
            "gpus: 18446744073709551615, the most is 4096");
  EXPECT_THAT(literal("gpus", "18446744073709551616"), HasSubstr("gpus: 1.84467440737095"));
  EXPECT_EQ(literal("gpus", "-9223372036854775808"), "gpus: -9223372036854775808, the least is 0");
  EXPECT_THAT(literal("vram_bytes", "-1e308"), HasSubstr("vram_bytes: -1e+308"));
  EXPECT_NE(literal("time_limit_seconds", "1e999"), "taken");
  EXPECT_NE(literal("cpus", "NaN"), "taken");
  EXPECT_NE(literal("cpus", "Infinity"), "taken");
  EXPECT_NE(literal("gpus", std::string(100'000, '9')), "taken");
}

TEST(Requests, WrongTypesAreNamed) {
  EXPECT_EQ(refusal(with("command", "ls")), "command: must be a list of strings, is \"ls\"");
  EXPECT_EQ(refusal(with("command", {"ls", 5})), "command[1]: must be a string, is 5");
  EXPECT_EQ(refusal(with("environment", Json::object())),
            "environment: must be a list of strings, is {}");
  EXPECT_EQ(refusal(with("environment", {"A=1", nullptr})),
            "environment[1]: must be a string, is null");
  EXPECT_EQ(refusal(with("directory", 1)), "directory: must be a string, is 1");
  EXPECT_EQ(refusal(with("name", Json::array())), "name: must be a string, is []");
  EXPECT_EQ(refusal(with("held", 1)), "held: must be true or false, is 1");
  EXPECT_EQ(refusal(with("exclusive", "yes")), "exclusive: must be true or false, is \"yes\"");
  EXPECT_EQ(refusal(with("cpus", "many")), "cpus: must be a number, is \"many\"");
  EXPECT_EQ(refusal(with("gpus", nullptr)), "gpus: must be a whole number, is null");
  EXPECT_EQ(refusal(with("attach", "/tmp/s")), "attach: must be an object, is \"/tmp/s\"");
}

TEST(Requests, LongValuesAreShownShortened) {
  const std::string message = refusal(with("gpus", std::string(5000, 'x')));
  EXPECT_THAT(message, HasSubstr("xxx..."));
  EXPECT_LT(message.size(), 200U);
}

TEST(Requests, UnknownKeysAreRefused) {
  EXPECT_THAT(refusal(with("gpu", 1)), HasSubstr("gpu: unknown key"));
  EXPECT_THAT(refusal(with("", 1)), HasSubstr("unknown key"));
  EXPECT_THAT(refusal(with("attach", {{"socket", "/s"}, {"pty", true}})),
              HasSubstr("attach.pty: unknown key; valid keys: socket, terminal, rows, columns"));
}

TEST(Requests, AKeyStandsOnce) {
  std::string twice = smallest().dump();
  twice.insert(1, "\"gpus\":1,\"gpus\":2,");
  EXPECT_EQ(refusal(twice), "gpus: is there twice");
  std::string nested = smallest().dump();
  nested.insert(1, R"("attach":{"socket":"/a","terminal":true,"socket":"/b"},)");
  EXPECT_EQ(refusal(nested), "socket: is there twice");
  std::string apart = smallest().dump();  // the same word in two objects is no duplicate
  apart.insert(1, R"("attach":{"socket":"/a"},"name":"socket",)");
  EXPECT_EQ(refusal(apart), "taken");
}

TEST(Requests, WhatIsNeededMustBeThere) {
  for (const auto& [key, message] :
       std::map<std::string, std::string>{{"command", "command: is empty, must name a program"},
                                          {"directory", "directory: '', must be an absolute path"},
                                          {"environment", "environment: is missing"}}) {
    Json json = smallest();
    json.erase(key);
    EXPECT_EQ(refusal(json), message);
  }
  EXPECT_THAT(refusal(with("command", Json::array())), HasSubstr("command: is empty"));
  EXPECT_THAT(refusal(with("command", {""})), HasSubstr("command: is empty"));
  EXPECT_EQ(refusal(with("directory", "data")), "directory: 'data', must be an absolute path");
  EXPECT_EQ(refusal(with("attach", {{"terminal", false}})),
            "attach.socket: must be an absolute path");
  EXPECT_EQ(refusal(with("attach", {{"socket", "s"}})), "attach.socket: must be an absolute path");
}

TEST(Requests, AnEnvironmentIsOfVariables) {
  EXPECT_EQ(refusal(with("environment", {"A=1", "PATH"})),
            "environment[1]: 'PATH', must be NAME=value");
  EXPECT_EQ(refusal(with("environment", {"=x"})), "environment[0]: '=x', must be NAME=value");
}

TEST(Requests, ATerminalFitsSixteenBits) {
  const auto attach = [](const char* key, const Json& value) {
    return refusal(with("attach", {{"socket", "/s"}, {key, value}}));
  };
  EXPECT_EQ(attach("rows", 65536), "attach.rows: 65536, the most is 65535");
  EXPECT_EQ(attach("columns", -1), "attach.columns: -1, the least is 0");
  EXPECT_EQ(attach("terminal", 1), "attach.terminal: must be true or false, is 1");
}

TEST(Requests, AJobWithoutGpusAsksForNoGpuMemory) {
  Json json = with("gpus", 0);
  json["exclusive"] = true;  // there is nothing to have alone
  EXPECT_EQ(taken(json).spec.request.gpu.sharing, Sharing::Shared);
  json["vram_bytes"] = 1 << 20;
  EXPECT_THAT(refusal(json), HasSubstr("vram_bytes: 67108864 with 0 GPUs, must be absent"));
}

TEST(Requests, AJobWithoutGpusTakesCoresUnlessItSays) {
  const auto cores = [](const Json& json) {
    const auto job = parse_submission(json.dump(), kPeer, {.cpu = CpuMilli(1500)});
    return job ? job->spec.request.cpu : CpuMilli(-1);
  };
  Json json = with("gpus", 0);
  EXPECT_EQ(cores(json), CpuMilli(1500));
  json["cpus"] = 0.25;
  EXPECT_EQ(cores(json), CpuMilli(250));
  EXPECT_EQ(cores(with("gpus", 1)), CpuMilli(0));
}

TEST(Requests, ADirectoryIsAsLongAsAPathMayBe) {
  EXPECT_EQ(taken(with("directory", "/" + std::string(4094, 'd'))).command.directory.size(), 4095U);
  EXPECT_EQ(refusal(with("directory", "/" + std::string(4'000'000, 'd'))),
            "directory: 4000001 bytes, the most is 4095");
}

TEST(Requests, NoTextHoldsANul) {
  const std::string nul("a\0b", 3);
  EXPECT_EQ(refusal(with("command", {"ls", nul})), "command[1]: holds a NUL byte");
  EXPECT_EQ(refusal(with("environment", {"A=" + nul})), "environment[0]: holds a NUL byte");
  EXPECT_EQ(refusal(with("directory", "/" + nul)), "directory: holds a NUL byte");
  EXPECT_EQ(refusal(with("name", nul)), "name: holds a NUL byte");
  EXPECT_EQ(refusal(with("attach", {{"socket", "/" + nul}})), "attach.socket: holds a NUL byte");
}

TEST(Requests, WhatIsNoJsonIsSaidToBeNone) {
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("7"),
        std::string("\"text\""), smallest().dump() + "x", std::string("{\"a\":1,}"),
        std::string("\0", 1), std::string(100'000, '{')}) {
    EXPECT_EQ(code_of(body), ErrorCode::BadData) << body.substr(0, 60);
  }
  EXPECT_THAT(refusal(std::string("[]")), HasSubstr("not a JSON object"));
}

TEST(Requests, BytesThatAreNoUtf8AreRefusedAsSuch) {
  for (const char* wrong : {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf"}) {
    std::string body = with("name", "HERE").dump();
    body.replace(body.find("HERE"), 4, wrong);
    EXPECT_EQ(code_of(body), ErrorCode::BadData);
    EXPECT_THAT(refusal(body), HasSubstr("UTF-8"));
  }
}

TEST(Requests, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return "{\"name\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_THAT(refusal(nested(9)), HasSubstr("nested deeper than 8 levels"));
  EXPECT_THAT(refusal(nested(1'000'000)), HasSubstr("nested deeper than 8 levels"));
  EXPECT_THAT(refusal(nested(2)), HasSubstr("name: must be a string"));
}

/// A list is read once, however long it is: this would take hours if each of its parts cost a look
/// at the whole.
TEST(Requests, AListOfAMillionPartsIsRefusedSoon) {
  const auto with = [](int parts) {
    std::string text = R"({"after": [{})";
    for (int i = 0; i < parts; ++i) text += ",{}";
    return text + "]}";
  };
  EXPECT_EQ(refusal(with(200'000)), "after: 200001 jobs, the most is 4096");
  EXPECT_EQ(refusal(with(1'000'000)), "the request has more than 262144 values, which is the most");
}

/// What stands in it, whatever it is, is read as it was written.
TEST(Requests, TheLongestCommandIsReadWhole) {
  Json json = smallest();
  json["command"] = {"true"};
  for (int i = 0; i < 200'000; ++i) json["command"].push_back("x");
  const auto job = parse_submission(json.dump(), kPeer);
  ASSERT_TRUE(job) << job.error().message;
  std::size_t words = job->command.arguments.size();
  for (const std::string& part : job->more_arguments) {
    words += live::decode_environment(part)->size();
  }
  EXPECT_EQ(words, 200'001U);
}

std::vector<std::string> variables_of(const live::Submission& job) {
  std::vector<std::string> variables = *live::decode_environment(job.environment);
  for (const std::string& part : job.more_environment) {
    EXPECT_TRUE(live::append_words(variables, part));
  }
  return variables;
}

/// No turn of the engine's thread has to store, read or look through all of it.
TEST(Requests, ManyWordsAreTakenInParts) {
  std::vector<std::string> variables;
  for (int i = 0; i < 300; ++i) {
    variables.push_back("V" + std::to_string(i) + "=" + std::string(1000, 'v'));
  }
  variables.insert(variables.begin() + 100, "BIG=" + std::string(100'000, 'b'));
  variables.push_back("V7=another");
  Json json = with("environment", variables);
  json["vram_shrink"] = true;
  std::vector<std::string> words = {"sh", "-c", std::string(100'000, ':')};
  for (int i = 0; i < 300; ++i) words.push_back(std::string(1000, 'a'));
  json["command"] = words;
  const live::Submission job = taken(json);
  const auto first = *live::decode_environment(job.environment);
  EXPECT_EQ(first.back(), live::kShrinkAllowed) << "berthd looks for it there";
  EXPECT_LE(job.environment.size(), 33U << 10);
  for (const auto* const parts : {&job.more_environment, &job.more_arguments}) {
    EXPECT_GE(parts->size(), 5U);
    EXPECT_LE(std::ranges::max(*parts, {}, &std::string::size).size(), 101'000U);
  }
  std::vector<std::string> found = variables_of(job);
  EXPECT_EQ(found.size(), 302U) << "the second V7 does not count";
  EXPECT_EQ(found.back(), variables[100]) << "small ones first";
  std::erase(found, live::kShrinkAllowed);
  EXPECT_EQ(found.size(), 301U);
  std::vector<std::string> arguments = job.command.arguments;
  EXPECT_EQ(arguments, (std::vector<std::string>{"sh", "-c"}));
  for (const std::string& part : job.more_arguments) {
    EXPECT_TRUE(live::append_words(arguments, part));
  }
  EXPECT_EQ(arguments, words);
  live::Command whole = job.command;
  whole.programs.reset();
  whole.arguments = words;
  EXPECT_EQ(fingerprint_of(whole), fingerprint_of(job.command)) << "it was found out before";
  whole = job.command;
  whole.more_arguments = {BlobId(7)};
  EXPECT_EQ(live::decode_command(encode(whole))->programs, job.command.programs);
}

TEST(Requests, MoreThanTheCommandMayTellTheProgram) {
  const auto memory_of = [](const Json& json) {
    return live::memory_fingerprint_of(taken(json).command);
  };
  const auto words = [](std::vector<std::string> list) { return with("program_words", list); };
  EXPECT_NE(memory_of(words({"MODEL=7b"})), memory_of(words({"MODEL=70b"})));
  EXPECT_EQ(memory_of(words({"SEED=1"})), memory_of(words({"SEED=2"})));
  EXPECT_EQ(memory_of(words({})), memory_of(with("held", false)));
  EXPECT_EQ(refusal(words({std::string(1 << 14, 'x')})),
            "program_words: 16385 bytes, the most is 16384");
  EXPECT_EQ(refusal(with("program_words", "x")),
            "program_words: must be a list of strings, is \"x\"");
}

TEST(Requests, ACopyOfTheCodeIsTheSameProgram) {
  const auto memory_of = [](const std::string& folder, const std::string& original) {
    Json json = with("snapshot", "/srv/ann/berth/snapshots/" + folder);
    json["directory"] = json["snapshot"];
    json["command"] = {"./run.sh"};
    json["environment"] = {"A=1", "BERTH_SUBMIT_DIR=" + original};
    return live::memory_fingerprint_of(taken(json).command);
  };
  EXPECT_EQ(memory_of("p-a1b2c3", "/data/p"), memory_of("p-d4e5f6", "/data/p"));
  EXPECT_NE(memory_of("p-a1b2c3", "/data/p"), memory_of("p-a1b2c3", "/data/q"));
}

TEST(Requests, ArgumentsAndEnvironmentHaveALimitTogether) {
  const std::size_t most = (std::size_t{2} << 20) - (std::size_t{16} << 10);
  // "true" and each variable cost their bytes, a NUL and a pointer.
  std::vector<std::string> environment;
  for (char name = 'a'; name < 'u'; ++name) {
    environment.push_back(name + ("=" + std::string(100'000, 'x')));
  }
  std::size_t size = 4 + 9;
  for (const std::string& variable : environment) size += variable.size() + 9;
  environment.push_back("A=" + std::string(most - size - 2 - 9, 'x'));
  EXPECT_EQ(variables_of(taken(with("environment", environment))), environment);
  environment.back() += "x";
  EXPECT_EQ(refusal(with("environment", environment)),
            "command and environment: 2080769 bytes, the most is 2080768");
  EXPECT_THAT(refusal(with("command", std::vector<std::string>(250'000, "x"))),
              HasSubstr("command and environment: 2500000 bytes"));
}

TEST(Requests, VariablesHaveALimit) {
  std::vector<std::string> environment(limits::kMostVariables, "A=");
  (void)taken(with("environment", environment));
  environment.emplace_back("B=");
  EXPECT_EQ(refusal(with("environment", environment)),
            "environment: 8193 variables, the most is 8192");
}

/// Linux starts no program with a longer one, however few there are.
TEST(Requests, AWordHasALimit) {
  const std::string longest(131'071, 'x');
  const live::Submission job = taken(with("command", {"echo", longest}));
  ASSERT_EQ(job.more_arguments.size(), 1U) << "it comes in a part of its own";
  EXPECT_THAT(*live::decode_environment(job.more_arguments[0]), ElementsAre(longest));
  EXPECT_EQ(refusal(with("command", {"echo", longest + "x"})),
            "command[1]: '" + std::string(40, 'x') + "...', 131072 bytes, the most is 131071");
  EXPECT_EQ(
      refusal(with("environment", {"A=1", "BIG=" + longest})),
      "environment[1]: 'BIG=" + std::string(36, 'x') + "...', 131075 bytes, the most is 131071");
}

TEST(Requests, NamesAreShort) {
  EXPECT_EQ(taken(with("name", std::string(256, 'n'))).name.size(), 256U);
  EXPECT_EQ(refusal(with("name", std::string(257, 'n'))), "name: 257 bytes, the most is 256");
}

TEST(Requests, ForManyJobsNameThemByHandlesAndUsers) {
  const auto many = parse_many(R"({"jobs": ["643_5", 7, "a,b"], "users": [1000]})");
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(many->handles.size(), 3U);
  EXPECT_EQ(many->users, std::set{UserId(1000)});
  EXPECT_FALSE(many->change);
  EXPECT_TRUE(parse_many("")->handles.empty());
  EXPECT_EQ(parse_many(R"({"jobs": 7, "change": {"priority": 3}})").error().message,
            "jobs: must be a list of handles as \"643_5\", is 7");
  EXPECT_EQ(parse_many(R"({"jobs": [-7]})").error().message,
            "jobs: -7 is no handle, as 643, \"643_5\" or \"train-*\"");
  EXPECT_EQ(parse_many(R"({"users": [-1]})").error().message, "users: -1, the least is 0");
  EXPECT_EQ(parse_many(R"({"change": {"retries": 3}})").error().message,
            "change: retries: cannot be changed; valid keys: vram_bytes, gpus, gpu_types, "
            "gpu_indices, share, cpus, mem_bytes, time_limit_seconds, suspend, priority, begin_at, "
            "array_at_once, name, comment");
}

}  // namespace
}  // namespace berth::daemon
