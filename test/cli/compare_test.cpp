// Goal: `berth compare` shows policies side by side, and its page is a page: a browser draws it.
// Method: the real program on a small trace; headless Chromium where it is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::Ran;
using test::ScratchFolder;
using testing::HasSubstr;
using testing::Not;

constexpr auto kCompared =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "1,4,0,1,a,1000,0\n"
    "2,4,1,1,b,500,1\n"
    "3,1,2,1,c,10,1\n";

class Compare : public testing::Test {
 protected:
  Ran compare(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"compare", "--trace", trace_, "--cluster", "1x4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program("berth", arguments);
  }

  ScratchFolder scratch_;
  std::string trace_ = scratch_.write("t.csv", kCompared);
};

TEST_F(Compare, SaysWhatEachPolicyDoes) {
  const Ran ran = compare({"--policies", "fifo,sjf", "--summary", scratch_ / "s.json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto summaries = nlohmann::json::parse(test::read_file(scratch_ / "s.json"));
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_EQ(summaries[0].at("policy"), "fifo");
  EXPECT_DOUBLE_EQ(summaries[0].at("jct_seconds").at("mean"), (1000 + 1499 + 1508) / 3.0);
  EXPECT_DOUBLE_EQ(summaries[1].at("jct_seconds").at("mean"), (1000 + 1509 + 1008) / 3.0);
}

TEST_F(Compare, TakesBlanksBesideTheCommasOfAList) {
  const Ran ran = compare({"--policies", "fifo, sjf", "--seeds", "1, 2", "--by", "user, size"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\nsjf "));
}

TEST_F(Compare, LooksForTheFoldersOfItsFilesFirst) {
  const Ran none = compare({"--policies", "fifo", "--report", scratch_ / "out/x.html"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("x.html: No such file or directory; make its folder first: "));
  const Ran file = compare({"--policies", "fifo", "--jobs", trace_ + "/x.csv"});
  EXPECT_THAT(file.err, HasSubstr("t.csv/x.csv: Not a directory"));
}

TEST_F(Compare, WritesItsPageUnderNoNameOfAPicture) {
  const Ran ran = compare({"--policies", "fifo", "--report", scratch_ / "waits.png"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("waits.png: is a page of HTML; name it waits.html"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "waits.png"));
}

TEST_F(Compare, SaysHowManyJobsEachPolicyEnded) {
  trace_ = scratch_.write("big.csv", std::string(kCompared) + "4,5,3,1,d,10,1\n");
  const Ran ran = compare({"--policies", "fifo,sjf"});
  EXPECT_THAT(ran.out, testing::ContainsRegex("seconds +ended rejected failed "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nfifo +3 +1 +0 "));
  EXPECT_THAT(ran.out, HasSubstr("\nfifo: figures are of 3 of 4 jobs: 1 rejected, 0 stopped"));
}

/// Gavel keeps a job on GPUs of one type, and rejects what no type holds.
TEST_F(Compare, WhoEndsFewerJobsIsBestInNothing) {
  const std::string cluster = scratch_.write("c.toml",
                                             "[[node]]\nname = \"a\"\ngpus = 3\ntype = \"v100\"\n"
                                             "[[node]]\nname = \"b\"\ngpus = 4\ntype = \"k80\"\n");
  trace_ = scratch_.write("t.csv",
                          "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                          "1,7,0,1,a,1000,0\n2,1,0,1,b,10,1\n");
  const Ran ran = test::run_program(
      "berth", {"compare", "--trace", trace_, "--cluster", cluster, "--policies",
                "gavel/isolated,fifo", "--report", scratch_ / "r.html", "--json"});
  const auto summaries = nlohmann::json::parse(ran.out);
  ASSERT_LT(summaries[0].at("jobs"), summaries[1].at("jobs")) << "else this shows nothing";
  const std::string html = test::read_file(scratch_ / "r.html");
  const std::string row = html.substr(html.find("<tr><td>gavel/isolated"));
  EXPECT_THAT(row.substr(0, row.find("</tr>")), Not(HasSubstr("best")));
  EXPECT_THAT(html, HasSubstr("Not marked, nor in the trade-offs, with fewer of them than others: "
                              "gavel/isolated (1)"));
}

TEST_F(Compare, PlacementsThatWouldChangeNothingAreRefusedOrSaid) {
  EXPECT_EQ(compare({"--policies", "fifo,capacity@count"}).exit_code, 2);
  const Ran ran = compare({"--policies", "fifo,carma", "--place", "yarn", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("berth: --place: policy carma has a placement of its own"));
  const auto summaries = nlohmann::json::parse(ran.out);
  EXPECT_EQ(summaries[0].at("place"), "yarn");
  EXPECT_EQ(summaries[1].at("place"), "carma");
}

TEST_F(Compare, WritesJobsOfEveryPolicyAndSeed) {
  ASSERT_EQ(
      compare({"--policies", "fifo,sjf", "--seeds", "2", "--jobs", scratch_ / "j.csv"}).exit_code,
      0);
  const std::string jobs = test::read_file(scratch_ / "j.csv");
  EXPECT_EQ(std::ranges::count(jobs, '\n'), 1 + 2 * 2 * 3);
  EXPECT_THAT(jobs, HasSubstr(",placement,policy,seed\n1,0,0,1000,"));
  EXPECT_THAT(jobs, HasSubstr(",sjf,1\n"));
}

TEST_F(Compare, ShowsCostEnergyAndPredictionsWhereAskedFor) {
  const Ran plain = compare({"--policies", "fifo"});
  EXPECT_THAT(plain.out, testing::Not(HasSubstr("kWh")));
  EXPECT_THAT(plain.out, testing::Not(HasSubstr("predicted")));
  const Ran ran = compare({"--policies", "fifo,sjf", "--price", "2", "--power", "0:1000",
                           "--predictions", "3", "--report", scratch_ / "r.html"});
  // 6010 GPU-seconds at 2 an hour and 1000 W.
  EXPECT_THAT(ran.out, HasSubstr("         3.34          1.7\n"));
  EXPECT_THAT(ran.out, HasSubstr("predicted starts"));
  EXPECT_THAT(
      test::read_file(scratch_ / "r.html"),
      testing::AllOf(HasSubstr("Wait until the start, sjf"), HasSubstr("Speed against energy")));
}

/// Of four GPUs and jobs of 1000 s on 4 and 500 s on 4: no schedule is better than one after the
/// other, the shorter first.
TEST_F(Compare, SaysWhatNoScheduleCanBeBelow) {
  trace_ = scratch_.write("t.csv",
                          "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                          "1,4,0,1,a,1000,0\n2,4,0,1,b,500,0\n");
  const Ran ran = compare({"--policies", "fifo,sjf", "--summary", scratch_ / "s.json", "--report",
                           scratch_ / "r.html"});
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nno schedule can be below +1000.0 +250.0\n"));
  const auto least = nlohmann::json::parse(test::read_file(scratch_ / "s.json"))[0];
  EXPECT_DOUBLE_EQ(least.at("no_schedule_below").at("mean_jct_seconds"), 1000);
  EXPECT_DOUBLE_EQ(least.at("no_schedule_below").at("mean_wait_seconds"), 250);
  EXPECT_THAT(
      test::read_file(scratch_ / "r.html"),
      HasSubstr("<td>no schedule can be below</td><td></td><td></td><td></td><td>0.28</td>"));
}

TEST_F(Compare, ShowsFairnessWhereUsersAreNamedAndStabilityWhereMemoryRunsOut) {
  EXPECT_THAT(compare({"--policies", "fifo"}).out,
              testing::AllOf(HasSubstr("\nwaits, seconds "), Not(HasSubstr("between users")),
                             Not(HasSubstr("stability"))));
  trace_ = scratch_.write("u.csv",
                          "job,user,submit_seconds,duration_seconds,gpus,vram_bytes\n"
                          "1,a,0,100,1,1000000\n2,b,0,100,1,1000000\n");
  const Ran ran =
      compare({"--policies", "fifo", "--memory-ramp", "30s", "--report", scratch_ / "r.html"});
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nbetween users +Jain, slowdown +Jain, service"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nstability +OOM: admission "));
  EXPECT_THAT(test::read_file(scratch_ / "r.html"),
              testing::AllOf(HasSubstr("<th>between users</th>"), HasSubstr("<th>stability</th>")));
}

TEST_F(Compare, NamesTheColumnsThatTellNothing) {
  EXPECT_THAT(compare({"--policies", "fifo,sjf"}).out,
              HasSubstr("\nwithin 1 % under all policies: ended; makespan; jobs/h; alloc, %; "));
  EXPECT_THAT(compare({"--policies", "fifo"}).out, Not(HasSubstr("under all policies")));
}

TEST_F(Compare, ItsPageLeavesOutChartsThatSayNothing) {
  ASSERT_EQ(compare({"--policies", "fifo,sjf", "--report", scratch_ / "r.html"}).exit_code, 0);
  const std::string html = test::read_file(scratch_ / "r.html");
  EXPECT_THAT(html, HasSubstr(">Wait, a second at least</text>"));
  EXPECT_THAT(html, Not(HasSubstr(">Waiting against interruption</text>")));
  EXPECT_THAT(html, HasSubstr("<p>Not drawn, because all values are zero or within 1 % of each "
                              "other: Speed against cost; Utilisation against isolation; Waiting "
                              "against interruption.</p>"));
  ASSERT_EQ(
      compare({"--policies", "fifo,fifo-skip", "--report", scratch_ / "r.html", "--load", "0.001"})
          .exit_code,
      0);
  const std::string idle = test::read_file(scratch_ / "r.html");
  EXPECT_THAT(idle, HasSubstr("each other: Completion time (JCT); Wait, a second at "
                              "least.</p>"));
  EXPECT_THAT(idle, HasSubstr("<th>jobs / h while jobs arrive</th>"));
}

TEST_F(Compare, RefusesAPolicyNobodyKnowsBeforeAnyRuns) {
  const Ran ran = compare({"--policies", "fifo,fastest"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("policy 'fastest' is unknown; valid names: headroom, turns, fifo"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(Compare, APolicyComesWithItsPlacementOrTheOneItIsGiven) {
  const Ran ran = compare({"--policies", "headroom,headroom@best-fit,fifo", "--summary",
                           scratch_ / "s.json", "--report", scratch_ / "r.html"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto summaries = nlohmann::json::parse(test::read_file(scratch_ / "s.json"));
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].at("place"), "least-shared");
  EXPECT_EQ(summaries[1].at("policy"), "headroom");
  EXPECT_EQ(summaries[1].at("place"), "best-fit");
  EXPECT_EQ(summaries[2].at("place"), "consolidated");
  EXPECT_THAT(ran.out, HasSubstr("\nheadroom@best-fit "));
  EXPECT_THAT(test::read_file(scratch_ / "r.html"),
              HasSubstr("<td>headroom@best-fit</td><td>best-fit</td>"));
}

TEST_F(Compare, AllIsEveryPolicyThatHasWhatItNeeds) {
  const Ran ran = compare({"--policies", "all"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* name : {"\nheadroom ", "\nfifo ", "\ngavel/isolated ", "\ntiresias/dlas-gpu "}) {
    EXPECT_THAT(ran.out, HasSubstr(name));
  }
  EXPECT_THAT(ran.out, Not(HasSubstr("\ngittins ")));
  for (const char* name : {"gittins", "tiresias/dlas-gpu-gittins"}) {
    EXPECT_THAT(ran.err, HasSubstr("berth: all leaves out " + std::string(name) + ": policy " +
                                   name + " learns from past jobs: give it --service FILE\n"));
  }
}

/// Two jobs of an hour take turns on one GPU, and neither keeps what it did.
TEST_F(Compare, APolicyThatGetsNowhereIsNamedAndTheOthersAreShown) {
  trace_ = scratch_.write("t.csv",
                          "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                          "1,4,0,1,a,3600,0\n2,4,0,1,b,3600,1\n");
  const std::vector<std::string> run = {
      "--policies",          "las,fifo", "--checkpoint-every", "never",
      "--preemption-bounds", "none",     "--summary",          scratch_ / "s.json"};
  const Ran ran = compare(run);
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nfifo +2 +0 +0 "));
  EXPECT_THAT(ran.out, HasSubstr("\nlas: no figures: the run never ends: "));
  EXPECT_THAT(ran.err, HasSubstr("berth: 1 of 2 policies have no figures\n"));
  EXPECT_EQ(nlohmann::json::parse(test::read_file(scratch_ / "s.json")).size(), 1U);
  std::vector<std::string> alone = run;
  alone[1] = "las";
  EXPECT_EQ(compare(alone).exit_code, 125);
}

TEST_F(Compare, SweepsTheModelsOfSharing) {
  const std::vector<std::string> both = {"--policies", "fifo,sjf", "--share", "free, timeslice:5%"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), both.begin(), both.end());
    return compare(more);
  };
  const Ran ran = with({});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, testing::StartsWith("--share free\n"));
  EXPECT_THAT(ran.out, HasSubstr("\n\n--share timeslice:5%\n"));
  EXPECT_THAT(with({"--json"}).out, testing::StartsWith("{\"free\": ["));
  EXPECT_THAT(with({"--json"}).out, HasSubstr(",\"timeslice:5%\": ["));
  EXPECT_THAT(with({"--summary", scratch_ / "s.json"}).err,
              HasSubstr("are several models; --jobs, --report and --summary are of one"));
  EXPECT_THAT(compare({"--policies", "fifo", "--share", "free,fast"}).err,
              HasSubstr("--share: 'fast' is unknown"));
}

TEST_F(Compare, RefusesALoadOutOfRange) {
  const Ran ran = compare({"--policies", "fifo", "--load", "0"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--load"));
}

class ComparePage : public Compare {
 protected:
  void SetUp() override {
    Compare::SetUp();
    if (::access(kBrowser, X_OK) != 0) GTEST_SKIP() << kBrowser << " is not installed";
    ASSERT_EQ(compare({"--policies", "fifo,sjf", "--report", scratch_ / "r.html"}).exit_code, 0);
  }
  /// The page as the browser has it in a window of this width.
  std::string drawn(const std::string& page, int width) {
    const Ran drawn = test::run_program(
        kBrowser,
        {"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--user-data-dir=" + (scratch_ / "profile"), "--screenshot=" + (scratch_ / "r.png"),
         "--window-size=" + std::to_string(width) + ",1000", "--dump-dom", "file://" + page});
    EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
    return drawn.out;
  }

  static constexpr auto kBrowser = "/usr/bin/chromium";
};

TEST_F(ComparePage, IsDrawnByABrowser) {
  const std::string page = drawn(scratch_ / "r.html", 1280);
  std::size_t charts = 0;
  for (std::size_t at = page.find("<svg"); at != std::string::npos;
       at = page.find("<svg", at + 1)) {
    ++charts;
  }
  EXPECT_EQ(charts, 5U) << "two distributions, two over time, one of users";
  EXPECT_THAT(page, HasSubstr("Why jobs waited"));
  EXPECT_GT(std::filesystem::file_size(scratch_ / "r.png"), 10'000U);
}

/// Wide tables are moved under the screen's edge by themselves, not the page with them.
TEST_F(ComparePage, FitsPhonesAndWideScreens) {
  std::string page = test::read_file(scratch_ / "r.html");
  page.insert(page.find("</body>"),
              "<script>document.title = 'wide by ' + (document.documentElement.scrollWidth - "
              "document.documentElement.clientWidth)</script>");
  const std::string measured = scratch_.write("m.html", page);
  for (const int width : {400, 1280, 1920}) {
    EXPECT_TRUE(drawn(measured, width).contains("<title>wide by 0</title>")) << width;
  }
}

}  // namespace
}  // namespace berth
