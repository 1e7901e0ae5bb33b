// Goal: of two users who both have work waiting, one floods the machine with jobs of class short,
// the other has a few medium and long ones. Under headroom the other gets a ninth of what the
// flooder does at least, whether run times are known or classes alone, and a quarter with
// fairness=2, which is what strict fair share leaves here. Method: a simulated day, contended
// throughout, on a machine that answers at once.
// Service is summed from each user's dominant share in the engine's accounts, without decay, over
// the time in which both have jobs waiting. The same day under `fifo-skip` shows that the test can
// fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

constexpr UserId kFlooder(1);
constexpr UserId kOther(2);
constexpr std::array kUsers{kFlooder, kOther};

class Day {
 public:
  Day(std::uint64_t seed, const char* policy, bool run_times_known = false)
      : rng_(seed),
        run_times_known_(run_times_known),
        engine_(machine(), {}, *make_policy(policy, "least-shared")) {}

  void run() {
    std::vector<Input> first;
    for (int i = 0; i < 200; ++i) first.push_back(arrival(kFlooder));
    for (int i = 0; i < 30; ++i) first.push_back(arrival(kOther));
    step(std::move(first));
    while (now_ < kStart + hours(24)) next_event();
  }

  /// Shares in parts per billion times microseconds, while both had jobs waiting.
  double service(UserId user) const { return service_.at(user); }
  /// The part of the day in which both had jobs waiting.
  double contended() const { return contended_ / static_cast<double>(micros(hours(24))); }
  std::string broken() const { return engine_.check().value_or(""); }

 private:
  static Cluster machine() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 8, .vram = Bytes(std::int64_t{80} << 30), .slots = 4});
    return cluster;
  }

  /// The flooder's jobs are short and keep to it; the other's are anything, with and without limit.
  Input arrival(UserId user) {
    const JobId id(++last_);
    JobSpec spec{.user = user};
    GpuRequest& gpu = spec.request.gpu;
    gpu.count = GpuCount(1);
    if (user == kFlooder) {
      spec.duration_class = DurationClass::Short;
      gpu.vram = Bytes(rng_.between(10, 40) << 30);
      lengths_[id] = seconds(rng_.between(60, 900));
    } else {
      spec.duration_class = rng_.one_in(4) ? DurationClass::Long : DurationClass::Medium;
      gpu.count = GpuCount(rng_.one_in(5) ? 2 : 1);
      gpu.vram = Bytes(rng_.between(20, 70) << 30);
      lengths_[id] = minutes(rng_.between(20, 180));
    }
    if (rng_.one_in(2)) spec.time_limit = lengths_[id] + minutes(rng_.between(0, 20));
    if (run_times_known_) spec.estimate = lengths_[id];
    ++waiting_[user];
    return Submitted{.job = id, .spec = spec};
  }

  void next_event() {
    const Instant end = ends_.empty() ? kNever : ends_.begin()->first;
    const Instant next = std::min({end, wake_at_, kStart + hours(24)});
    sum_up(next);
    now_ = next;
    std::vector<Input> inputs;
    for (; !ends_.empty() && ends_.begin()->first == now_; ends_.erase(ends_.begin())) {
      const JobId id = ends_.begin()->second;
      inputs.push_back(Exited{.job = id, .attempt = Attempt(1)});
      inputs.push_back(Released{id, Attempt(1)});
      inputs.push_back(arrival(engine_.view().find(id)->spec.user));  // the work does not end
    }
    if (inputs.empty()) inputs.push_back(Ticked{});
    step(std::move(inputs));
  }

  void sum_up(Instant until) {
    const bool both = std::ranges::all_of(kUsers, [&](UserId user) { return waiting_[user] > 0; });
    if (!both) return;
    const auto span = static_cast<double>(micros(until - now_));
    contended_ += span;
    for (const UserId user : kUsers) {
      service_[user] += span * static_cast<double>(engine_.view().account(user).share_ppb);
    }
  }

  void step(std::vector<Input> inputs) {
    const Effects& effects = engine_.step(now_, inputs);
    wake_at_ = effects.wake_at.value_or(kNever);
    for (const Effect& effect : effects.list) {
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      --waiting_[engine_.view().find(launch->job)->spec.user];
      ends_.emplace(now_ + lengths_[launch->job], launch->job);
    }
  }

  Rng rng_;
  bool run_times_known_;
  Engine engine_;
  Instant now_ = kStart;
  Instant wake_at_ = kNever;
  std::uint64_t last_ = 0;
  std::map<JobId, Duration> lengths_;
  std::set<std::pair<Instant, JobId>> ends_;
  std::map<UserId, int> waiting_;
  std::map<UserId, double> service_;
  double contended_ = 0;
};

void beside_a_flood(const char* policy, double most) {
  for (const bool run_times_known : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Day day(seed, policy, run_times_known);
      day.run();
      ASSERT_EQ(day.broken(), "") << "seed " << seed;
      ASSERT_GT(day.contended(), 0.99) << "seed " << seed;
      EXPECT_LT(day.service(kFlooder) / day.service(kOther), most) << policy << ", seed " << seed;
    }
  }
}

TEST(Fairness, BesideAFloodANinthIsLeft) { beside_a_flood("headroom", 9); }

TEST(Fairness, BesideAFloodAQuarterIsLeftToTheFair) { beside_a_flood("headroom:fairness=2", 4); }

TEST(Fairness, WithoutThemTheFlooderTakesMore) {
  Day skip(1, "fifo-skip");
  skip.run();
  const double ratio = skip.service(kFlooder) / skip.service(kOther);
  EXPECT_TRUE(ratio < 0.8 || ratio > 1.25) << ratio;
  Day sjf(1, "sjf+easy", true);
  sjf.run();
  EXPECT_GT(sjf.service(kFlooder) / sjf.service(kOther), 9);
}

}  // namespace
}  // namespace berth::test
