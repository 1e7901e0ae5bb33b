// Goal: a configuration says what is meant or where it is wrong, to the line and column, and what
// is not said gets its default; its page says the same. Method: TOML texts in, options or messages
// out; the table of keys is written as doc/configuration.md has it.
#include "daemon/settings/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "core/text/words.hpp"
#include "daemon/settings/config.hpp"
#include "support/paths.hpp"

namespace berth::daemon {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Options read(const std::string& text) {
  Options options;
  const auto done = read_config(options, text, "berth.toml");
  EXPECT_TRUE(done) << done.error().message;
  return options;
}

std::string config_refusal(const std::string& text) {
  Options options;
  const auto done = read_config(options, text, "berth.toml");
  return done ? "taken" : done.error().message;
}

Options completed(Options options, const Surroundings& around) {
  const auto done = complete(options, around);
  EXPECT_TRUE(done) << done.error().message;
  return options;
}

std::string incomplete(Options options, const Surroundings& around = {}) {
  const auto done = complete(options, around);
  return done ? "complete" : done.error().message;
}

const Surroundings kUser{.user = 1000, .home = "/people/ada", .runtime = "/run/user/1000"};

/// The keys that differ from their defaults in this file, where berthd is root.
std::vector<std::string> changed_by(const std::string& text) {
  Options all;
  Options options;
  const auto read = read_config(options, text, "berth.toml");
  EXPECT_TRUE(read) << read.error().message;
  for (Options* each : {&all, &options}) {
    each->unsafe = true;
    EXPECT_TRUE(complete(*each, {.user = 0}));
  }
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    if (!key.option.same(options, all)) names.emplace_back(key.name);
  }
  return names;
}

TEST(Options, EveryKeyArrives) {
  for (const std::string text : {"state = '/data'",
                                 "socket = '/s'",
                                 "emulate = '2x24GiB'",
                                 "nvml = '/lib'",
                                 "policy = 'sjf'",
                                 "place = 'first-fit'",
                                 "admission = 'declared'",
                                 "slots = 2",
                                 "cores = 8",
                                 "default_cpus = 0",
                                 "longest_time = '2d'",
                                 "share = 'now'",
                                 "again_after_overrun = false",
                                 "overuse = 'warn'",
                                 "context = '300MiB'",
                                 "guard = '1GiB'",
                                 "user_gpus = 4",
                                 "user_jobs = 7",
                                 "user_queue = 8",
                                 "user_environments_size = '1GiB'",
                                 "half_life = '24h'",
                                 "probe = '500ms'",
                                 "probe_fast = '5ms'",
                                 "grace = '30s'",
                                 "log_cap = '1M'",
                                 "learn_memory = false",
                                 "learn_run_times = false",
                                 "learn_run_times_after = 32",
                                 "limits = ['watch']",
                                 "preempt_by = 'restart'",
                                 "preemption.most = 0",
                                 "preemption.lost = '90s'",
                                 "suspend_host_memory = '64G'",
                                 "suspend_patience = '5s'",
                                 "vram_shrink = ['root']",
                                 "mig = ['3g.40gb']",
                                 "cgroup = '/g'",
                                 "host_limits = []",
                                 "device_rules = false",
                                 "device_folder = '/d'",
                                 "job_groups = ['root']",
                                 "accounting = true",
                                 "idle_end = '1h'",
                                 "keep_jobs = '1d'",
                                 "admins = ['root']",
                                 "hide_arguments = true",
                                 "audit_cap = '1M'",
                                 "notify_command = 'true'",
                                 "notify_on = ['fail']",
                                 "exclude = [0]"}) {
    const std::string key = text.substr(0, text.find(' '));
    EXPECT_THAT(changed_by(text), testing::ElementsAre(key));
  }
}

TEST(Options, DefaultsAreThoseOfTheTable) {
  for (const ConfigKey& key : config_keys()) {
    if (key.fallback.empty()) continue;
    EXPECT_THAT(changed_by(std::string(key.name) + " = " + std::string(key.fallback)),
                testing::IsEmpty())
        << key.name;
  }
}

TEST(Options, ATimeHasItsUnit) {
  EXPECT_EQ(config_refusal("keep_jobs = \"30\""),
            "berth.toml:1:13: keep_jobs: must have its unit, as \"30s\", \"30min\" or \"30d\"");
  EXPECT_EQ(read("keep_jobs = \"30d\"").retention.jobs, hours(30 * 24));
}

TEST(Options, AKeyInTheWrongTableIsNoUserWhoIsGone) {
  const std::string words = ": is a key of its own; it stands above the first table";
  EXPECT_EQ(config_refusal("[weights]\nroot = 2\nhide_arguments = true\n"),
            "berth.toml:3:18: weights.hide_arguments" + words);
  EXPECT_EQ(config_refusal("[users]\nslots = 2\n"), "berth.toml:2:9: users.slots" + words);
}

TEST(Options, MayBeginWithAByteOrderMark) { EXPECT_EQ(read("\xEF\xBB\xBFslots = 2\n").slots, 2); }

TEST(Options, AGroupOfJobsThatIsGoneIsLeftOutWithAWarning) {
  const Options options = read("job_groups = [\"root\", \"no-such-group\"]");
  EXPECT_EQ(options.job_groups, std::set<gid_t>{0});
  EXPECT_THAT(options.warnings,
              testing::ElementsAre(
                  "berth.toml:1:14: job_groups: there is no group no-such-group; left out"));
  EXPECT_EQ(config_refusal("job_groups = \"root\""),
            "berth.toml:1:14: job_groups: must be a list of unix groups, such as [\"gpu-jobs\"]");
}

TEST(Options, TheLadderEndsWithWatching) {
  EXPECT_EQ(read("").limits, (std::vector{Rung::Driver, Rung::Watch}));
  EXPECT_EQ(read("limits = [\"watch\"]").limits, std::vector{Rung::Watch});
  EXPECT_EQ(read("limits = [\"driver\", \"watch\"]").limits,
            (std::vector{Rung::Driver, Rung::Watch}));
  EXPECT_EQ(config_refusal("limits = \"watch\""),
            "berth.toml:1:10: limits: must be a list, such as [\"driver\", \"watch\"]");
  for (const std::string list : {"[]", "[\"driver\"]", "[\"watch\", \"driver\"]"}) {
    EXPECT_EQ(config_refusal("limits = " + list),
              "berth.toml:1:10: limits: must have driver and watch, in this order, or watch alone");
  }
  EXPECT_EQ(config_refusal("limits = [\"mig\"]"),
            "berth.toml:1:10: limits: must have driver and watch, or watch alone");
}

TEST(Options, GpuValuesAreOfTypesOrWhatSpeedsSay) {
  EXPECT_EQ(read("[gpu_values]\nA100 = 2\nK80 = 0.3\n").gpu_values,
            (GpuValues{{"A100", 2000}, {"K80", 300}}));
  EXPECT_EQ(read("gpu_values = \"speeds\"").gpu_values, std::nullopt);
  EXPECT_EQ(read("").gpu_values, GpuValues());
  EXPECT_EQ(config_refusal("gpu_values.A100 = 1001"),
            "berth.toml:1:19: gpu_values.A100: must be a value from 0.001 to 1000");
  EXPECT_EQ(config_refusal("gpu_values = 3"),
            "berth.toml:1:14: gpu_values: must be \"speeds\", or a table of GPU types and values");
}

TEST(Options, WeightsAreOfUsersByNameOrNumber) {
  const auto weights = read("[weights]\nroot = 2\n4711 = 0.25\n").rules.weights;
  EXPECT_EQ(weights, (std::map<UserId, std::int64_t>{{UserId(0), 2000}, {UserId(4711), 250}}));
  EXPECT_EQ(config_refusal("weights.root = 0"),
            "berth.toml:1:16: weights.root: must be a weight from 0.001 to 100000");
  EXPECT_EQ(config_refusal("weights = 3"),
            "berth.toml:1:11: weights: must be a table of users and weights");
}

TEST(Options, AWeightOfAUserWhoIsGoneIsLeftOutWithAWarning) {
  const Options options = read("[weights]\nnobody-of-that-name = 2\nroot = 3\n");
  EXPECT_EQ(options.rules.weights, (std::map<UserId, std::int64_t>{{UserId(0), 3000}}));
  EXPECT_THAT(options.warnings,
              testing::ElementsAre(
                  "berth.toml:2:23: weights.nobody-of-that-name: there is no such user; left out"));
}

TEST(Options, UsersAndGroupsHaveLimitsOfTheirOwn) {
  const Options options = completed(read(R"(
user_jobs = 4
user_gpus = 8
[users.4711]
jobs = 1
weight = 2
[users.4712]
jobs = 4
gpus = 8
[groups.root]
gpus = 0
weight = 3
)"),
                                    kUser);
  const Settings& settings = options.rules.settings;
  EXPECT_EQ(settings.limits_of(UserId(4711)), (UserLimits{.gpus = GpuCount(8), .jobs = 1}));
  EXPECT_EQ(settings.limits_of(UserId(0)), (UserLimits{.gpus = GpuCount(0), .jobs = 4}));
  EXPECT_FALSE(settings.user_limits.contains(UserId(4712))) << "as all have it";
  EXPECT_EQ(options.rules.weights.at(UserId(4711)), 2000);
  EXPECT_EQ(options.rules.weights.at(UserId(0)), 3000);
}

TEST(Options, TheLogsOfAUserHaveALimit) {
  const Options options = completed(read(R"(
keep_user_logs_size = "1GiB"
[users.4711]
logs = "none"
[groups.root]
logs = "2GiB"
)"),
                                    kUser);
  EXPECT_EQ(options.retention.most_of(UserId(4711)), Bytes(0));
  EXPECT_EQ(options.retention.most_of(UserId(0)), Bytes(std::int64_t{2} << 30));
  EXPECT_EQ(options.retention.most_of(UserId(4712)), Bytes(std::int64_t{1} << 30));
  EXPECT_THAT(config_refusal("[users.root]\nlogs = \"much\"\n"),
              testing::HasSubstr("users.root.logs: 'much' is not a size such as 10G"));
}

TEST(Options, HowJobsShareThatDoNotSayIsOfUsersGroupsAndAll) {
  const Options options = completed(read(R"(
share = "never"
[users.4711]
share = "patient"
[groups.root]
share = "now"
)"),
                                    kUser);
  EXPECT_EQ(options.sharing.of(UserId(4711)), Sharing::Shared);
  EXPECT_EQ(options.sharing.of(UserId(0)), Sharing::AtOnce);
  EXPECT_EQ(options.sharing.of(UserId(4712)), Sharing::Alone);
  EXPECT_EQ(read("share = 'patient'").sharing.of(UserId(4712)), std::nullopt) << "the usual";
  EXPECT_THAT(config_refusal("share = 'soon'"),
              testing::HasSubstr("share: 'soon' is unknown; valid values: patient, never, now"));
}

TEST(Options, AUserComesBeforeAGroup) {
  const Options options =
      completed(read("[groups.root]\njobs = 3\n[users.root]\njobs = 2\n"), kUser);
  EXPECT_EQ(options.rules.settings.limits_of(UserId(0)).jobs, 2);
}

TEST(Options, AUserMayBeBarredAndOneOfABarredGroupLetIn) {
  EXPECT_TRUE(completed(read("[users.root]\nsubmit = false\n"), kUser).barred.contains(UserId(0)));
  const std::string group = "[groups.root]\nsubmit = false\n";
  EXPECT_TRUE(completed(read(group), kUser).barred.contains(UserId(0)));
  EXPECT_TRUE(completed(read(group + "[users.root]\nsubmit = true\n"), kUser).barred.empty());
}

TEST(Options, LimitsOfTheUnknownAreLeftOutAndWrongOnesRefused) {
  const Options options = read("[users.gone]\njobs = 1\n[groups.gone]\njobs = 1\n");
  EXPECT_THAT(options.warnings,
              testing::UnorderedElementsAre(
                  testing::HasSubstr("users.gone: there is no such user; left out"),
                  testing::HasSubstr("groups.gone: there is no such group; left out")));
  EXPECT_THAT(config_refusal("[users.root]\ngups = 1\n"),
              testing::HasSubstr("users.root.gups: unknown key; valid keys: gpus, jobs, logs, "
                                 "share, submit, weight"));
  EXPECT_THAT(config_refusal("[users]\nroot = 1\n"),
              testing::HasSubstr(
                  "users.root: must be a table of gpus, jobs, logs, share, submit and weight"));
  EXPECT_THAT(config_refusal("[users.root]\njobs = -1\n"),
              testing::HasSubstr("users.root.jobs: must be a number from 0 to 1048576"));
}

/// As TOML has it, `ann.smith` is `smith` in the table `ann`.
TEST(Options, ANameWithADotIsSaidToNeedQuotes) {
  const std::string way = "; a name with a dot needs quotes, as \"ann.smith\"";
  EXPECT_THAT(config_refusal("[users.ann.smith]\njobs = 8\n"),
              testing::HasSubstr("users.ann.smith: unknown key; valid keys: gpus, jobs, logs, "
                                 "share, submit, weight" +
                                 way));
  EXPECT_THAT(config_refusal("[weights]\nann.smith = 2\n"),
              testing::HasSubstr("weights.ann: must be a weight from 0.001 to 100000" + way));
  EXPECT_THAT(read("[users.\"ann.smith\"]\njobs = 8\n").warnings,
              testing::ElementsAre(testing::HasSubstr("there is no such user; left out")));
}

TEST(Options, KeysOfAPolicyHaveATableOfItsName) {
  const Options options = completed(read(R"(
[policy]
name = "dlas"
[policy.dlas]
thresholds = [3600, 14400]
[policy.headroom]
fairness = 5
[place.least-shared]
share_below_percent = 50
)"),
                                    kUser);
  EXPECT_EQ(options.rules.policy, "dlas:thresholds=3600:14400");
  EXPECT_EQ(options.rules.place, "least-shared:share_below_percent=50");
}

TEST(Options, WhatStandsBehindTheNameGoesBeforeTheTable) {
  Options options = read("[policy.headroom]\nfairness = 5\nliar_after = 2\n");
  EXPECT_EQ(completed(options, kUser).rules.policy, kAutoPolicy) << "it may become this one";
  options.rules.policy = "headroom";
  EXPECT_EQ(completed(options, kUser).rules.policy, "headroom:fairness=5:liar_after=2");
  options.rules.policy = "headroom:fairness=3";
  EXPECT_EQ(completed(options, kUser).rules.policy, "headroom:fairness=3:liar_after=2");
}

TEST(Options, AWrongKeyOfAPolicyIsNamedWithTheValidOnes) {
  EXPECT_THAT(config_refusal("[policy.las]\nquantum = \"0s\"\n"),
              HasSubstr("policy.las: policy las: quantum=0s: must be a duration from 1s to 365d, "
                        "such as 5m"));
  EXPECT_THAT(config_refusal("[policy.multifactor]\nage = 1\n"),
              HasSubstr("unknown key 'age'; valid keys: age_weight, fair_share_weight"));
  EXPECT_THAT(config_refusal("[policy.luck]\n"), HasSubstr("policy 'luck' is unknown"));
  EXPECT_THAT(config_refusal("[place.fgd]\ntypical_percent = 101\n"),
              HasSubstr("place.fgd: placement fgd: typical_percent=101: must be a percent"));
  EXPECT_THAT(config_refusal("[policy.las]\nquantum = [\"5m\"]\n"),
              HasSubstr("policy.las.quantum: must be a string, a number or a list of numbers"));
}

TEST(Options, CoresAreAmounts) {
  EXPECT_EQ(read("cores = 8").cores, CpuMilli(8000));
  EXPECT_EQ(read("default_cpus = 0.5").default_cpu, CpuMilli(500));
  EXPECT_EQ(config_refusal("cores = -1"),
            "berth.toml:1:9: cores: must be a number of cores from 0 to 100000");
  EXPECT_EQ(config_refusal("cores = \"2\""),
            "berth.toml:1:9: cores: must be a number of cores from 0 to 100000");
}

TEST(Options, MoreWordsOfOutOfMemoryAreTexts) {
  EXPECT_THAT(read("oom_words = [\"mylib: full\", \"no * left\"]").oom_words,
              testing::ElementsAre("mylib: full", "no * left"));
  for (const char* const wrong :
       {"\"mylib: full\"", "[7]", "[\"\"]", "[\"oom\"]", "[\"a*b*c*\"]", "[\"two\\nlines\"]"}) {
    EXPECT_THAT(config_refusal("oom_words = " + std::string(wrong)),
                HasSubstr("oom_words: must be a list of at most 100 texts of 4 to 200 characters"))
        << wrong;
  }
}

TEST(Options, ATextWithoutQuotesIsSaidToLackThem) {
  const std::string quoted = config_refusal("slots = 4\npolicy = fifo\n");
  EXPECT_THAT(quoted, StartsWith("berth.toml:2:"));
  EXPECT_THAT(quoted, EndsWith(": fifo: a text stands in quotes here: \"fifo\""));
  for (const std::string value : {"1GiB", "24h", "/var/lib/berth", "gavel/isolated"}) {
    EXPECT_THAT(config_refusal("state = " + value + "  # of mine"),
                EndsWith(value + ": a text stands in quotes here: \"" + value + "\""));
  }
  for (const std::string broken : {"slots = ", "slots = [1", "= 4", "slots", "state = \"a"}) {
    EXPECT_THAT(config_refusal(broken), Not(HasSubstr("quotes here"))) << broken;
  }
}

TEST(Options, AKeyByOtherWordsIsFoundByThem) {
  for (const auto& [typed, meant] : {std::pair("max_gpus_per_user = 1", "user_gpus"),
                                     std::pair("max_jobs_per_user = 1", "user_jobs"),
                                     std::pair("user.nobody.gpus = 1", "users")}) {
    EXPECT_THAT(config_refusal(typed), EndsWith("did you mean " + std::string(meant) + "?"));
  }
}

TEST(Options, AWrongValueIsFoundByLineAndColumn) {
  EXPECT_EQ(config_refusal("\n\n  slots = 0\n"),
            "berth.toml:3:11: slots: must be a number from 1 to 65535");
  EXPECT_EQ(config_refusal("state = 5"), "berth.toml:1:9: state: must be a string");
  EXPECT_EQ(config_refusal("learn_memory = 1"),
            "berth.toml:1:16: learn_memory: must be true or false");
  EXPECT_EQ(config_refusal("learn_run_times_after = 0"),
            "berth.toml:1:25: learn_run_times_after: must be a number from 1 to 32");
  EXPECT_EQ(config_refusal("user_gpus = -1"),
            "berth.toml:1:13: user_gpus: must be a number from 0 to 1048576");
  EXPECT_EQ(config_refusal("user_jobs = 1.5"),
            "berth.toml:1:13: user_jobs: must be a number from 0 to 1048576");
  EXPECT_EQ(config_refusal("slots = \"4\""),
            "berth.toml:1:9: slots: must be a number from 1 to 65535");
}

/// As `berth submit --time` takes them.
TEST(Options, DurationsAreThoseOfTheCommandLine) {
  EXPECT_EQ(read("grace = \"1.5m\"").grace, seconds(90));
  EXPECT_EQ(read("grace = \"1:30\"").grace, seconds(90));
  EXPECT_EQ(read("probe = \"250ms\"").probe, Duration(250'000));
  EXPECT_EQ(read("probe_fast = \"5ms\"").probe_fast, Duration(5'000));
  EXPECT_EQ(read("half_life = \"7d\"").rules.settings.service_half_life, hours(168));
  EXPECT_EQ(config_refusal("grace = 10"),
            "berth.toml:1:9: grace: must be a duration such as \"10s\"");
  constexpr auto kNoDuration =
      " is not a duration such as 90s, 30min, 1h30m, 2d, 1:30:00 or 1-12:00:00, above 0 and up to "
      "3650d";
  for (const auto& [text, hint] : {std::pair<std::string, std::string>{"soon", ""},
                                   {"-1s", ""},
                                   {"0s", ""},
                                   {"1ns", "; 'ns' is no unit: ms, s, min, h, d or w"},
                                   {"10y", "; 'y' is no unit: ms, s, min, h, d or w"}}) {
    EXPECT_EQ(config_refusal("grace = \"" + text + "\""),
              "berth.toml:1:9: grace: '" + text + "'" + kNoDuration + hint);
  }
}

TEST(Options, SizesAreThoseOfTheCommandLine) {
  EXPECT_EQ(read("context = \"1k\"").context, Bytes(1024));
  EXPECT_EQ(read("context = \"512MiB\"").context, Bytes(512 << 20));
  EXPECT_EQ(config_refusal("context = 512"),
            "berth.toml:1:11: context: must be a size such as \"512MiB\"");
  constexpr auto kNoSize = " is not a size such as 10G, 10GiB, 512M or 1.5G, from 1 byte to 1024T";
  for (const std::string text : {"much", "99999999999999999999G", "1025TiB"}) {
    EXPECT_EQ(config_refusal("guard = \"" + text + "\""),
              "berth.toml:1:9: guard: '" + text + "'" + kNoSize);
  }
}

TEST(Options, UnknownKeysAreRefusedWithThoseThereAre) {
  const std::string message = config_refusal("probe = \"1s\"\nprobes = \"1s\"");
  EXPECT_THAT(message, HasSubstr("probes: unknown key; did you mean probe?"));
  EXPECT_THAT(config_refusal("frobnicate = 1"),
              HasSubstr("frobnicate: unknown key; valid keys: state, socket, emulate,"));
  EXPECT_THAT(message, StartsWith("berth.toml:2:"));
  EXPECT_THAT(config_refusal("[daemon]\nstate = \"/x\""), HasSubstr("daemon.state: unknown key"));
}

TEST(Options, WhatIsNoTomlIsFoundByLineAndColumn) {
  EXPECT_THAT(config_refusal("probe_fast = \"999us\""), HasSubstr("must be at least 1ms"));
  EXPECT_THAT(config_refusal("slots = 4\nprobe = \n"), StartsWith("berth.toml:2:"));
  EXPECT_THAT(config_refusal("slots = 4\nslots = 5\n"), StartsWith("berth.toml:2:"));
  EXPECT_THAT(config_refusal("a = \"\xff\""), StartsWith("berth.toml:1:"));
  EXPECT_NE(config_refusal(std::string(10'000, '[')), "taken");
}

TEST(Options, AnUnknownWordIsRefusedWithThoseThereAre) {
  EXPECT_EQ(config_refusal("admission = \"hope\""),
            "berth.toml:1:13: admission: 'hope' is unknown; valid values: guarantee, declared, "
            "free-memory, none");
  EXPECT_EQ(config_refusal("preempt_by = \"magic\""),
            "berth.toml:1:14: preempt_by: 'magic' is unknown; valid values: suspend, signal, "
            "restart");
  EXPECT_EQ(config_refusal("overuse = \"kill\""),
            "berth.toml:1:11: overuse: 'kill' is unknown; valid values: keep, warn, end");
}

TEST(Options, DefaultsOfRootAreTheMachines) {
  const Options options =
      completed({}, {.user = 0, .home = "/people/root", .runtime = "/run/user/0"});
  EXPECT_EQ(options.state, "/var/lib/berth");
  EXPECT_EQ(options.socket, "/run/berth.sock");
  EXPECT_EQ(default_config({.user = 0, .home = "/people/root", .runtime = ""}),
            "/etc/berth/berth.toml");
}

TEST(Options, DefaultsOfAUserAreTheirOwn) {
  EXPECT_EQ(completed({}, kUser).state, "/people/ada/.local/state/berth");
  EXPECT_EQ(completed({}, kUser).socket, "/run/user/1000/berth.sock");
  EXPECT_EQ(completed({}, {.user = 1000, .home = "/people/ada", .runtime = ""}).socket,
            "/people/ada/.local/state/berth/berth.sock");
  EXPECT_EQ(default_config(kUser), "/people/ada/.config/berth/berth.toml");
  EXPECT_EQ(default_config({.user = 1000, .home = "", .runtime = ""}), "");
}

TEST(Options, AUserWithoutAHomeMustSayWhere) {
  EXPECT_EQ(incomplete({}, {.user = 1000, .home = "", .runtime = ""}),
            "no --state given and no home folder known");
}

TEST(Options, RealGpusAreGuardedUnlessSaidOtherwise) {
  for (const AdmissionMode mode :
       {AdmissionMode::Declared, AdmissionMode::FreeMemory, AdmissionMode::None}) {
    Options options;
    options.rules.settings.admission.mode = mode;
    EXPECT_THAT(incomplete(options), HasSubstr("admission '" + std::string(word_for(mode)) + "'"));
    EXPECT_THAT(incomplete(options), HasSubstr("--unsafe"));
    Options unsafe = options;
    unsafe.unsafe = true;
    EXPECT_EQ(incomplete(unsafe), "complete");
    options.emulate = "1x1GiB";
    EXPECT_EQ(incomplete(options), "complete");
  }
}

TEST(Options, APolicyThatIsNoneIsRefusedAtOnce) {
  Options options;
  options.rules.policy = "luck";
  EXPECT_THAT(incomplete(options), HasSubstr("luck"));
  options = {};
  options.rules.place = "anywhere";
  EXPECT_THAT(incomplete(options), HasSubstr("anywhere"));
}

/// A table as the page has it: pages of doc/ are links there.
std::string markdown() {
  std::string text = "| key | default | applies | meaning |\n|---|---|---|---|\n";
  for (const ConfigKey& key : config_keys()) {
    const std::string fallback(key.fallback);
    text += "| `" + std::string(key.name) + "` | " +
            (fallback.empty() ? "none" : "`" + fallback + "`") + " | " +
            (key.applies == Applies::Now ? "at once" : "next start") + " | " +
            std::regex_replace(full_meaning(key), std::regex("[a-z/-]+\\.md"), "[$&]($&)") + " |\n";
  }
  return text;
}

TEST(Options, ThePageHasTheTable) {
  const auto path = test::source_dir() / "doc/configuration.md";
  const std::string page = test::read_file(path);
  const std::size_t begin = page.find("| key |");
  const std::size_t end = page.find("\n\n", begin) + 1;
  ASSERT_LT(begin, end);
  const std::string wanted = page.substr(0, begin) + markdown() + page.substr(end);
  if (std::getenv("BERTH_WRITE_PAGES") != nullptr) std::ofstream(path) << wanted;
  EXPECT_TRUE(test::read_file(path) == wanted)
      << "run: BERTH_WRITE_PAGES=1 build/dev/bin/daemon_test --gtest_filter='Options.*'";
}

TEST(Options, AreShownWithTheirPlacesInTheFile) {
  Options options;
  const std::string text = "slots = 2\n[users.root]\njobs = 1\n";
  ASSERT_TRUE(read_config(options, text, "berth.toml"));
  const std::string shown = show_config(options);
  EXPECT_THAT(shown, testing::HasSubstr("\n#grace = \"10s\"\n"));
  EXPECT_THAT(shown, testing::HasSubstr("\nslots = 2  # berth.toml:1:9\n"));
  EXPECT_THAT(shown, testing::HasSubstr("\nusers.root.jobs = 1  # berth.toml:3:8\n"));
  Options again;
  ASSERT_TRUE(read_config(again, shown, "shown"));
  for (const ConfigKey& key : config_keys())
    EXPECT_TRUE(key.option.same(again, options)) << key.name;
}

}  // namespace
}  // namespace berth::daemon
