// Goal: `ls` reads well in every form: folded, with totals, sorted, as chosen members.
// Method: fixed jobs through each writer, as text.
#include "cli/tell/list_writers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/paths.hpp"

namespace berth::cli {
namespace {

using testing::HasSubstr;

Json waiting(int id, const std::string& user, const std::string& why) {
  return {{"id", id},
          {"state", "queued"},
          {"user", user == "ann" ? 1 : 2},
          {"user_name", user},
          {"name", "j" + std::to_string(id)},
          {"gpu_count", 1},
          {"gpus", Json::array()},
          {"vram_bytes", std::int64_t{1} << 30},
          {"class", "medium"},
          {"submitted_at", 940},
          {"reason_brief", why}};
}

Json running(int id) {
  Json job = waiting(id, "bob", "");
  job["state"] = "running";
  job["gpus"] = {0};
  job["started_at"] = 700;
  return job;
}

Json ended(int id) {
  Json job = running(id);
  job["state"] = "done";
  job["exit_code"] = 0;
  job["ended_at"] = 760;
  return job;
}

/// What the writer that `make` makes writes of these jobs.
template <class Make>
std::string written(const std::vector<Json>& jobs, Make make) {
  std::string text;
  const std::unique_ptr<ListWriter> writer = make([&](std::string_view part) {
    text += part;
    return 0;
  });
  EXPECT_EQ(writer->add(jobs), 0);
  EXPECT_EQ(writer->finish(), 0);
  return text;
}

std::string table_text(const std::vector<Json>& jobs, const TableForm& form) {
  return written(jobs, [&](const auto& out) { return table_writer(out, form, 1000); });
}

const std::vector<Json> kQueue = {running(1),
                                  waiting(2, "ann", "needs 1 GiB more"),
                                  waiting(3, "bob", "needs 1 GiB more"),
                                  waiting(4, "ann", "needs 1 GiB more"),
                                  waiting(5, "bob", "waits its turn"),
                                  waiting(6, "ann", "needs 1 GiB more"),
                                  waiting(7, "bob", "waits its turn"),
                                  ended(8)};

TEST(ListTable, FoldsJobsOfOneUserThatWaitAlike) {
  EXPECT_EQ(table_text(kQueue, {.folds = true, .has_totals = true}),
            "ID  NAME  USER  STATE    GPUS  VRAM  CLASS    TIME  REASON\n"
            " 1  j1    bob   running  0       1G  medium  5m00s\n"
            " 2  j2    ann   queued   x1      1G  medium  1m00s  needs 1 GiB more\n"
            "    2 more wait likewise (jobs 4 to 6)\n"
            " 3  j3    bob   queued   x1      1G  medium  1m00s  needs 1 GiB more\n"
            " 5  j5    bob   queued   x1      1G  medium  1m00s  waits its turn\n"
            " 7  j7    bob   queued   x1      1G  medium  1m00s  waits its turn\n"
            " 8  j8    bob   done     0       1G  medium  1m00s\n"
            "8 jobs: 1 running, 6 queued, 1 done; 2 users\n");
}

TEST(ListTable, OnATerminalWhatRunsIsWrittenBeforeItIsKnownWhenTheOthersStart) {
  std::string text;
  const auto writer = table_writer(
      [&](std::string_view part) {
        text += part;
        return 0;
      },
      {.look = {.terminal = true}, .folds = true, .has_totals = true}, 1000);
  std::vector<Json> coming = {waiting(200, "ann", "needs 1 GiB more")};
  coming.front()["name"] = "a-long-name";
  EXPECT_EQ(writer->begin({running(1)}, coming), 0);
  const std::string first =
      " ID  NAME         USER  STATE    GPUS  VRAM  CLASS    TIME  REASON\n"
      "  1  j1           bob   running  0       1G  medium  5m00s\n";
  EXPECT_EQ(text, first);
  coming.front()["predicted_start_at"] = 4000;
  EXPECT_EQ(writer->add(coming), 0);
  EXPECT_EQ(writer->finish(), 0);
  EXPECT_EQ(text, first +
                      "200  a-long-name  ann   queued   x1      1G  medium  1m00s  needs 1 GiB "
                      "more, ~" +
                      clock_text(4000, 1000) + "\n2 jobs: 1 running, 1 queued; 2 users\n");
}

TEST(ListTable, MarksMemoryThatIsLearnedAndSaysSo) {
  Json learned = running(1);
  learned["vram_bytes"] = nullptr;
  learned["vram_learned_bytes"] = std::int64_t{8} << 30;
  Json whole = running(2);
  whole["vram_bytes"] = nullptr;
  EXPECT_EQ(table_text({learned, whole}, {.has_totals = true}),
            "ID  NAME  USER  STATE    GPUS   VRAM  CLASS    TIME  REASON\n"
            " 1  j1    bob   running  0       8G*  medium  5m00s\n"
            " 2  j2    bob   running  0     whole  medium  5m00s\n"
            "2 jobs: 2 running; 1 user; * memory learned from earlier runs\n");
}

TEST(ListTable, HasARowForEachWhereItIsNotFolded) {
  const std::string text = table_text(kQueue, {});
  EXPECT_EQ(std::ranges::count(text, '\n'), 9) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("likewise")));
}

TEST(ListTable, SaysWhenTheLastOfManyStarts) {
  std::vector<Json> jobs = {waiting(2, "ann", "r"), waiting(3, "ann", "r"), waiting(4, "ann", "r")};
  jobs[1]["predicted_start_at"] = 5000;
  jobs[2]["predicted_start_at"] = 4000;
  EXPECT_THAT(table_text(jobs, {.folds = true}),
              HasSubstr("2 more wait likewise (jobs 3 to 4), the last ~" + clock_text(5000, 1000)));
}

TEST(ListTable, FoldsHeldJobsThoughEachNamesItself) {
  std::vector<Json> jobs;
  for (int id = 1; id <= 4; ++id) {
    jobs.push_back(
        waiting(id, "ann", "held; to let it start: berth release " + std::to_string(id)));
    jobs.back()["state"] = "held";
  }
  EXPECT_THAT(table_text(jobs, {.folds = true}), HasSubstr("3 more wait likewise (jobs 2 to 4)"));
}

TEST(ListTable, NeverLosesTheReasonAt60Columns) {
  Json job =
      waiting(7, "ann", "needs 7.5 GiB more on GPU 0 (job 3; non-berth python of eve, 8 GiB)");
  job["name"] = "python3 -c 'import time; time.sleep(1000)' --and --more";
  job["predicted_start_at"] = 4000;
  const std::string text =
      table_text({job}, {.look = {.terminal = true, .width = 60}, .folds = true});
  std::istringstream lines(text);
  std::string words;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns_of(line), 60U) << line;
    const std::size_t begin = line.rfind("  ");
    words += " " + line.substr(begin == std::string::npos ? 0 : begin + 2);
  }
  EXPECT_THAT(words, HasSubstr("REASON"));
  for (const char* const part : {"needs 7.5 GiB", "GPU 0", "python", "eve", "8 GiB", "~"}) {
    EXPECT_THAT(words, HasSubstr(part)) << text;
  }
}

TEST(ListFormat, PrintsMembersBetweenTabsOrInAText) {
  const auto text = [](const std::string& format) {
    return written({waiting(7, "ann", "r")}, [&](const auto& out) {
      auto writer = format_writer(out, format);
      EXPECT_TRUE(writer) << writer.error().message;
      return std::move(*writer);
    });
  };
  EXPECT_EQ(text("id,state,exit_code,gpus"), "7\tqueued\t-\t[]\n");
  EXPECT_EQ(text("job {id} of {user_name}."), "job 7 of ann.\n");
  for (const char* const wrong : {"", "id,,state", "{", "{id", "id}", "{}"}) {
    EXPECT_FALSE(format_writer([](std::string_view) { return 0; }, wrong)) << wrong;
  }
}

TEST(ListFormat, RefusesAMemberThatNoJobHas) {
  const auto refusal = [](const std::string& format) {
    const auto made = format_writer([](std::string_view) { return 0; }, format);
    return made ? "taken" : made.error().message;
  };
  for (const char* const fine : {"id,reason,hint,peak_bytes", "{priority}", "command,status"}) {
    EXPECT_EQ(refusal(fine), "taken");
  }
  for (const char* const wrong : {"id,sate", "{sate}"}) {
    EXPECT_THAT(refusal(wrong), HasSubstr("--format: sate: no such member; did you mean state?; "
                                          "valid members: id, state, exit_code, "));
  }
  const std::string text =
      written({{{"id", 7}, {"state", "done"}, {"command_line", "a b"}}},
              [](const auto& out) { return std::move(*format_writer(out, "command,status")); });
  EXPECT_EQ(text, "a b\tdone\n");
}

TEST(ListFormat, KnowsTheMembersOfThePage) {
  std::istringstream page(test::read_file(test::source_dir() / "doc/openapi.yaml"));
  std::vector<std::string> named = {"predicted_start_at", "predicted_start_confidence",
                                    "predicted_by_at", "predicted_end_at", "hint"};
  std::string part;
  for (std::string line; std::getline(page, line);) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at == 4) part = line;
    if (at != 8 || (part != "    Job:" && part != "    Array:")) continue;
    if (!line.contains(": {")) continue;
    const std::string name = line.substr(8, line.find(':') - 8);
    const bool is_detail = name == "failed_tasks" || name == "notify_failure";
    if (!is_detail && std::ranges::find(named, name) == named.end()) named.push_back(name);
  }
  EXPECT_THAT(job_members(), testing::UnorderedElementsAreArray(named));
}

TEST(ListSort, OrdersByAKeyEitherWay) {
  const auto order = [](const std::string& key) {
    return written({waiting(2, "bob", ""), waiting(1, "bob", ""), waiting(3, "ann", "")},
                   [&](const auto& out) {
                     auto ids = format_writer(out, "{id}");
                     return std::move(*sorting_writer(std::move(*ids), key));
                   });
  };
  EXPECT_EQ(order("id"), "1\n2\n3\n");
  EXPECT_EQ(order("-id"), "3\n2\n1\n");
  EXPECT_EQ(order("user"), "3\n2\n1\n") << "of one user as they came";
  const auto wrong = sorting_writer(json_writer([](std::string_view) { return 0; }), "size");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("--sort size: no such key; valid keys: id, name"));
}

TEST(ListTotals, OfNothing) { EXPECT_EQ(ListTotals().text(), "no jobs"); }

}  // namespace
}  // namespace berth::cli
