// Goal: what is known of interference is told by the names of jobs, as far as who asks may know
// them. Method: a keeper that is told of runs alone and together; speeds worked out by hand.
#include "daemon/answers/interference.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "live/host.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

class Interference : public testing::Test {
 protected:
  Interference() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
    auto opened = live::Keeper::open(host_, {.path = folder_ / "journal.db"}, cluster, {});
    if (opened) keeper_.emplace(std::move(*opened));
  }

  static live::Submission job(std::uint32_t user, const std::string& name) {
    live::Submission job{.name = name};
    job.spec.user = UserId(user);
    job.spec.request.gpu.count = GpuCount(1);
    job.spec.request.gpu.vram = Bytes(std::int64_t{1} << 30);
    job.command.arguments = {name};
    job.command.directory = "/";
    return job;
  }
  void step(std::int64_t second, live::Batch batch) {
    ASSERT_TRUE(keeper_->step(kStart + seconds(second), std::move(batch)));
  }
  /// Runs these from `from` to `until`, all of them together.
  void run(std::vector<live::Submission> jobs, std::int64_t from, std::int64_t until) {
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < jobs.size(); ++i) ids.emplace_back(++last_);
    step(from, {.submissions = std::move(jobs)});
    live::Batch end;
    for (const JobId id : ids) {
      ASSERT_TRUE(holds_berth(keeper_->engine().view().job(id).state()));
      end.inputs.emplace_back(Exited{.job = id, .attempt = Attempt(1)});
      end.inputs.emplace_back(Released{.job = id, .attempt = Attempt(1)});
    }
    step(until, std::move(end));
  }
  Json told(const Viewer& viewer) {
    InterferenceRows rows(*keeper_, viewer,
                          [](UserId user) { return "u" + std::to_string(user.value()); });
    EXPECT_EQ(rows.advance([] { return true; }), false);
    return rows.take();
  }

  test::ScratchFolder folder_;
  test::Host host_;
  std::optional<live::Keeper> keeper_;
  std::uint64_t last_ = 0;
};

TEST_F(Interference, IsEmptyAtFirst) {
  ASSERT_TRUE(keeper_);
  EXPECT_EQ(told({}), Json::parse(R"({"programs":0,"pairs":[],"by_busy":[]})"));
}

TEST_F(Interference, IsToldByTheNamesOfTheLatestRuns) {
  ASSERT_TRUE(keeper_);
  run({job(1, "train")}, 0, 100);
  run({job(1, "train"), job(2, "probe")}, 200, 400);
  EXPECT_EQ(told({}), Json::parse(R"({"programs":1,"by_busy":[],"pairs":[
      {"program":"train","job":2,"user_name":"u1","beside":"probe","beside_job":3,
       "beside_user_name":"u2","speed":0.5,"spread":null,"runs":1,"counts":false}]})"));
  run({job(1, "train"), job(2, "probe")}, 500, 625);
  const Json pair = told({})["pairs"][0];
  EXPECT_EQ(pair["job"], 4);
  EXPECT_EQ(pair["speed"], 0.65);
  EXPECT_EQ(pair["spread"], 0.3);
  EXPECT_EQ(pair["runs"], 2);
  EXPECT_EQ(pair["counts"], true);
}

}  // namespace
}  // namespace berth::daemon
