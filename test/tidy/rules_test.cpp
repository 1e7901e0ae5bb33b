// Goal: every rule can fail. A rule that never objects is no rule.
// Method: each gets a small text that breaks it and one that does not.
#include "tidy/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace berth::tidy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

auto finds(std::size_t line, const std::string& what) {
  return AllOf(Field("line", &Finding::line, line), Field("what", &Finding::what, HasSubstr(what)));
}

TEST(CodeOnly, BlanksCommentsAndLiteralsButKeepsLines) {
  EXPECT_EQ(code_only("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_only("a /* b\nc */ d"), "a     \n     d");
  EXPECT_EQ(code_only("f(\"x // y\"); z"), "f(\"      \"); z");
  EXPECT_EQ(code_only("f(\"\\\"\"); z"), "f(\"  \"); z");
  EXPECT_EQ(code_only("'\"' 1'000 x"), "' ' 1'000 x");
  EXPECT_EQ(code_only("R\"(a\"b)\" c"), "R\"       c");
}

TEST(HasWord, LooksAtWholeWords) {
  EXPECT_TRUE(has_word("x = rand();", "rand"));
  EXPECT_FALSE(has_word("operand()", "rand"));
  EXPECT_FALSE(has_word("snprintf(b, 1)", "printf"));
  EXPECT_TRUE(has_word("Clock::now()", "::now("));
  EXPECT_FALSE(has_word("view.now()", "::now("));
  EXPECT_TRUE(has_word("operand(rand())", "rand"));
}

const Levels kLevels = {
    {"core", {}}, {"trace", {"core"}}, {"sim", {"engine", "trace"}}, {"cli", {"sim", "core"}}};

TEST(Levels, RefusesAnIncludeThatPointsRight) {
  EXPECT_THAT(levels({"src/core/job.hpp", "\n#include \"policy/policy.hpp\"\n"}, kLevels),
              ElementsAre(finds(2, "core may not include policy/policy.hpp")));
  EXPECT_THAT(levels({"src/sim/a.cpp", "#include \"daemon/loop/loop.hpp\"\n"}, kLevels), SizeIs(1));
  EXPECT_THAT(levels({"src/cli/a.cpp", "#include \"engine/engine.hpp\"\n"}, kLevels), SizeIs(1));
  EXPECT_THAT(levels({"emu/a.cpp", "#include \"core/base/units.hpp\"\n"}, kLevels), SizeIs(1));
  EXPECT_THAT(levels({"src/core/a.cpp", "#include \"emu/a.hpp\"\n"}, kLevels), SizeIs(1));
  EXPECT_THAT(levels({"src/new/a.cpp", ""}, kLevels), ElementsAre(finds(0, "in no level")));
}

TEST(Versions, RefusesAPageThatNamesAnotherOne) {
  std::vector<Source> tree = {{"CHANGELOG.md", "This page says what a user of 1.2.3 meets."},
                              {"CITATION.cff", "type: software\nversion: 1.2.3\n"},
                              {"CMakeLists.txt", "\nproject(berth VERSION 1.2.3 LANGUAGES C)"},
                              {"doc/openapi.yaml", "info:\n  version: \"1.2.3\"\n"}};
  EXPECT_THAT(versions(tree), IsEmpty());
  tree[1].text = "type: software\nversion: 1.2.2\n";
  tree.pop_back();
  EXPECT_THAT(versions(tree), ElementsAre(finds(0, "does not say version 1.2.3"),
                                          finds(0, "does not say version 1.2.3")));
  tree.back().text.clear();
  EXPECT_THAT(versions(tree), ElementsAre(finds(0, "has no line `project(berth VERSION")));
}

TEST(Levels, AllowsOneThatPointsLeft) {
  EXPECT_THAT(levels({"src/sim/a.cpp",
                      "#include <map>\n#include \"engine/engine.hpp\"\n"
                      "#include \"trace/trace.hpp\"\n#include \"sim/a.hpp\"\n"},
                     kLevels),
              IsEmpty());
  EXPECT_THAT(levels({"emu/a.cpp", "#include \"emu/state/a.hpp\"\n"}, kLevels), IsEmpty());
  EXPECT_THAT(levels({"test/core/a.cpp", "#include \"report/metrics.hpp\"\n"}, kLevels), IsEmpty());
}

Findings wings_with(const std::vector<Source>& files) {
  std::vector<Source> all = files;
  all.push_back({"src/CMakeLists.txt",
                 "berth_level(daemon)\n# Of it.\nberth_wings(daemon\n  loop limits . api)\n"});
  return wings(all);
}

TEST(Wings, IncludeTheirOwnAndWhatIsLeftOfThem) {
  EXPECT_THAT(wings_with({{"src/daemon/daemon.cpp", "#include \"daemon/limits/rung.hpp\"\n"},
                          {"src/daemon/api/api.cpp", "#include \"daemon/daemon.hpp\"\n"},
                          {"src/daemon/api/routes.cpp", "#include \"daemon/api/api.hpp\"\n"},
                          {"src/core/a.cpp", ""}}),
              IsEmpty());
  EXPECT_THAT(wings_with({{"src/daemon/limits/rung.cpp", "\n#include \"daemon/api/api.hpp\"\n"}}),
              ElementsAre(finds(2, "may not include daemon/api/api.hpp")));
  EXPECT_THAT(wings_with({{"src/daemon/loop/loop.hpp", "#include \"daemon/daemon.hpp\"\n"}}),
              ElementsAre(finds(1, "may not include daemon/daemon.hpp")));
  EXPECT_THAT(wings_with({{"src/daemon/new/a.cpp", ""}}), ElementsAre(finds(0, "in no wing")));
}

TEST(Wings, AreLowAndNotWide) {
  std::vector<Source> wide;
  std::vector<Source> high;
  for (int i = 0; i < 21; ++i) {
    const std::string name = "src/daemon/api/a" + std::to_string(i);
    wide.push_back({name + ".hpp", ""});
    wide.push_back({name + ".cpp", ""});
    const std::string below = "#include \"daemon/api/a" + std::to_string(i + 1) + ".hpp\"\n";
    if (i < 6) high.push_back({name + ".hpp", i < 5 ? below : ""});
  }
  EXPECT_THAT(wings_with(wide), ElementsAre(finds(0, "has 21 files")));
  EXPECT_THAT(wings_with(high), ElementsAre(finds(0, "api/a0 stands on 5 others")));
  wide.resize(40);
  high.erase(high.begin());
  EXPECT_THAT(wings_with(wide), IsEmpty());
  EXPECT_THAT(wings_with(high), IsEmpty());
}

TEST(Levels, AreThoseOfCMake) {
  const Source cmake{"src/CMakeLists.txt",
                     "# berth_level(none)\nberth_level(core)\n"
                     "berth_level(gpu LINKS core posix PROGRAMS list)\n"};
  const Levels all = {{"core", {}}, {"gpu", {"core", "posix"}}};
  EXPECT_EQ(levels_of(std::vector{cmake}), all);
  const auto rows = [&](const std::string& text) {
    return level_rows(std::vector{cmake, Source{"A.md", text}}, "A.md");
  };
  EXPECT_THAT(rows("| `src/core` | | x |\n| `src/gpu` | `core` `posix` | `y` |\n"), IsEmpty());
  EXPECT_THAT(rows("| `src/core` | | x |\n| `src/gpu` | `core` | x |\n"),
              ElementsAre(finds(2, "links otherwise")));
  EXPECT_THAT(rows("| `src/core` | | x |\n| `src/sim` | | x |\n"),
              ElementsAre(finds(2, "no level"), finds(0, "no row for src/gpu")));
}

TEST(BannedCalls, NamesTheReplacement) {
  const auto in_policy = [](const std::string& text) {
    return banned_calls({"src/policy/order/a.cpp", text});
  };
  EXPECT_THAT(in_policy("auto t = std::chrono::system_clock::now();"),
              ElementsAre(finds(1, "system_clock is banned here: time is the `now`"),
                          finds(1, "::now( is banned here")));
  EXPECT_THAT(in_policy("x;\nstd::chrono::steady_clock::time_point t;"),
              ElementsAre(finds(2, "time is the `now`")));
  EXPECT_THAT(in_policy("int n = rand();"), ElementsAre(finds(1, "core/base/rng.hpp")));
  EXPECT_THAT(in_policy("std::random_device d;"), ElementsAre(finds(1, "core/base/rng.hpp")));
  EXPECT_THAT(in_policy("getenv(name);"), ElementsAre(finds(1, "take it as a setting")));
  EXPECT_THAT(in_policy("sleep(1);"), ElementsAre(finds(1, "wake_at")));
  EXPECT_THAT(in_policy("std::this_thread::sleep_for(d);"), ElementsAre(finds(1, "wake_at")));
  EXPECT_THAT(in_policy("std::cout << 1;"), ElementsAre(finds(1, "the shell prints")));
  EXPECT_THAT(in_policy("std::unordered_map<int, int> m;"), ElementsAre(finds(1, "no order")));
  EXPECT_THAT(in_policy("std::unordered_set<int> m;"), ElementsAre(finds(1, "no order")));
  EXPECT_THAT(in_policy("std::mutex m;"), ElementsAre(finds(1, "only in shells")));
}

TEST(BannedCalls, LeavesShellsCommentsAndLiteralsAlone) {
  EXPECT_THAT(banned_calls({"src/daemon/a.cpp", "sleep(1); getenv(x);"}), IsEmpty());
  EXPECT_THAT(banned_calls({"src/core/a.hpp", "// no sleep(), no rand()\n"}), IsEmpty());
  EXPECT_THAT(banned_calls({"src/core/a.hpp", "f(\"getenv\"); view.now(); operand();"}), IsEmpty());
  EXPECT_THAT(banned_calls({"src/core/base/assert.cpp", "fprintf(stderr);"}), IsEmpty());
}

TEST(PolicyHeaders, AreShort) {
  const std::string good = "// Shortest job first.\n";
  EXPECT_THAT(policy_headers({"src/policy/order/a.cpp", good + "#include <map>\n"}), IsEmpty());
  EXPECT_THAT(policy_headers({"src/policy/place/a.cpp", "#include <map>\n" + good}),
              ElementsAre(finds(1, "no opening comment")));
  std::string lengthy = good;
  for (int i = 0; i < 10; ++i) lengthy += "// More.\n";
  EXPECT_THAT(policy_headers({"src/policy/whole/a.cpp", lengthy}),
              ElementsAre(finds(11, "has 11 lines, the most is 10")));
  EXPECT_THAT(policy_headers({"src/policy/pipeline/walk.cpp", ""}), IsEmpty());
  EXPECT_THAT(policy_headers({"src/policy/order/a.cpp", "#include \"policy/order/a.hpp\"\n"}),
              IsEmpty());
}

TEST(PragmaOnce, ComesBeforeAnyCode) {
  EXPECT_THAT(pragma_once({"a.hpp", "// Why.\n#pragma once\n"}), IsEmpty());
  EXPECT_THAT(pragma_once({"a.hpp", "// #pragma once\n#include <map>\n"}), SizeIs(1));
  EXPECT_THAT(pragma_once({"a.hpp", "#include <map>\n#pragma once\n"}), SizeIs(1));
  EXPECT_THAT(pragma_once({"a.cpp", "#include <map>\n"}), IsEmpty());
}

TEST(LongLines, CountsColumnsOutsideOfTables) {
  const std::string fits(100, 'x');
  EXPECT_THAT(long_lines({"a.cpp", fits + "\n" + fits + "x\n"}),
              ElementsAre(finds(2, "101 columns, the most is 100")));
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "é";
  EXPECT_THAT(long_lines({"a.cpp", wide}), IsEmpty());
  EXPECT_THAT(long_lines({"a.cpp", "// clang-format off\n" + fits + "x\n// clang-format on\n"}),
              IsEmpty());
  EXPECT_THAT(long_lines({"a.cpp", "// clang-format off\n// clang-format on\n" + fits + "x\n"}),
              SizeIs(1));
}

TEST(Macros, OnlyTheAssertion) {
  EXPECT_THAT(macros({"src/core/a.hpp", "x\n#define A 1\n"}), ElementsAre(finds(2, "macro")));
  EXPECT_THAT(macros({"src/core/a.hpp", "#  define A 1\n"}), SizeIs(1));
  EXPECT_THAT(macros({"src/core/a.hpp", "// #define A 1\n#if defined(A)\n#endif\n"}), IsEmpty());
  EXPECT_THAT(macros({"src/core/base/assert.hpp", "#define BERTH_ASSERT(x) x\n"}), IsEmpty());
}

TEST(Waits, NeedAPermit) {
  const auto in_daemon = [](const std::string& text) { return waits({"src/daemon/a.cpp", text}); };
  EXPECT_THAT(in_daemon("x;\nauto f = ::open(name);"), ElementsAre(finds(2, "open may wait")));
  EXPECT_THAT(in_daemon("std::ifstream file(name);"), ElementsAre(finds(1, "ifstream")));
  EXPECT_THAT(in_daemon("y(::waitpid(pid, 0, 0));"), ElementsAre(finds(1, "waitpid")));
  EXPECT_THAT(in_daemon("auto user = ::getpwnam(name);"), SizeIs(1));
  EXPECT_THAT(waits({"src/shim/program/a.cpp", "const int file = open(name);"}), SizeIs(1));
  EXPECT_THAT(waits({"src/daemon/attempts/oom.cpp", "::open(log);"}), IsEmpty())
      << "as its permit says";
}

TEST(Waits, LeavesOtherFunctionsAndLevelsAlone) {
  EXPECT_THAT(waits({"src/daemon/a.cpp",
                     "#include <fstream>\nauto logs = Logs::open(name); log.open(name); "
                     "bool is_open(); // ::open()\nopen(name);"}),
              IsEmpty());
  EXPECT_THAT(waits({"src/shim/a.cpp", "file->open(name); Access::open(x); reopen(x);"}),
              IsEmpty());
  EXPECT_THAT(waits({"src/cli/a.cpp", "::open(name);"}), IsEmpty());
}

TEST(Waits, HasNoPermitForNothing) {
  const auto all = idle_permits(std::vector<Source>{{"src/daemon/attempts/oom.cpp", "::open(x);"}});
  const auto of = [&](std::string_view path) {
    return std::ranges::count(all, path, &Finding::path);
  };
  EXPECT_EQ(of("src/daemon/attempts/oom.cpp"), 0);
  EXPECT_EQ(of("src/daemon/notices/audit.cpp"), 3);
}

TEST(SharedAnswers, AreRefusedWhereverTheyAreCalledOrHandedOn) {
  EXPECT_THAT(shared_answers({"src/cli/a.cpp", "\nauto* entry = fgetpwent(file);"}),
              ElementsAre(finds(2, "all threads share: use fgetpwent_r")));
  EXPECT_THAT(shared_answers({"lab/a.cpp", "each(::getgrent);"}), SizeIs(1));
  EXPECT_THAT(shared_answers({"src/a/b.cpp", "localtime_r(&now, &parts); // localtime(&now)"}),
              IsEmpty());
  EXPECT_THAT(shared_answers({"test/a.cpp", "gmtime(&now);"}), IsEmpty()) << "they have one thread";
}

TEST(Todos, NeedAnIssueNumber) {
  EXPECT_THAT(todos({"a.cpp",
                     "// TO"
                     "DO: later\n"}),
              ElementsAre(finds(1, "without an issue")));
  EXPECT_THAT(todos({"a.md",
                     "x\nFIX"
                     "ME\n"}),
              ElementsAre(finds(2, "without an issue")));
  EXPECT_THAT(todos({"a.cpp",
                     "// TO"
                     "DO(#12): later\n"}),
              IsEmpty());
  EXPECT_THAT(todos({"a.cpp",
                     "// TO"
                     "DO(#x): later\n"}),
              SizeIs(1));
}

TEST(MachinePaths, AreRefusedWhereverTheyStand) {
  EXPECT_THAT(machine_paths({"a.md",
                             "see /wo"
                             "rk/x\n"}),
              ElementsAre(finds(1, "one machine")));
  EXPECT_THAT(machine_paths({"a.sh",
                             "cd \"/ro"
                             "ot/x\"\n"}),
              SizeIs(1));
  EXPECT_THAT(machine_paths({"a.md",
                             "frame/wo"
                             "rk/x and ~/x\n"}),
              IsEmpty());
}

const Source kTop{"CMakeLists.txt",
                  "add_subdirectory(src)\nadd_subdirectory(emu)\nadd_subdirectory(test)\n"};
const Source kSrc{"src/CMakeLists.txt", "berth_level(core)\nadd_executable(b cli/main.cpp)\n"};
const Source kTest{"test/CMakeLists.txt",
                   "berth_test(core LINKS x)\nforeach(f)\nadd_subdirectory(${folder})\n"};

TEST(DeadFiles, FindsAHeaderNobodyIncludes) {
  const std::vector<Source> tree = {kTop,
                                    kSrc,
                                    {"src/core/a.hpp", "#include \"core/a.hpp\"\n"},
                                    {"src/core/b.hpp", ""},
                                    {"src/core/c.cpp", "#include \"core/b.hpp\"\n"}};
  EXPECT_THAT(dead_files(tree), ElementsAre(Finding{"src/core/a.hpp", 0, "nobody includes it"}));
}

TEST(DeadFiles, FindsASourceNobodyBuilds) {
  const std::vector<Source> tree = {
      kTop,
      kSrc,
      kTest,
      {"src/cli/main.cpp", ""},
      {"src/cli/other.cpp", ""},
      {"src/core/deep/a.cpp", ""},
      {"emu/CMakeLists.txt", "file(GLOB s state/*.cpp)\n"},
      {"emu/state/a.cpp", ""},
      {"emu/lost/a.cpp", ""},
      {"test/core/a_test.cpp", ""},
      {"test/emu/CMakeLists.txt", "file(GLOB s ${here}/state/*.cpp)\n"},
      {"test/lost/a_test.cpp", ""},
      {"test/tidy/CMakeLists.txt", "berth_test(tidy)\n"},
      {"test/tidy/a_test.cpp", ""},
  };
  std::vector<std::string> dead;
  for (const Finding& finding : dead_files(tree)) dead.push_back(finding.path);
  EXPECT_THAT(dead, ElementsAre("src/cli/other.cpp", "emu/lost/a.cpp", "test/lost/a_test.cpp"));
}

TEST(LonelyParts, HaveOneUserBesideThemselves) {
  const std::string includes = "#include \"policy/kit/a.hpp\"\n";
  std::vector<Source> tree = {{"src/policy/kit/a.hpp", "#pragma once\n"},
                              {"src/policy/kit/a.cpp", includes},
                              {"src/policy/order/b.cpp", includes},
                              {"test/policy/kit/a_test.cpp", includes}};
  EXPECT_THAT(lonely_parts(tree),
              ElementsAre(Finding{"src/policy/kit/a.hpp", 0, "1 files include it, of two"}));
  tree.push_back({"src/policy/gate/c.hpp", includes});
  EXPECT_THAT(lonely_parts(tree), IsEmpty());
}

TEST(NamesDefinedTwice, ComparesWhatIsBelowTheSameNamespace) {
  const auto found = [](const std::string& first, const std::string& second) {
    return names_defined_twice(
        std::vector<Source>{{"lab/a.hpp", "namespace a {\n" + first + "\n}\n"},
                            {"src/b/c.cpp", "namespace a {\n\n" + second + "\n}\n"},
                            {"test/d.cpp", "namespace a {\n" + second + "\n}\n"}});
  };
  const std::string place = "struct Place { int gpu; };";
  EXPECT_THAT(found(place, "struct Place final : Base { Room room; };"),
              ElementsAre(finds(3, "a::Place is defined in lab/a.hpp:2 as well")));
  EXPECT_THAT(found(place, "template <class T>\nclass Place {\n};"), SizeIs(1));
  EXPECT_THAT(found(place, "enum class Place : int { Here };"), SizeIs(1));
  EXPECT_THAT(found(place, "namespace b { }\n#if X\nunion [[nodiscard]] Place { };"), SizeIs(1));
  EXPECT_THAT(
      found("namespace b::c { struct D { }; }", "namespace b { namespace c {\nclass D { };"),
      ElementsAre(finds(4, "a::b::c::D")));
  EXPECT_THAT(found("inline int f(int x) { return x; }", "inline int f( int x )\n{ return 2; }"),
              ElementsAre(finds(4, "a::f(int x)")));
  EXPECT_THAT(found("constexpr bool f() { return {}; }", "constexpr bool f() { return 1; }"),
              SizeIs(1));
  EXPECT_THAT(found("inline auto members(P& v) { return v.a; }",
                    "static auto members(P& v) { return v.b; }"),
              ElementsAre(finds(3, "a::members(P&v)")));
  EXPECT_THAT(found("inline constexpr int kMost = 1;", "inline constexpr long kMost{2};"),
              ElementsAre(finds(3, "a::kMost")));
}

TEST(NamesDefinedTwice, LeavesAloneWhatIsNotTheSame) {
  const auto found = [](const std::string& first, const std::string& second) {
    return names_defined_twice(
        std::vector<Source>{{"src/a.hpp", first}, {"src/b.hpp", second}, {"test/c.hpp", first}});
  };
  const std::string place = "struct Place { struct Inner { }; };";
  EXPECT_THAT(found(place, "struct Place; struct Place* f(); struct Place g() { return h({}); }"),
              IsEmpty());
  EXPECT_THAT(found(place, "namespace { struct Place { }; }"), IsEmpty());
  EXPECT_THAT(found(place, "namespace a { struct Place { }; }"), IsEmpty());
  EXPECT_THAT(found(place, "struct Other { struct Inner { }; struct Place { }; };"), IsEmpty());
  EXPECT_THAT(found(place, "template <> struct Place<int> { }; // struct Place { };"), IsEmpty());
  EXPECT_THAT(found("inline int f(int x) { return x; }", "inline int f(long x) { return 1; }"),
              IsEmpty());
  EXPECT_THAT(found("constexpr int kMost = 1;", "constexpr int kMost = 2;"), IsEmpty());
}

TEST(BrokenLinks, AreFoundRelativeToTheirFile) {
  const std::vector<Source> tree = {
      {"README.md", "[a](doc/a.md) [b](doc/b.md#part)\n"},
      {"doc/a.md", "[up](../README.md) [web](https://example.org/x) [part](#here) [gone](c.md)\n"},
      {"doc/d.md", "[folder](../doc) [out](../../x.md)\n"},
      {"doc/e.md", "    [](auto& k) { }\n```\n[no](link.md)\n```\n"}};
  std::vector<std::string> broken;
  for (const Finding& finding : broken_links(tree)) broken.push_back(finding.what);
  EXPECT_THAT(broken,
              ElementsAre(HasSubstr("doc/b.md"), HasSubstr("c.md"), HasSubstr("../../x.md")));
}

TEST(UntestedRows, NamesRowsWithoutATestAndTestsThatAreNone) {
  const std::vector<Source> tree = {
      {"doc/errors.md",
       "About `Tests.Gone` and `a.b`.\n\n| what | test |\n|---|---|\n"
       "| 1 | `Tests.There` |\n| 2 | none |\n| 3 | `Tests.There`, `Other.There` |\n"},
      {"test/a_test.cpp", "\nTEST_F(Tests, There) {}\n// (Tests, Gone)\nTEST(Other, Is) {}\n"}};
  EXPECT_THAT(untested_rows(tree, "doc/errors.md"),
              ElementsAre(finds(1, "Tests.Gone is no test"), finds(6, "names no test"),
                          finds(7, "Other.There is no test")));
  EXPECT_THAT(untested_rows(tree, "doc/other.md"), ElementsAre(finds(0, "is not there")));
}

TEST(MissingGoldens, NamesPoliciesWithoutAScenario) {
  const std::vector<Source> tree = {{"test/golden/policy/a.txt", "policy a place count\n"},
                                    {"test/golden/policy/x/b.txt", "policy a\n"}};
  const std::vector<std::string> names = {"a", "x/b", "c"};
  EXPECT_THAT(
      missing_goldens(tree, "policy", names),
      ElementsAre(finds(0, "has no line `policy x/b`"), finds(0, "policy c has no golden test")));
}

TEST(MissingRows, NamesPoliciesWithoutOne) {
  const std::vector<std::string> names = {"a", "a/b"};
  EXPECT_THAT(missing_rows({"x", "# a/b\na/bc@x 1\na@x 1\n"}, names),
              ElementsAre(finds(0, "has no row of a/b")));
}

}  // namespace
}  // namespace berth::tidy
