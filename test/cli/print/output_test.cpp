// Goal: tables and pages read well on a terminal, and stay the same lines where they are piped.
// Method: fixed jobs and GPUs as text.
#include "cli/print/output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/print/amounts.hpp"
#include "cli/print/characters.hpp"
#include "cli/tell/gpu_text.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Look kPiped;

TEST(Tables, AlignAndLeaveNoBlanksAtTheEnd) {
  Table table({{"ID", Align::Right}, {"NAME"}, {"WHY"}});
  table.add({{"7"}, {"é"}, {""}});
  table.add({{"1234"}, {"longer"}, {"because"}});
  EXPECT_EQ(table.text(kPiped),
            "  ID  NAME    WHY\n"
            "   7  é\n"
            "1234  longer  because\n");
}

TEST(Tables, GoOnBelowWhatIsWritten) {
  Table table({{"ID", Align::Right}, {"NAME"}, {"WHY"}});
  table.add({{"7"}, {"long"}, {"x"}});
  EXPECT_EQ(table.text(kPiped), "ID  NAME  WHY\n 7  long  x\n");
  table.add({{"8"}, {"a"}, {"x"}});
  EXPECT_EQ(table.text(kPiped), " 8  a     x\n") << "as wide as before, no titles";
  table.add({{"1234"}, {"longer"}, {"x"}});
  EXPECT_EQ(table.text(kPiped), "1234  longer  x\n");
  EXPECT_EQ(table.text(kPiped), "");
}

TEST(Tables, BreakTheLastColumnAtTheTerminalsEdge) {
  Table table({{"ID"}, {"WHY"}});
  table.add({{"1"}, {"a reason that goes on"}});
  EXPECT_EQ(table.text({.terminal = true, .width = 14}),
            "ID  WHY\n"
            "1   a reason\n"
            "    that goes\n"
            "    on\n");
}

TEST(Tables, NarrowAndDropColumnsBeforeTheLastOneIsLost) {
  const auto text_at = [](std::size_t width) {
    Table table({{.title = "NAME", .least = 6},
                 {.title = "CLASS", .drop = 9},
                 {.title = "TIME", .drop = 1},
                 {"WHY"}});
    table.add({{"a-long-name-of-a-job"}, {"medium"}, {"1m00s"}, {"needs 7.5 GiB more on GPU 0"}});
    return table.text({.terminal = true, .width = width});
  };
  EXPECT_EQ(text_at(70),
            "NAME                  CLASS   TIME   WHY\n"
            "a-long-name-of-a-job  medium  1m00s  needs 7.5 GiB more on GPU 0\n");
  EXPECT_EQ(text_at(60),
            "NAME                  TIME   WHY\n"
            "a-long-name-of-a-job  1m00s  needs 7.5 GiB more on GPU 0\n");
  EXPECT_EQ(text_at(50),
            "NAME               TIME   WHY\n"
            "a-long-name-of-a…  1m00s  needs 7.5 GiB more on\n"
            "                          GPU 0\n")
      << "wide enough to be read";
  EXPECT_EQ(text_at(36),
            "NAME    WHY\n"
            "a-lon…  needs 7.5 GiB more on GPU 0\n");
}

TEST(Tables, HaveLinesBetweenRows) {
  Table table({{"ID"}, {"WHY"}});
  table.add({{"1"}, {"x"}});
  table.add_line({"    41 more wait likewise"});
  table.add({{"99"}, {"y"}});
  EXPECT_EQ(table.text(kPiped), "ID  WHY\n1   x\n    41 more wait likewise\n99  y\n");
}

TEST(Wrapped, BreaksBetweenWordsAndInLongOnes) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(wrapped("", 4), std::vector<std::string>{""});
  EXPECT_EQ(wrapped("日本語", 4), (std::vector<std::string>{"日本", "語"}));
}

TEST(Tables, PaintOnlyWhereColoursAreWelcome) {
  Table table({{"A"}});
  table.add({{"x", Colour::Red}});
  EXPECT_EQ(Table(table).text({.terminal = true, .colour = true}),
            "\x1b[1mA\x1b[0m\n\x1b[31mx\x1b[0m\n");
  EXPECT_EQ(table.text({.terminal = true}), "A\nx\n");
}

TEST(Printable, TakesControlCharactersOut) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f\t"), "a?[31m?b??");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m é"),
            "?31m é");
}

TEST(Printable, TakesOutWhatTurnsALineAroundOrEndsIt) {
  for (const char* const unsafe :
       {"\u202E", "\u2066", "\u200F", "\u061C", "\u2028", "\u2029", "\u0085"}) {
    EXPECT_EQ(printable("a" + std::string(unsafe) + "b"), "a?b");
  }
  EXPECT_EQ(printable("a\x9b"
                      "31m\xff\xe2\x82"),
            "a?31m???")
      << "bytes that are no UTF-8";
  EXPECT_EQ(printable("日本 é 👍"), "日本 é 👍");
}

TEST(Columns, AreThoseOfATerminal) {
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("e\u0301"), 1U) << "combines";
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 4), "日…");
  Table table({{"NAME"}, {"WHY"}});
  table.add({{"日本"}, {"x"}});
  table.add({{"abcd"}, {"y"}});
  EXPECT_EQ(table.text(kPiped), "NAME  WHY\n日本  x\nabcd  y\n");
}

TEST(JsonText, EscapesWhatMayHarmATerminal) {
  const Json json = {{"name", "a\x7f\u009b31m\u202E\u2028é"}};
  const std::string text = json_text(json);
  EXPECT_THAT(text, HasSubstr(R"("a\u007f\u009b31m\u202e\u2028é")"));
  EXPECT_EQ(parse_json(text), json) << "and means the same";
}

TEST(TerminalFilter, LeavesLinesAndColours) {
  const std::string text = "a\tb\rc\n\x1b[1;31mred\x1b[0m é\n";
  EXPECT_EQ(TerminalFilter().take(text), text);
}

TEST(TerminalFilter, TakesOutEverythingElse) {
  TerminalFilter filter;
  EXPECT_EQ(filter.take("\x1b[2J\x1b]0;title\x07\x1b[?1049h\x1bP\b\x7f\xc2\x9b"
                        "1m\u202e\x9b|"),
            "?[2J?]0;title??[?1049h?P???1m??|");
}

TEST(TerminalFilter, SeesWhatIsCutIntoPieces) {
  const std::string text = "x\x1b[1;31mred\x1b[2J é日\xc2\x9b!\n";
  const std::string whole = TerminalFilter().take(text);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    TerminalFilter filter;
    std::string shown = filter.take(text.substr(0, at));
    shown += filter.take(text.substr(at));
    EXPECT_EQ(shown, whole) << at;
  }
}

TEST(TerminalFilter, ShowsWhatNeverBecameWhole) {
  TerminalFilter filter;
  EXPECT_EQ(filter.take("a\x1b["), "a");
  EXPECT_EQ(filter.rest(), "??");
  EXPECT_EQ(filter.rest(), "");
  EXPECT_EQ(filter.take("\x1b[" + std::string(40, '1')), "?[" + std::string(40, '1'));
}

Json job(const char* text) { return *parse_json(text); }

std::string table_of(const std::vector<Json>& jobs, double now) {
  Table table = job_table();
  for (const Json& job : jobs) add_row(table, job, now);
  return table.text(kPiped);
}

TEST(JobTable, OfWhatIsWideSaysWhatKeepsJobsToTheirMemory) {
  Table table = job_table(Width::Wide);
  add_row(table, job(R"({"id":2,"state":"running","user":1,"name":"b","gpu_count":1,"gpus":[0],
                         "vram_bytes":1073741824,"class":"long","memory_limit":"driver",
                         "submitted_at":1,"started_at":700})"),
          1000, Width::Wide);
  add_row(table, job(R"({"id":3,"state":"queued","user":1,"name":"c","gpu_count":0,"gpus":[],
                         "class":"long","submitted_at":940,"started_at":null,"reason":"why"})"),
          1000, Width::Wide);
  EXPECT_EQ(table.text(kPiped),
            "ID  NAME  USER  STATE    GPUS  VRAM  CLASS   TIME  LIMIT   REASON\n"
            " 2  b     1     running  0       1G  long   5m00s  driver\n"
            " 3  c     1     queued   -        -  long   1m00s  -       why\n");
}

TEST(JobTable, HasRunningOnesFirst) {
  std::vector<Json> jobs = {
      job(R"({"id":5,"state":"done","exit_code":0,"user_name":"ann","name":"e","gpu_count":1,
              "gpus":[0],"vram_bytes":1073741824,"class":"short","submitted_at":1,
              "started_at":10,"ended_at":100})"),
      job(R"({"id":4,"state":"failed","exit_code":3,"user_name":"ann","name":"d","gpu_count":0,
              "gpus":[],"vram_bytes":null,"class":"short","submitted_at":1,"started_at":10,
              "ended_at":11,"note":"log capped"})"),
      job(R"({"id":3,"state":"queued","exit_code":null,"user_name":"bob","name":"",
              "command_line":"python t.py","gpu_count":2,"gpus":[],"vram_bytes":null,
              "class":"medium","submitted_at":940,"started_at":null,"reason":"GPU 0 is full"})"),
      job(R"({"id":2,"state":"running","user":1000,"name":"b","gpu_count":2,"gpus":[0,1],
              "vram_bytes":10737418240,"class":"long","submitted_at":1,"started_at":700})"),
  };
  sort_for_reading(jobs);
  EXPECT_EQ(table_of(jobs, 1000),
            "ID  NAME         USER  STATE    GPUS   VRAM  CLASS    TIME  REASON\n"
            " 2  b            1000  running  0,1     10G  long    5m00s\n"
            " 3  python t.py  bob   queued   x2    whole  medium  1m00s  GPU 0 is full\n"
            " 4  d            ann   failed   -         -  short      1s  exit 3: log capped\n"
            " 5  e            ann   done     0        1G  short   1m30s\n");
}

TEST(JobTable, SaysBrieflyWhyAndWhenAJobStarts) {
  const std::vector<Json> jobs = {
      job(R"-({"id":3,"state":"queued","user_name":"bob","name":"c","gpu_count":1,"gpus":[],
              "vram_bytes":8053063680,"class":"long","submitted_at":940,"reason":"in full",
              "reason_brief":"needs 7.5 GiB more on GPU 0 (job 2)","predicted_start_at":4600,
              "predicted_start_confidence":"estimate"})-"),
      job(R"({"id":4,"state":"timeout","exit_code":124,"user_name":"bob","name":"d","gpu_count":1,
              "gpus":[0],"vram_bytes":1,"class":"long","submitted_at":1,"started_at":1,
              "ended_at":91,"time_limit_seconds":90})")};
  EXPECT_THAT(table_of(jobs, 1000),
              AllOf(HasSubstr("  needs 7.5 GiB more on GPU 0 (job 2), ~" + clock_text(4600, 1000)),
                    HasSubstr("  reached its time limit of 1m30s\n"), HasSubstr("  7.5G  ")));
}

TEST(JobTable, SaysByWhenAJobStartsWhereALineHasRoom) {
  const std::vector<Json> jobs = {
      job(R"-({"id":3,"state":"queued","user_name":"bob","name":"c","gpu_count":1,"gpus":[],
              "vram_bytes":8053063680,"class":"long","submitted_at":940,
              "reason_brief":"needs 1 GiB more","predicted_start_at":4600,
              "predicted_by_at":8200,"predicted_start_confidence":"estimate",
              "hint":{"vram_bytes":1073741824}})-")};
  const std::string at = "  needs 1 GiB more, ~" + clock_text(4600, 1000);
  const std::string whole = at + ", by " + by_clock_text(8200, 1000) + "; now with --vram 1G\n";
  EXPECT_THAT(table_of(jobs, 1000), HasSubstr(whole));
  Table table = job_table();
  add_row(table, jobs.front(), 1000);
  const std::string roomy = table.text({.terminal = true, .width = 200});
  EXPECT_THAT(roomy, HasSubstr(whole));
  Table narrow = job_table();
  add_row(narrow, jobs.front(), 1000);
  const auto needed = columns_of(roomy.substr(roomy.find('\n') + 1)) - 1;  // but for the newline
  EXPECT_THAT(narrow.text({.terminal = true, .width = needed - 1}),
              AllOf(HasSubstr(at + "; now with --vram 1G\n"), Not(HasSubstr(", by "))));
}

TEST(StartText, SaysBothMomentsUnlessTheyLookAlike) {
  Json job = {{"predicted_start_at", 4600}, {"predicted_start_confidence", "estimate"}};
  const std::string at = clock_text(4600, 1000);
  EXPECT_EQ(start_text(job, 1000, StartForm::Interval), "~" + at);
  job["predicted_by_at"] = 4601;
  EXPECT_EQ(start_text(job, 1000, StartForm::Interval), "~" + at);
  job["predicted_by_at"] = 8200;
  EXPECT_EQ(start_text(job, 1000, StartForm::Interval),
            "~" + at + ", by " + by_clock_text(8200, 1000));
  EXPECT_EQ(start_text(job, 1000, StartForm::Moment), "~" + at);
  job["predicted_start_confidence"] = "bound";
  EXPECT_EQ(start_text(job, 1000, StartForm::Interval), "by " + by_clock_text(4600, 1000));
}

TEST(ClockText, SaysNoMoreThanIsNeeded) {
  setenv("TZ", "UTC", 1);
  tzset();
  constexpr double kNoon = 1'700'049'600;  // Wed 2023-11-15 12:00
  EXPECT_EQ(clock_text(kNoon + 3600, kNoon), "13:00");
  EXPECT_EQ(clock_text(kNoon + 86400, kNoon), "Thu 12:00");
  EXPECT_EQ(clock_text(kNoon + 30 * 86400.0, kNoon), "15 Dec");
  EXPECT_EQ(clock_text(1e300, kNoon), "-");
  EXPECT_EQ(by_clock_text(kNoon, kNoon), "12:00");
  EXPECT_EQ(by_clock_text(kNoon + 1, kNoon), "12:01") << "a bound is not before the instant";
}

TEST(JobPage, SaysHowLongTheLatestRunTookAndWasSuspended) {
  const auto page = [](const std::string& more) {
    const std::string text =
        R"({"id":42,"state":"timeout","started_at":100,"ended_at":110,)" + more;
    return job_page(*parse_json(text + "}"), 200, kPiped);
  };
  EXPECT_THAT(page(R"("run_started_at":100,"run_seconds":6)"), HasSubstr("  6s, suspended 4s\n"));
  EXPECT_THAT(page(R"("run_started_at":100,"run_seconds":9.9)"), HasSubstr("  9s\n"));
  EXPECT_THAT(page(R"("run_started_at":105,"run_seconds":5)"),
              HasSubstr("  5s, since its latest start\n"));
  EXPECT_THAT(page(R"("note":"")"), HasSubstr("  10s\n"));
}

TEST(OutcomeText, SaysEachThingOnce) {
  EXPECT_EQ(outcome_text(job(R"({"state":"done","exit_code":0})")), "done");
  EXPECT_EQ(outcome_text(job(R"({"state":"failed","exit_code":3,"note":"n"})")),
            "failed: exit 3: n");
  EXPECT_EQ(outcome_text(job(R"({"state":"oom","note":"ran out of GPU memory, asked 4 GiB"})")),
            "out of GPU memory: asked 4 GiB");
  EXPECT_EQ(outcome_text(job(R"({"state":"cancelled",
                                 "note":"cancelled, because bob (uid 7) asked for that"})")),
            "cancelled: because bob (uid 7) asked for that");
  EXPECT_EQ(outcome_text(job(R"({"state":"timeout","time_limit_seconds":1})")),
            "reached its time limit of 1s");
}

TEST(MemoryAdvice, IsGivenWhereItChangesSomething) {
  const auto advice = [](const std::string& more) {
    return memory_advice(*parse_json(R"({"state":"done")" + more + "}"));
  };
  const std::string peak = R"(,"peak_bytes":11811160064)";  // 11 GiB
  EXPECT_EQ(advice(peak + R"(,"vram_bytes":42949672960)"),
            "asked 40 GiB, peak 11 GiB: next time --vram 13G");
  EXPECT_EQ(advice(peak + R"(,"vram_bytes":null)"),
            "asked for no amount, peak 11 GiB: next time --vram 13G");
  EXPECT_EQ(advice(peak + R"(,"vram_bytes":15032385536)"), "") << "14 GiB is near enough";
  EXPECT_EQ(advice(peak + R"(,"vram_bytes":2147483648)"),
            "asked 2 GiB, peak 11 GiB: next time --vram 13G");
  EXPECT_EQ(advice(R"(,"vram_bytes":1)"), "") << "no peak is known";
  EXPECT_EQ(advice(R"(,"peak_bytes":1073741824,"vram_bytes":null)"),
            "asked for no amount, peak 1 GiB: next time --vram 1536M");
}

TEST(MemoryAdvice, OfAJobThatRanOutIsMoreThanItHadUnlessAnotherTookIt) {
  const auto advice = [](const std::string& more) {
    return memory_advice(*parse_json(R"({"state":"oom")" + more + "}"));
  };
  EXPECT_EQ(advice(R"(,"vram_bytes":2147483648,"note":"ran out of GPU memory, asked 2 GiB")"),
            "it needs more than 2 GiB: next time more, such as --vram 4G, or --retries 2, which "
            "starts it again with more");
  EXPECT_THAT(advice(R"(,"vram_bytes":2147483648,"peak_bytes":11811160064,
                        "note":"ended: it held 11 GiB on GPU 0, was granted 2.3 GiB, and")"),
              HasSubstr("more than 11 GiB: next time more, such as --vram 19G"));
  EXPECT_EQ(advice(R"(,"vram_bytes":2147483648,"note":"ran out of GPU memory")"), "");
  EXPECT_EQ(advice(R"(,"note":"ran out of GPU memory, asked 2 GiB")"), "") << "had a whole GPU";
}

TEST(JobTable, TakesAnyNonsense) {
  const std::vector<Json> jobs = {job("null"), job("[1]"), job(R"({"id":"x","state":7,"gpus":"y",
      "vram_bytes":"z","submitted_at":"never","exit_code":1e99,"user":{},"name":["a"]})"),
                                  job(R"({"id":18446744073709551615,"started_at":-1e308})")};
  EXPECT_THAT(table_of(jobs, 0), HasSubstr("ID"));
  for (const Json& one : jobs) EXPECT_NO_FATAL_FAILURE(job_page(one, 0, kPiped));
  EXPECT_THAT(
      gpu_page(job(R"({"gpus":[null,{"tenants":[1],"foreign":[[]],"used_bytes":-1}]})"), kPiped),
      HasSubstr("GPU 0"));
}

TEST(JobPage, HasAttemptsAndReports) {
  const std::string page = job_page(
      job(R"({"id":42,"state":"running","command":["sh","-c","echo 'a b'"],"directory":"/d",
              "user_name":"ann","gpus":[1],"gpu_count":1,"vram_bytes":1073741824,
              "charge_bytes":2147483648,"used_bytes":{"1":536870912},"class":"long",
              "attempts":[{"attempt":1,"started_at":0,"gpus":[1],"outcome":"lost","exit_code":9}],
              "reports":{"loss":0.25,"step":120}})"),
      10, kPiped);
  EXPECT_THAT(page, AllOf(HasSubstr("command       sh -c 'echo '\\''a b'\\'''\n"),
                          HasSubstr("used          512 MiB on GPU 1\n"),
                          HasSubstr("charged       2 GiB\n"), HasSubstr("lost (9)"),
                          HasSubstr("  loss 0.25\n  step 120\n"), Not(HasSubstr("exit code"))));
}

/// Not the shell that keeps it (clients/slurm/slurm_commands/sbatch.py).
TEST(JobPage, OfABatchScriptNamesTheScript) {
  const auto command = [](const std::string& asked, const std::string& text) {
    const Json words = {"/bin/sh",
                        "-c",
                        "# berth's keeper of a batch script\n# asked " + asked + "\ndeafen() {\n",
                        "train",
                        text,
                        "",
                        ":/dev/null",
                        "",
                        "",
                        "--lr",
                        "1"};
    const std::string page = job_page({{"id", 1}, {"command", words}}, 0, kPiped);
    const std::size_t line = page.find("command ");
    return page.substr(line, page.find('\n', line) - line);
  };
  EXPECT_EQ(command(R"({"script": "/d/job.sh"})", "#!/bin/bash\ntrue\n"),
            "command       sbatch /d/job.sh --lr 1");
  EXPECT_EQ(command("{}", "#!/bin/bash\ntrue\n"), "command       sbatch train --lr 1");
  EXPECT_EQ(
      command("{}", "#!/bin/sh\n# This script was created by sbatch --wrap.\n\npython t.py\n"),
      "command       sbatch --wrap 'python t.py' --lr 1");
  EXPECT_THAT(command("nonsense", "x"), HasSubstr("sbatch train"));
}

TEST(JobPage, OfATaskSaysWhichAndOfHowMany) {
  const std::string page = job_page(
      job(R"({"id":21,"state":"running","array":20,"array_task":3,"array_tasks":2})"), 10, kPiped);
  EXPECT_THAT(page, HasSubstr("20, task 3, one of 2\n"));
}

TEST(JobTable, OfAnArraySaysWhatItsTasksSay) {
  const std::vector<Json> jobs = {
      job(R"({"id":20,"state":"running","user_name":"bob","name":"c","gpu_count":1,"gpus":[0],
              "tasks":{"running":2},"array_tasks":2,"submitted_at":940,"started_at":950,
              "tasks_note":"1 task: idle: it has used none of its GPUs since 12:00:00"})"),
      job(R"({"id":30,"state":"cancelled","exit_code":137,"user_name":"bob","name":"d",
              "gpu_count":0,"gpus":[],"tasks":{"cancelled":2},"array_tasks":2,"submitted_at":940,
              "ended_at":950,"note":"cancelled, because ann (uid 7) asked for that"})")};
  EXPECT_THAT(table_of(jobs, 1000),
              AllOf(HasSubstr("  0 of 2 done, 2 running; 1 task: idle: it has used none of its "
                              "GPUs since 12:00:00\n"),
                    HasSubstr("  0 of 2 done, 2 cancelled; because ann (uid 7) asked for that\n")));
}

TEST(JobPage, SaysWhereAnEstimateIsFrom) {
  const auto page = [](const std::string& more) {
    const std::string text = R"({"id":42,"state":"queued","estimate_seconds":4200)" + more + "}";
    return job_page(job(text.c_str()), 10, kPiped);
  };
  const std::string text = elapsed_text(4200);
  EXPECT_THAT(page(""), HasSubstr("estimate      " + text + "\n"));
  EXPECT_THAT(page(R"(,"estimate_learned_from":12)"),
              HasSubstr("estimate      " + text + " (learned from 12 runs of this program)\n"));
  EXPECT_THAT(page(R"(,"estimate_learned_from":1)"),
              HasSubstr(" (learned from 1 run of this program)\n"));
  EXPECT_THAT(job_page(job(R"({"id":42,"state":"queued"})"), 10, kPiped),
              HasSubstr("estimate      unknown\n"));
  EXPECT_THAT(job_page(job(R"({"id":42,"state":"done"})"), 10, kPiped), Not(HasSubstr("estimate")));
}

TEST(GpuPage, NamesTenantsAndForeignProcesses) {
  const Json answer = job(
      R"({"gpus":[{"index":1,"name":"X","capacity_bytes":1000,"used_bytes":600,"charged_bytes":700,
          "foreign_bytes":100,"headroom_bytes":200,"utilisation_percent":40,"healthy":false,
          "problem":"ECC","pressure":true,
          "tenants":[{"job":7,"name":"t","user_name":"ann","charge_bytes":700,"used_bytes":null}],
          "foreign":[{"pid":99,"name":"xorg","user_name":"bob","bytes":100},
                     {"pid":null,"name":"Slurm job 12","user_name":"","bytes":50}]}]})");
  EXPECT_EQ(gpu_page(answer, kPiped),
            "GPU 1  X  600 B used of 1000 B, 700 B charged, 100 B foreign, 200 B free to charge, "
            "40 % busy, unhealthy: ECC, under pressure\n"
            "  job 7  t  ann  700 B charged\n"
            "  foreign process 99  xorg  bob  100 B\n"
            "  foreign: Slurm job 12  50 B\n");
  EXPECT_THAT(gpu_page(answer, {.terminal = true}), HasSubstr("["));
}

TEST(GpuPage, NamesTheNearestGpus) {
  const auto page = [](const std::string& links) {
    const std::string text = R"({"gpus":[{"index":0,"name":"X","links":)" + links + "}]}";
    return gpu_page(job(text.c_str()), kPiped);
  };
  EXPECT_THAT(page(R"([{"gpu":1,"nvlinks":0,"path":"one PCIe switch","distance":4000},
                       {"gpu":3,"nvlinks":4,"path":"4 NVLinks","distance":800}])"),
              HasSubstr("\n  nearest: GPU 3, by 4 NVLinks\n"));
  EXPECT_THAT(page(R"([{"gpu":1,"nvlinks":18,"path":"18 NVLinks","distance":177},
                       {"gpu":2,"nvlinks":18,"path":"18 NVLinks","distance":177}])"),
              HasSubstr("  nearest: GPU 1, 2, by 18 NVLinks\n"));
  EXPECT_THAT(page(R"([{"gpu":1,"nvlinks":0,"path":"one PCIe switch","distance":4000}])"),
              Not(HasSubstr("nearest")))
      << "all others are as near";
  for (const char* nonsense : {"[]", "[1]", "7", R"([{"gpu":"x"},{}])"}) {
    EXPECT_NO_FATAL_FAILURE(page(nonsense));
  }
}

TEST(Folded, BreaksBetweenWordsAndHangsBelowTheText) {
  const Look narrow{.terminal = true, .width = 20};
  EXPECT_EQ(folded("short\n", narrow), "short\n");
  EXPECT_EQ(folded("  --vram   one two three four\n", {.terminal = true, .width = 24}),
            "  --vram   one two three\n"
            "           four\n");
  EXPECT_EQ(folded("one two three four five\nsix\n", narrow),
            "one two three four\n    five\nsix\n");
  EXPECT_EQ(folded("\x1b[1mGPU 0\x1b[0m  X  [####....]  1 GiB\n", narrow),
            "\x1b[1mGPU 0\x1b[0m  X  [####....]\n       1 GiB\n")
      << "colours take no columns";
  EXPECT_EQ(folded("aaaaaaaaaaaaaaaaaaaaaaaaaaaa b\n", narrow),
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n    b\n");
  EXPECT_EQ(folded("one two three four five", kPiped), "one two three four five");
}

TEST(Folded, PagesToo) {
  Page page({.terminal = true, .width = 40});
  page.line("reason", "needs 8 GiB on one GPU; none of the 2 GPUs has room for it");
  EXPECT_EQ(page.text(),
            "reason        needs 8 GiB on one GPU;\n"
            "              none of the 2 GPUs has\n"
            "              room for it\n");
}

TEST(EnergyText, IsInWattHours) {
  EXPECT_EQ(energy_text(std::nullopt), "");
  EXPECT_EQ(energy_text(900.0), "0.25 Wh");
  EXPECT_EQ(energy_text(360'000.0), "100.0 Wh");
  EXPECT_EQ(energy_text(9e6), "2.50 kWh");
  EXPECT_EQ(energy_text(-1.0), "");
}

TEST(MemoryBar, ShowsUsedChargedForeignAndFree) {
  EXPECT_EQ(memory_bar({.capacity = 10, .used = 3, .charged = 5, .foreign = 1}, 10, kPiped),
            "[###==x....]");
  EXPECT_EQ(memory_bar({.capacity = 0}, 4, kPiped), "[....]");
  EXPECT_EQ(memory_bar({.capacity = 1, .used = 9, .charged = 9, .foreign = 9}, 4, kPiped),
            "[####]");
}

}  // namespace
}  // namespace berth::cli
