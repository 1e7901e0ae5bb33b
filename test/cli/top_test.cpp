// Goal: `berth top` shows GPUs and jobs within any terminal, obeys its keys, and leaves the
// terminal as it was.
// Method: whole screens of fixed figures, and the real program on a terminal with a daemon of
// canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "cli/attend/top_screen.hpp"
#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"

namespace berth::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kNow = 1'700'049'600;  // Wed 2023-11-15 12:00 UTC

Json two_gpus() {
  return *parse_json(R"({"gpus":[
      {"index":0,"name":"X","capacity_bytes":25769803776,"used_bytes":9126805504,
       "charged_bytes":14173392076,"foreign_bytes":9019431321,"headroom_bytes":1138166333,
       "utilisation_percent":40,"healthy":true,
       "tenants":[{"job":6,"name":"eval","user_name":"bob","charge_bytes":14173392076}],
       "foreign":[{"pid":9,"name":"python","user_name":"eve","bytes":9019431321}]},
      {"index":1,"name":"X","capacity_bytes":25769803776,"used_bytes":0,"charged_bytes":16106127360,
       "foreign_bytes":0,"headroom_bytes":9663676416,"utilisation_percent":95,"healthy":true,
       "tenants":[{"job":5,"name":"train","user_name":"ann","charge_bytes":10737418240},
                  {"job":12,"name":"x","user_name":"ann","charge_bytes":5368709120}],
       "foreign":[]}]})");
}

std::vector<Json> jobs() {
  const auto job = [](const char* text) { return *parse_json(text); };
  return {job(R"-({"id":5,"state":"running","user":1,"user_name":"ann","name":"train","gpu_count":1,
               "gpus":[1],"vram_bytes":10737418240,"class":"medium","submitted_at":1700046000,
               "started_at":1700046000,"reason":""})-"),
          job(R"-({"id":6,"state":"running","user":2,"user_name":"bob","name":"eval","gpu_count":1,
               "gpus":[0],"vram_bytes":13958643712,"class":"medium","submitted_at":1700046000,
               "started_at":1700048000,"reason":""})-"),
          job(R"-({"id":7,"state":"queued","user":1,"user_name":"ann","name":"large","gpu_count":1,
               "gpus":[],"vram_bytes":21474836480,"class":"medium","submitted_at":1700049000,
               "reason":"needs 20 GiB on one GPU; none of the 2 GPUs has room for it",
               "reason_brief":"needs 7.5 GiB more on GPU 0 (job 6)",
               "predicted_start_at":1700053200,"predicted_start_confidence":"estimate"})-"),
          job(R"-({"id":8,"state":"held","user":2,"user_name":"bob","name":"later","gpu_count":1,
               "gpus":[],"vram_bytes":null,"class":"medium","submitted_at":1700049540,
               "reason":"held by its owner",
               "reason_brief":"held; to let it start: berth release 8"})-")};
}

class Screens : public testing::Test {
 protected:
  Screens() {
    setenv("TZ", "UTC", 1);
    tzset();
    screen_.update(two_gpus(), jobs(), kNow);
  }
  std::string page(std::uint16_t rows, std::uint16_t columns) {
    return screen_.page({.rows = rows, .columns = columns}, {.terminal = true, .width = columns});
  }
  void press(const std::string& letters) {
    for (const char letter : letters) screen_.on_key({.letter = letter});
  }

  TopScreen screen_;
};

TEST_F(Screens, Fit80By24) {
  EXPECT_EQ(page(24, 80), R"(berth  12:00  2 running, 1 waiting, 1 held  by state
GPU 0 [=========6==========xxxxxxxxxxxxx...] 8.5G used, 1.05G free, 40 % ▄
      6 eval bob 13.1G, non-berth python eve 8.39G
GPU 1 [=======5=======---12---.............] 0B used, 9G free, 95 % █
      5 train ann 10G, 12 x ann 5G
ID  NAME   USER  STATE    GPUS   VRAM    TIME  REASON
 5  train  ann   running  1       10G   1h00m
 6  eval   bob   running  0       13G  26m40s
 7  large  ann   queued   x1      20G  10m00s  ~13:00 needs 7.5 GiB more on GPU
                                               0 (job 6)
 8  later  bob   held     x1    whole   1m00s  held; to let it start: berth
                                               release 8











q quit  arrows choose  s sort  u user  c cancel  r refresh)");
}

TEST_F(Screens, FitAnyTerminal) {
  for (const std::uint16_t rows : std::initializer_list<std::uint16_t>{4, 8, 24, 60}) {
    for (const std::uint16_t columns : std::initializer_list<std::uint16_t>{20, 40, 80, 200}) {
      press("j");
      std::istringstream lines(page(rows, columns));
      std::size_t count = 0;
      for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_LE(columns_of(line), columns) << rows << "x" << columns << ": " << line;
      }
      EXPECT_LE(count, rows) << columns;
    }
  }
  EXPECT_THAT(page(60, 200), HasSubstr("~13:00 needs 7.5 GiB more on GPU 0 (job 6)"));
}

TEST_F(Screens, TheChosenJobSaysItsWholeReason) {
  press("jjj");
  const std::string shown = page(24, 80);
  EXPECT_THAT(shown, HasSubstr("\n>7  large"));
  EXPECT_THAT(shown,
              HasSubstr("\njob 7: needs 20 GiB on one GPU; none of the 2 GPUs has room for it\n"));
}

TEST_F(Screens, SortAndFilter) {
  press("u");
  EXPECT_THAT(page(24, 80), AllOf(HasSubstr("only ann"), Not(HasSubstr(" 6  eval"))));
  press("u");
  EXPECT_THAT(page(24, 80), AllOf(HasSubstr("only bob"), Not(HasSubstr(" 5  train"))));
  press("u");
  EXPECT_THAT(page(24, 80), Not(HasSubstr("only")));
  press("ssss");
  const std::string by_vram = page(24, 80);
  EXPECT_THAT(by_vram, HasSubstr("by vram"));
  EXPECT_LT(by_vram.find(" 8  later"), by_vram.find(" 7  large"));
  EXPECT_LT(by_vram.find(" 7  large"), by_vram.find(" 5  train"));
}

TEST_F(Screens, CancelOnlyAfterAYes) {
  press("c");
  EXPECT_THAT(page(24, 80), HasSubstr("choose a job with the arrow keys first"));
  press("jc");
  EXPECT_THAT(page(24, 80), HasSubstr("cancel job 5 of ann? y or n"));
  EXPECT_FALSE(screen_.on_key({.letter = 'n'}).cancels);
  EXPECT_THAT(page(24, 80), HasSubstr("nothing was cancelled"));
  press("c");
  EXPECT_EQ(screen_.on_key({.letter = 'y'}).cancels, 5);
}

TEST_F(Screens, KeepFiguresOfADaemonThatIsAway) {
  screen_.set_trouble("no berthd answers");
  EXPECT_THAT(page(24, 80), AllOf(HasSubstr("! no berthd answers"), HasSubstr(" 5  train")));
}

TEST(Keys, AreReadOutOfPieces) {
  KeyReader reader;
  EXPECT_EQ(reader.take("q"), std::vector{Key{.letter = 'q'}});
  EXPECT_TRUE(reader.take("\x1b").empty());
  EXPECT_EQ(reader.take("[A"), (std::vector{Key{.letter = 0, .special = Special::Up}}));
  EXPECT_EQ(reader.take("\x1b[6~j"),
            (std::vector{Key{.letter = 0, .special = Special::PageDown}, Key{.letter = 'j'}}));
  EXPECT_TRUE(reader.take("\x1b[200~").empty()) << "not known";
}

class Top : public testing::Test {
 protected:
  Top() {
    daemon_.answer("GET /v1/gpus", two_gpus().dump());
    daemon_.answer("GET /v1/starts", R"({"starts":[]})");
    daemon_.answer("GET /v1/jobs", Json{{"jobs", jobs()}}.dump());
    daemon_.answer("POST /v1/jobs/5/cancel", R"({"id":5,"state":"stopping"})");
  }
  test::StartOptions terminal() const {
    return {.environment = {"BERTH_SOCKET=" + daemon_.socket(), "TERM=xterm"},
            .screen = test::Screen::Terminal,
            .directory = ""};
  }

  test::FakeDaemon daemon_;
};

TEST_F(Top, ShowsCancelsAndLeavesTheTerminalAsItWas) {
  test::Program top({"top"}, terminal());
  top.await_out("train");
  top.resize(40, 120);
  top.await_out("large");
  top.type("\x1b[Bc");
  top.await_out("y or n");
  top.type("y");
  top.await_out("is cancelled");
  daemon_.take("POST /v1/jobs/5/cancel");
  top.type("q");
  const test::Ran ran = top.wait();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, AllOf(StartsWith("\x1b[?1049h"), EndsWith("\x1b[?25h\x1b[?1049l")));
}

TEST_F(Top, LeavesTheTerminalAsItWasOnSignals) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 0), {SIGTERM, 128 + SIGTERM}}) {
    test::Program top({"top"}, terminal());
    top.await_out("train");
    EXPECT_FALSE(top.terminal_is_cooked());
    top.signal(signal);
    top.await_restored_terminal();
    const test::Ran ran = top.wait();
    EXPECT_EQ(ran.exit_code, code);
    EXPECT_THAT(ran.out, EndsWith("\x1b[?25h\x1b[?1049l"));
  }
}

TEST_F(Top, NeedsATerminal) {
  const test::Ran ran = test::berth({"top"}, {.environment = {"BERTH_SOCKET=" + daemon_.socket()}});
  EXPECT_EQ(ran.exit_code, test::kBadUsage);
  EXPECT_EQ(ran.err, "berth: top needs a terminal; use berth ls in a pipe\n");
}

}  // namespace
}  // namespace berth::cli
