// Goal: an array is one thing under its number and its name, for every request, while it waits,
// runs, and when it has ended; and it ends as a whole, without a task that starts only to be
// killed. Method: a real berthd with real jobs that leave a file each when they start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "daemon/rig.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::Json;
using test::Ran;
using test::Rig;
using testing::HasSubstr;

class Arrays : public testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  void TearDown() override { rig_.folder().write("go", ""); }

  /// Its tasks leave a file when they start, end well once there is a file `go`, and with 3 if
  /// their number is 2.
  int submit(const std::string& array, Json more = Json::object()) {
    more.update(test::kNoGpus);
    more.erase("vram_bytes");
    more["command"] = {"sh", "-c",
                       "> began-$BERTH_ARRAY_TASK_ID; while [ ! -e go ]; do sleep 0.01; done; "
                       "[ $BERTH_ARRAY_TASK_ID != 2 ] || exit 3; echo $BERTH_ARRAY_TASK_ID"};
    more["directory"] = rig_.folder().path().string();
    more["environment"] = {"PATH=/bin:/usr/bin"};
    more["array"] = array;
    if (!more.contains("name")) more["name"] = "sweep";
    const Rig::Answer answer = rig_.request("POST", "/v1/jobs", more);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.body["id"];
  }
  std::size_t began() const {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(rig_.folder().path())) {
      files += entry.path().filename().string().starts_with("began-") ? 1 : 0;
    }
    return files;
  }
  Json get(const std::string& target) { return rig_.request("GET", target).body; }
  Rig::Answer post(const std::string& target, const Json& body = {}) {
    return rig_.request("POST", target, body);
  }
  Ran berth(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, {"--socket", rig_.socket()});
    return test::run_program("berth", words);
  }
  static std::string task(int array, int number) {
    return std::to_string(array) + "_" + std::to_string(number);
  }

  Rig rig_;
};

TEST_F(Arrays, TheNumberThatSubmitPrintsIsAllOfIt) {
  const int array = submit("1-6%2");
  const std::string number = std::to_string(array);
  test::eventually("two run", [&] { return get("/v1/jobs/" + number)["tasks"]["running"] == 2; });
  const Json row = get("/v1/jobs/" + number);
  EXPECT_EQ(row["state"], "running");
  EXPECT_EQ(row["name"], "sweep");
  EXPECT_EQ(row["tasks"], (Json{{"running", 2}, {"deferred", 4}}));
  EXPECT_EQ(row["array_tasks"], 6);
  EXPECT_EQ(row["exit_code"], nullptr);
  const Json why = get("/v1/jobs/" + number + "/why");
  EXPECT_EQ(why["id"], array + 2) << "of the next";
  EXPECT_EQ(why["handle"], task(array, 3));
  EXPECT_EQ(get("/v1/jobs?whole_arrays=true")["jobs"].size(), 1U);
  EXPECT_EQ(get("/v1/jobs")["jobs"].size(), 6U);
  EXPECT_EQ(get("/v1/jobs?jobs=" + number)["jobs"].size(), 6U);
  EXPECT_EQ(get("/v1/jobs/" + number + "/log")["error"],
            "array " + number + " is 6 jobs; name one, as " + number + "_1");
  EXPECT_EQ(get("/v1/jobs/" + task(array, 9))["error"],
            task(array, 9) + ": array " + number + " has no task 9");
  EXPECT_EQ(get("/v1/jobs/" + task(array, 5))["id"], array + 4);
  EXPECT_EQ(get("/v1/jobs/" + task(array, 1))["handle"], task(array, 1));
  rig_.kill();
  rig_.start();
  rig_.folder().write("go", "");
  const Ran waited = berth({"wait", number});
  EXPECT_EQ(waited.exit_code, 3) << waited.err;
  EXPECT_EQ(waited.out,
            "job " + task(array, 2) + " failed: exit 3\narray " + number + ": 5 done, 1 failed\n");
  const Json ended = get("/v1/jobs/" + number);
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_EQ(get("/v1/jobs/" + number + "/why"),
            (Json{{"id", array}, {"state", "failed"}, {"reason", "it has ended as failed"}}));
  EXPECT_EQ(ended["exit_code"], 3);
  EXPECT_EQ(ended["tasks"], (Json{{"done", 5}, {"failed", 1}}));
  EXPECT_EQ(ended["failed_tasks"].size(), 1U);
  EXPECT_EQ(ended["failed_tasks"][0]["handle"], task(array, 2));
  EXPECT_EQ(get("/v1/jobs?only=ended&whole_arrays=true")["jobs"].size(), 1U);
  EXPECT_EQ(berth({"logs", task(array, 4)}).out, "4\n");
  EXPECT_THAT(berth({"ls", "--all"}).out, HasSubstr("5 of 6 done, 1 failed"));
  EXPECT_EQ(post("/v1/jobs/" + number + "/cancel").body["error"],
            "array " + number + ": has ended already");
}

/// The rig looks at the turns of the engine's thread.
TEST_F(Arrays, HaveOneRowWithoutALookAtEachTask) {
  const int array = submit("0-4095", {{"held", true}});
  const Json rows = get("/v1/jobs?whole_arrays=true&jobs=" + task(array, 7) +
                        "&jobs=" + std::to_string(array))["jobs"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["tasks"], (Json{{"held", 4096}}));
}

TEST_F(Arrays, ACancelEndsThoseThatWaitFirstSoThatNoneStarts) {
  const int array = submit("1-4096%3");
  test::eventually("three began", [&] { return began() == 3; });
  const Rig::Answer answer = post("/v1/jobs/" + std::to_string(array) + "/cancel");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body["jobs"].size(), 4096U) << answer.body["refused"];
  EXPECT_EQ(answer.body["jobs"][0]["state"], "cancelled");
  EXPECT_EQ(answer.body["jobs"][4095]["state"], "stopping");
  test::eventually("it ends", [&] {
    return get("/v1/jobs/" + std::to_string(array))["tasks"]["cancelled"] == 4096;
  });
  EXPECT_EQ(began(), 3U);
}

TEST_F(Arrays, ACancelThatAKillOfBerthdCutShortGoesOnAtTheNextStart) {
  const int array = submit("1-4096%3");
  const auto tasks = [&] { return get("/v1/jobs/" + std::to_string(array))["tasks"]; };
  test::eventually("three began", [&] { return began() == 3; });
  std::thread cancel([&] { berth({"cancel", std::to_string(array)}); });
  test::eventually("the cancel is under way",
                   [&] { return tasks().value("held", 0) + tasks().value("cancelled", 0) > 0; });
  rig_.kill();
  cancel.join();
  rig_.start();
  test::eventually("it ends", [&] { return tasks()["cancelled"] == 4096; });
  EXPECT_EQ(began(), 3U);
}

TEST_F(Arrays, ANameAndAllOfAUsersAreCancelledLikewise) {
  submit("1-6%1");
  submit("11-16%1", {{"name", "other"}});
  test::eventually("each began", [&] { return began() == 2; });
  const Ran named = berth({"cancel", "sw*"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.out, "array 1: 5 cancelled, 1 stopping\n");
  EXPECT_EQ(post("/v1/cancel").body["jobs"].size(), 6U);
  test::eventually("all end", [&] { return get("/v1/jobs")["jobs"].empty(); });
  EXPECT_EQ(began(), 2U);
}

TEST_F(Arrays, AreHeldReleasedAndChangedAsAWholeOrInPart) {
  const int array = submit("1-6%1", {{"held", true}});
  const std::string number = std::to_string(array);
  const auto states = [&](const std::string& state) {
    return get("/v1/jobs/" + number)["tasks"].value(state, 0);
  };
  EXPECT_EQ(states("held"), 6);
  EXPECT_EQ(berth({"update", number, "--name", "new", "--time", "1h"}).out,
            "array " + number + ": 6 updated, held\n");
  EXPECT_EQ(get("/v1/jobs/" + task(array, 3))["name"], "new[3]");
  EXPECT_EQ(get("/v1/jobs/" + task(array, 3))["time_limit_seconds"], 3600);
  EXPECT_EQ(berth({"release", number + "_2-3"}).exit_code, 0);
  test::eventually("one runs", [&] { return states("running") == 1; });
  EXPECT_EQ(states("held"), 4);
  EXPECT_EQ(berth({"update", number, "--priority", "5"}).out,
            "array " + number + ": 5 updated: 1 deferred, 4 held\n" + "array " + number +
                ": 1 other unchanged\n");
  EXPECT_EQ(berth({"hold", number + "_[3,5-6]"}).exit_code, 0) << "what is held already is left";
  EXPECT_EQ(states("held"), 5);
  EXPECT_EQ(berth({"hold", task(array, 2)}).err,
            "berth: job " + task(array, 2) + ": is running, only a job that waits can be held\n");
  EXPECT_EQ(berth({"release", "new"}).exit_code, 0);
  EXPECT_EQ(states("held"), 0);
}

TEST_F(Arrays, AreWaitedForByOthersAsAWholeAndByTask) {
  const int array = submit("1-3");
  const std::string number = std::to_string(array);
  const auto after = [&](const std::string& handle) {
    const Ran ran = berth({"submit", "--gpus", "0", "--after-any", handle, "--", "true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Json job = get("/v1/jobs/" + std::to_string(std::stoi(ran.out)));
    return std::pair(job["after"].size(), job["reason"].get<std::string>());
  };
  const auto tasks = [&](const std::string& count) {
    return "waits for " + count + " tasks of array " + number + " to end";
  };
  EXPECT_EQ(after(number), std::pair(std::size_t{3}, tasks("3")));
  EXPECT_EQ(after(number + "_*"), std::pair(std::size_t{3}, tasks("3")));
  EXPECT_EQ(after(number + "_2"),
            std::pair(std::size_t{1}, "waits for job " + number + "_2 to end"));
  EXPECT_EQ(after(number + "_[1,3]"), std::pair(std::size_t{2}, tasks("2")));
}

TEST_F(Arrays, AreTheSameByTheirNameAndByTheirNumber) {
  const std::string number = std::to_string(submit("1-3%1"));
  for (const char* const more : {"", "/why"}) {
    const Rig::Answer by_name = rig_.request("GET", std::string("/v1/jobs/sweep") + more);
    ASSERT_EQ(by_name.status, 200) << by_name.body;
    EXPECT_EQ(by_name.body["id"], get("/v1/jobs/" + number + more)["id"]);
  }
  EXPECT_EQ(get("/v1/jobs/sweep")["array_tasks"], 3);
}

/// Whether it ended before the other was submitted or after.
TEST_F(Arrays, ATaskIsCalledByItsHandleWhereItKeepsAJobFromStarting) {
  const int array = submit("1-3");
  Json more = test::kNoGpus;
  more["after"] = {{{"job", array}, {"task", 2}, {"when", "after-ok"}}};
  const int before = rig_.submit("true", more);
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(before)["note"],
            "never started: job " + task(array, 2) +
                " ended as failed, and it was to start only if that ended well");
  const std::string handle = task(array, 2);
  EXPECT_EQ(berth({"submit", "--gpus", "0", "--after", handle, "--", "true"}).err,
            "berth: --after: job " + handle + " ended as failed: --after-ok " + handle +
                " can never be satisfied\n");
}

/// The usual job that cleans up: one task failed, the others ended well.
TEST_F(Arrays, ThatDidNotEndWellAsAWholeLetAJobStartThatWaitsForThat) {
  const int array = submit("1-3");
  const std::string number = std::to_string(array);
  const auto follow = [&](const char* option) {
    const Ran ran = berth({"submit", "--gpus", "0", option, number, "--", "true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return std::stoi(ran.out);
  };
  const int cleanup = follow("--after-notok");
  const int any = follow("--after-any");
  const int ok = follow("--after-ok");
  EXPECT_EQ(get("/v1/jobs/" + std::to_string(cleanup))["reason"],
            "waits for 3 tasks of array " + number + " to end, and not all well");
  EXPECT_EQ(get("/v1/jobs/" + std::to_string(cleanup))["after"][1],
            Json({{"job", array + 1}, {"when", "after-notok"}, {"array", array}}));
  rig_.kill();
  rig_.start();
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(cleanup)["state"], "done");
  EXPECT_EQ(rig_.wait_end(any)["state"], "done");
  EXPECT_EQ(rig_.wait_end(ok)["state"], "cancelled");
  EXPECT_EQ(rig_.wait_end(follow("--after-notok"))["state"], "done") << "after its end";
}

}  // namespace
}  // namespace berth
