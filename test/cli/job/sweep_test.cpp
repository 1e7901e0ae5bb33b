// Goal: a sweep is what its user typed, in that order, and what cannot be meant is refused with
// what to say instead. Method: options, tables and lists of commands as texts.
#include "cli/job/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string told(const Expected<Sweep>& sweep) {
  if (!sweep) return sweep.error().message;
  std::string text;
  for (const auto& values : sweep->points) {
    for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + values[i];
    text += "|";
  }
  return text;
}
std::string values_of(const std::string& typed) { return told(parse_param(typed)); }

TEST(Param, IsAListOfValuesAndRanges) {
  EXPECT_EQ(values_of("lr=0.1,0.01,1e-3"), "0.1|0.01|1e-3|");
  EXPECT_EQ(values_of("seed=1-5"), "1|2|3|4|5|");
  EXPECT_EQ(values_of("s=1-9:4,20, 30"), "1|5|9|20|30|");
  EXPECT_EQ(values_of("s=08-10"), "08|09|10|");
  EXPECT_EQ(values_of("opt=adam,sgd momentum,a=b"), "adam|sgd momentum|a=b|");
  EXPECT_EQ(values_of(R"(x="a,b","1-5","",say ""hi"",-1,2024-01-05)"),
            R"(a,b|1-5||say ""hi""|-1|2024-01-05|)");
  EXPECT_EQ(values_of(R"(x="say ""hi""")"), R"(say "hi"|)");
}

TEST(Param, KeepsTheCommasOfAValue) {
  EXPECT_EQ(values_of(R"(x="a,b",c)"), "a,b|c|");
  EXPECT_EQ(values_of(R"(x=a\,b,c\d,e\)"), R"(a,b|c\d|e\|)");
  EXPECT_EQ(values_of(R"(x={"a": 1, "b": [2, 3]},{})"), R"({"a": 1, "b": [2, 3]}|{}|)");
  EXPECT_EQ(values_of(R"(x={"a": "},"},b)"), R"({"a": "},"}|b|)");
  EXPECT_EQ(values_of("x={a,b"), "{a|b|") << "it is not closed";
  EXPECT_EQ(values_of(R"(x="[1,2]","[""a"",3]")"), R"([1,2]|["a",3]|)");
  EXPECT_THAT(values_of(R"(x=["a","b"])"),
              HasSubstr(R"(["a","b"]: write the values without brackets; a text with them in)"));
}

TEST(Param, TakesForTextsWhatIsNoRange) {
  EXPECT_EQ(values_of("x=1-3-5,2026-01-01,a-b,1-b,-3,1e-3"), "1-3-5|2026-01-01|a-b|1-b|-3|1e-3|");
}

TEST(Param, SaysWhatToTypeInstead) {
  EXPECT_EQ(values_of("lr"), "has no =; say NAME=VALUES, as lr=0.1,0.01");
  EXPECT_THAT(values_of("lr="), HasSubstr("a value is empty; for an empty text write \"\""));
  EXPECT_THAT(values_of("lr=1,,2"), HasSubstr("a value is empty"));
  EXPECT_EQ(values_of("lr=0.1,0.2,0.1"), "'0.1' is there twice");
  EXPECT_THAT(values_of("s=5-1"), HasSubstr("5-1 is no range such as 1-5 or 1-9:2; for the text"));
  EXPECT_THAT(values_of("s=1-5:0"), HasSubstr("is no range"));
  EXPECT_THAT(values_of("s=1-5000"), HasSubstr("1-5000 has 5000 values, the most is 4096"));
  EXPECT_THAT(values_of("lr=0.1-0.5"), HasSubstr("ranges are of whole numbers with one dash"));
  EXPECT_THAT(values_of("lr=-5--1"), HasSubstr("ranges are of whole numbers with one dash"));
  EXPECT_EQ(values_of("lr=-5"), "-5|");
  EXPECT_THAT(values_of("s=1..5"), HasSubstr("ranges are of whole numbers with one dash"));
  EXPECT_THAT(values_of("s=range(1,5)"), HasSubstr("is of another tool; say 1-5"));
  EXPECT_THAT(values_of("lr=[0.1,0.2]"), HasSubstr("write the values without brackets"));
  EXPECT_THAT(values_of("x=\"a"), HasSubstr("a double quote without its other"));
  EXPECT_THAT(values_of("x=a\nb"), HasSubstr("control character"));
  EXPECT_THAT(values_of("batch-size=1"), HasSubstr("'batch-size' is no name of letters, digits and "
                                                   "_, of 64 bytes at most; say batch_size, and in "
                                                   "the command --batch-size {batch_size}"));
  EXPECT_THAT(values_of("1r=1"), HasSubstr("'1r' is no name"));
}

TEST(ParamFile, HasNamesAndThenPoints) {
  EXPECT_EQ(told(parse_points("lr, seed\n# note\n0.1,1\r\n\n\"a,b\", 1-5\n", "p.csv")),
            "0.1,1|a,b,1-5|");
  EXPECT_EQ(told(parse_points("lr\tseed\n0.1\t1,2\n", "p.tsv")), "0.1,1,2|");
  EXPECT_EQ(told(parse_points("color,n\n#ff0000,1\nblue,2\n", "p.csv")), "#ff0000,1|blue,2|");
  EXPECT_THAT(told(parse_points(",lr\n0,0.1\n", "p.csv")), HasSubstr("index=False"));
  EXPECT_THAT(told(parse_points("lr;seed\n0,1;2\n", "p.csv")), HasSubstr("between semicolons"));
  EXPECT_EQ(told(parse_points("lr,seed\n1\n", "p.csv")),
            "p.csv:2: 1 values, the first line has 2 names");
  EXPECT_EQ(told(parse_points("lr,lr\n1,2\n", "p.csv")), "p.csv:1: 'lr' is there twice");
  EXPECT_THAT(told(parse_points("0.1,1\n", "p.csv")), HasSubstr("p.csv:1: '0.1' is no name"));
  EXPECT_THAT(told(parse_points("lr\n", "p.csv")), HasSubstr("p.csv: has no point"));
}

TEST(Lines, AreCommandsWithoutBlankLinesAndComments) {
  const auto lines = parse_lines(
      "#!/bin/bash\n\n  # note\npython a.py --x 1 # behind\npython b.py \\\n  --y 2\necho "
      "'\\\\'\r\n"
      "\tlast \\\\\n",
      "jobs.txt");
  EXPECT_EQ(told(lines), "python a.py --x 1 # behind|python b.py   --y 2|echo '\\\\'|last \\\\|");
  EXPECT_EQ(lines->names, (std::vector<std::string>{"line"}));
  EXPECT_EQ(told(parse_lines("# none\n", "jobs.txt")), "jobs.txt: has no line with a command");
  EXPECT_EQ(told(parse_lines("\xEF\xBB\xBFtrue\n", "jobs.txt")), "true|");
  EXPECT_THAT(told(parse_lines("\necho " + std::string(5000, 'x'), "jobs.txt")),
              HasSubstr("jobs.txt:2: 5013 bytes in quotes, the most is 4096; write a script"));
}

TEST(Sweeps, AreGridsWhoseLastParameterChangesFirst) {
  JobOptions options;
  options.params = {"lr=0.1,0.01", "seed=1-2"};
  EXPECT_EQ(told(sweep_of(options)), "0.1,1|0.1,2|0.01,1|0.01,2|");
  EXPECT_THAT(sweep_of(options)->names, ElementsAre("lr", "seed"));
  options.params.emplace_back("lr=3");
  EXPECT_EQ(told(sweep_of(options)),
            "--param lr=3: lr: is given twice; say all its values at once, as lr=0.1,0.01");
  options.params = {"a=1-1000", "b=1-1000"};
  EXPECT_EQ(told(sweep_of(options)),
            "--param b=1-1000: 1000 x 1000 points are 1000000 jobs, the most is 4096");
}

TEST(Sweeps, CrossAFileWithWhatIsTyped) {
  const test::ScratchFolder folder;
  JobOptions options;
  options["--param-file"] = folder.write("p.csv", "lr,bs\n0.1,8\n0.2,16\n");
  options.params = {"seed=1-2"};
  EXPECT_EQ(told(sweep_of(options)), "0.1,8,1|0.1,8,2|0.2,16,1|0.2,16,2|");
  options["--lines"] = folder.write("l", "true\n");
  EXPECT_THAT(told(sweep_of(options)), HasSubstr("--param-file stands beside it"));
}

TEST(Sweeps, HaveNoParameterThatNothingReads) {
  const test::ScratchFolder folder;
  const std::string here = folder.path().string();
  const Sweep sweep{.names = {"lr", "seed"}, .points = {{"1", "2"}}};
  const auto refusal = [&](const std::vector<std::string>& command) {
    const auto done = check_use(sweep, command, here);
    return done ? "taken" : done.error().message;
  };
  EXPECT_EQ(refusal({"python", "t.py", "{lr}", "--seed={seed}"}), "taken");
  EXPECT_EQ(refusal({"python", "t.py", "{lr}"}),
            "--param seed: nothing of the command reads it; write {seed} where its value goes, or "
            "if the program reads it by itself env BERTH_PARAM_seed={seed} before the program");
  EXPECT_THAT(refusal({"t", "{lr}", "{sed}"}), HasSubstr("{sed} in the command is no parameter"));
  EXPECT_EQ(refusal({"sh", "-c", "echo $BERTH_PARAM_lr $BERTH_PARAM_seed"}), "taken");
  folder.write("t.sh", "echo $BERTH_PARAM_seed");
  EXPECT_EQ(refusal({"bash", "t.sh", "{lr}"}), "taken");
  folder.write("t.sh", "echo");
  EXPECT_THAT(refusal({"bash", "t.sh", "{lr}"}), HasSubstr("--param seed"));
}

TEST(Sweeps, FillTheCommandAlone) {
  const Sweep sweep{.names = {"lr"}, .points = {{"0.1"}}};
  JobOptions options;
  options["--output"] = "%x.log";
  EXPECT_TRUE(check_labels(sweep, options).has_value());
  options["--output"] = "run-{lr}.log";
  EXPECT_EQ(check_labels(sweep, options).error().message,
            "--output: {lr} is filled in the command alone; %a is the number of the task");
}

TEST(Sweeps, AreArraysInWhatIsSent) {
  const Caller caller{.environment = {}, .directory = "/tmp", .umask = 0, .now = kStart};
  JobOptions options;
  options.command = {"echo", "{lr}"};
  options.params = {"lr=0.1,0.01"};
  const auto made = submission_of(options, caller);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->body["parameters"], (Json{"lr"}));
  EXPECT_EQ(made->body["points"], (Json{{"0.1"}, {"0.01"}}));
  EXPECT_EQ(made->body["array"], "1-2");
  EXPECT_EQ(made->body["command"], (Json{"echo", "{lr}"}));
  options["--at-once"] = "1";
  EXPECT_EQ(submission_of(options, caller)->body["array"], "1-2%1");
  options["--at-once"] = "none";
  EXPECT_THAT(submission_of(options, caller).error().message,
              HasSubstr("--at-once none: is no number from 1 to 4096"));
  options["--at-once"] = "1";
  options["--array"] = "1-2";
  EXPECT_THAT(submission_of(options, caller).error().message,
              HasSubstr("--array 1-2: with a sweep, which numbers its jobs by itself"));
  options.params.clear();
  EXPECT_EQ(submission_of(options, caller)->body["array"], "1-2%1") << "as typed in two options";
  options["--array"] = "1-2%2";
  EXPECT_THAT(submission_of(options, caller).error().message,
              HasSubstr("--at-once 1: beside --array 1-2%2, which says how many"));
  options["--array"].reset();
  EXPECT_THAT(submission_of(options, caller).error().message,
              HasSubstr("--at-once 1: is for jobs of --array, --param, --param-file and --lines"));
}

TEST(Sweeps, LeaveBracesOfOtherCommandsAlone) {
  const Caller caller{.environment = {}, .directory = "/tmp", .umask = 0, .now = kStart};
  JobOptions options;
  options.command = {"echo", R"({"lr": 1})", "{lr}"};
  const auto made = submission_of(options, caller);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->body["command"], (Json{"echo", R"({"lr": 1})", "{lr}"}));
  EXPECT_FALSE(made->body.contains("points"));
}

TEST(Lines, AreNamedAfterTheirFileAndTakeNoCommand) {
  JobOptions options;
  options["--lines"] = "some/jobs.txt";
  ASSERT_TRUE(take_lines_option(options));
  EXPECT_THAT(options.command, ElementsAre("bash", "-c", "{line}"));
  EXPECT_EQ(options["--name"], "jobs");
  EXPECT_THAT(take_lines_option(options).error().message, HasSubstr("a command stands beside it"));
}

}  // namespace
}  // namespace berth::cli
