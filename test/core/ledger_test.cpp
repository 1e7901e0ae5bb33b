// Goal: the ledger and its trials count what is there, whatever the order of what happens to them.
// Method: two nodes of one GPU each and three jobs; every sequence of a few operations, against a
// list of who is where, from which all figures are added up again.
#include "core/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "support/every_way.hpp"

namespace berth {
namespace {

using namespace literals;

constexpr std::size_t kTinyJobs = 3;
constexpr std::size_t kTinyGpus = 2;
constexpr Bytes kTinyCapacity = 24_GiB;

/// Who is where, and which GPUs are out of service.
struct TinyModel {
  std::array<std::optional<Placement>, kTinyJobs> places;
  std::array<bool, kTinyGpus> is_out{};
};

class TinyWorld {
 public:
  /// A and B share a GPU, C wants both: beside one of them, or alone.
  explicit TinyWorld(Sharing of_c) {
    cluster_.add_switch();
    for (const char* name : {"n0", "n1"}) {
      cluster_.add_node({.name = name, .gpus = 1, .vram = kTinyCapacity, .cpu = CpuMilli(8000)});
    }
    asks_[0] = ask(1, 10_GiB, 1000);
    asks_[1] = ask(1, 10_GiB, 2000);
    asks_[2] = ask(2, 6_GiB, 4000);
    asks_[2].request.gpu.sharing = of_c;
    ledger_.emplace(cluster_, Admission{});
  }

  const Cluster& cluster() const { return cluster_; }
  Ledger& ledger() { return *ledger_; }
  const Ask& ask(std::size_t job) const { return asks_[job]; }
  static std::vector<Placement> places_of(std::size_t job) {
    if (job == 2) return {{.gpus = {GpuId(0), GpuId(1)}, .host = NodeId(0)}};
    return {{.gpus = {GpuId(0)}, .host = NodeId(0)}, {.gpus = {GpuId(1)}, .host = NodeId(1)}};
  }

  bool fits(const TinyModel& model, std::size_t job, const Placement& place) const {
    return std::ranges::all_of(place.gpus, [&](GpuId gpu) {
      const std::vector<std::size_t> there = tenants(model, gpu);
      Bytes memory = asks_[job].request.gpu.vram;
      for (const std::size_t other : there) memory += asks_[other].request.gpu.vram;
      const auto is_alone = [&](std::size_t other) { return asks_[other].alone(); };
      const bool are_together =
          asks_[job].alone() ? there.empty() : std::ranges::none_of(there, is_alone);
      // Whatever the guard band is: three of them are too much, and two are far from it.
      return !model.is_out[gpu.value()] && are_together && memory < kTinyCapacity;
    });
  }

  void expect_same(const Occupancy& use, const TinyModel& model, const test::EveryWay& ways) const {
    std::int64_t vacant = 0;
    for (const GpuId gpu : cluster_.gpu_ids()) {
      Bytes memory(0);
      CpuMilli cpu(0);
      std::uint16_t alone = 0;
      const std::vector<std::size_t> there = tenants(model, gpu);
      for (const std::size_t job : there) {
        const Ask& ask = asks_[job];
        memory += ask.request.gpu.vram;
        cpu += CpuMilli(ask.request.cpu.raw() / ask.gpus().raw());
        alone = static_cast<std::uint16_t>(alone + (ask.alone() ? 1 : 0));
      }
      const bool is_vacant = there.empty() && !model.is_out[gpu.value()];
      vacant += is_vacant ? 1 : 0;
      EXPECT_EQ(use.gpu(gpu).charged, memory) << ways.text();
      EXPECT_EQ(use.gpu(gpu).tenants, there.size()) << ways.text();
      EXPECT_EQ(use.gpu(gpu).alone, alone) << ways.text();
      EXPECT_EQ(use.gpu(gpu).healthy, !model.is_out[gpu.value()]) << ways.text();
      EXPECT_EQ(use.node(cluster_.node_of(gpu)).cpu, cpu) << ways.text();
      EXPECT_EQ(use.node(cluster_.node_of(gpu)).vacant, is_vacant ? 1U : 0U) << ways.text();
    }
    EXPECT_EQ(use.vacant(), GpuCount(vacant)) << ways.text();
  }

 private:
  static Ask ask(std::int64_t gpus, Bytes vram, std::int64_t cpu) {
    Ask ask;
    ask.request.gpu.count = GpuCount(gpus);
    ask.request.gpu.vram = vram;
    ask.request.cpu = CpuMilli(cpu);
    return ask;
  }
  static std::vector<std::size_t> tenants(const TinyModel& model, GpuId gpu) {
    std::vector<std::size_t> there;
    for (std::size_t job = 0; job < kTinyJobs; ++job) {
      const auto& place = model.places[job];
      if (place && std::ranges::find(place->gpus, gpu) != place->gpus.end()) there.push_back(job);
    }
    return there;
  }

  Cluster cluster_;
  std::array<Ask, kTinyJobs> asks_;
  std::optional<Ledger> ledger_;
};

/// A trial beside its model.
class TinyTrial {
 public:
  TinyTrial(TinyWorld& world, const TinyModel& model, std::array<Grant, kTinyJobs> grants)
      : world_(world),
        trial_(world.ledger().trial(world.cluster())),
        model_(model),
        grants_(std::move(grants)) {}

  /// Puts a job that is nowhere, and takes one that is somewhere.
  void move(std::size_t job, test::EveryWay& ways) {
    if (model_.places[job]) {
      trial_.take(grants_[job]);
      model_.places[job].reset();
      return;
    }
    const std::vector<Placement> places = TinyWorld::places_of(job);
    const Placement& place = ways.one_of(places);
    const Ask& ask = world_.ask(job);
    const bool fits = trial_.look(place, ask, JobId(job + 1)) == Why::Fits;
    EXPECT_EQ(fits, world_.fits(model_, job, place)) << ways.text();
    if (!fits) return;
    grants_[job] = trial_.put(ask, place);
    model_.places[job] = place;
  }
  void mark() { marks_.push_back({trial_.mark(), model_, grants_}); }
  void roll_back() {
    if (marks_.empty()) return;
    trial_.rollback(marks_.back().mark);
    model_ = marks_.back().model;
    grants_ = marks_.back().grants;
    marks_.pop_back();
  }
  void check(const test::EveryWay& ways) const { world_.expect_same(trial_.use(), model_, ways); }

 private:
  struct Marked {
    Trial::Mark mark;
    TinyModel model;
    std::array<Grant, kTinyJobs> grants;
  };
  TinyWorld& world_;
  Trial trial_;
  TinyModel model_;
  std::array<Grant, kTinyJobs> grants_;
  std::vector<Marked> marks_;
};

TEST(EveryWay, IsTakenOnce) {
  test::EveryWay ways;
  std::vector<std::size_t> seen;
  while (ways.next()) {
    const std::size_t first = ways.up_to(2);
    seen.push_back(first * 10 + (first == 1 ? ways.up_to(1) : 9));
  }
  EXPECT_EQ(seen, (std::vector<std::size_t>{9, 10, 11, 29}));
}

TEST(Trial, CountsWhatIsThereInEveryTinyWorld) {
  constexpr int kSteps = 5;
  test::EveryWay ways;
  while (ways.next() && !testing::Test::HasFailure()) {
    TinyWorld world(ways.flag() ? Sharing::Alone : Sharing::Shared);
    {
      TinyTrial trial(world, {}, {});
      for (int step = 0; step < kSteps; ++step) {
        const std::size_t what = ways.up_to(kTinyJobs + 1);
        if (what < kTinyJobs) trial.move(what, ways);
        if (what == kTinyJobs) trial.mark();
        if (what == kTinyJobs + 1) trial.roll_back();
        trial.check(ways);
      }
    }
    EXPECT_TRUE(world.ledger().is_in_step()) << ways.text();
    world.expect_same(world.ledger().use(), {}, ways);
  }
  EXPECT_GT(ways.runs(), 5'000U);
}

TEST(Ledger, CountsWhatIsThereInEveryTinyWorld) {
  constexpr int kSteps = 5;
  test::EveryWay ways;
  while (ways.next() && !testing::Test::HasFailure()) {
    TinyWorld world(ways.flag() ? Sharing::Alone : Sharing::Shared);
    Ledger& ledger = world.ledger();
    TinyModel model;
    std::array<Grant, kTinyJobs> grants;
    for (int step = 0; step < kSteps; ++step) {
      const std::uint64_t room = ledger.room_version();
      const std::size_t what = ways.up_to(kTinyJobs + kTinyGpus - 1);
      bool may_be_more = false;
      if (what >= kTinyJobs) {
        const GpuId gpu(static_cast<std::uint32_t>(what - kTinyJobs));
        GpuUse use = ledger.use().gpu(gpu);
        may_be_more = !use.healthy;
        use.healthy = !use.healthy;
        model.is_out[gpu.value()] = !use.healthy;
        ledger.set_gpu(world.cluster(), gpu, use);
      } else if (model.places[what]) {
        may_be_more = true;
        ledger.take(world.cluster(), grants[what]);
        model.places[what].reset();
      } else {
        const std::vector<Placement> places = TinyWorld::places_of(what);
        const Placement& place = ways.one_of(places);
        const Ask& ask = world.ask(what);
        const bool fit = fits(world.cluster(), ledger.use(), place, ask);
        EXPECT_EQ(fit, world.fits(model, what, place)) << ways.text();
        if (fit) {
          grants[what] = ledger.use().grant_for(world.cluster(), ask, place);
          ledger.put(world.cluster(), grants[what]);
          model.places[what] = place;
        }
      }
      EXPECT_TRUE(!may_be_more || ledger.room_version() > room) << ways.text();
      world.expect_same(ledger.use(), model, ways);
      // What a trial moves is forgotten with it.
      TinyTrial trial(world, model, grants);
      for (std::size_t job = 0; job < kTinyJobs; ++job) {
        if (model.places[job]) trial.move(job, ways);
      }
      trial.check(ways);
    }
    EXPECT_TRUE(ledger.is_in_step()) << ways.text();
  }
  EXPECT_GT(ways.runs(), 5'000U);
}

}  // namespace
}  // namespace berth
