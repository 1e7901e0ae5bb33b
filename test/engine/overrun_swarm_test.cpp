// Goal: tenants that stop, and take their whole grace, let no overrun hurt more neighbours than the
// same tenants that go on running.
//
// Method: a hundred seeded mixes on one GPU of 24 GiB, second by second as berthd sees them: honest
// jobs that grow to what they asked for, greedy ones that grow beyond at a set rate, small ones
// that are cancelled and ignore it, or are not cancelled. Memory is real: an allocation fails iff
// there is no room. The table of the rates is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

constexpr Duration kTick = Duration(50'000);
constexpr int kTicks = 20 * 30;  ///< Half a minute.
constexpr int kProbeEvery = 20;  ///< Ticks between two looks.
constexpr int kGrace = 20 * 10;  ///< Ticks from a cancel to the kill of a job that ignores it.
constexpr Bytes kCapacity = 24_GiB;

/// Growth of greedy jobs per second; the first is all at once.
constexpr std::array<Bytes, 5> kRates = {24_GiB * 20, 16_GiB, 8_GiB, 4_GiB, 1_GiB};

enum class Helpers { GoOn, AreCancelled };

struct Character {
  enum class Kind { Honest, Greedy, Helper } kind = Kind::Honest;
  Bytes goal{0};
  Bytes growth{0};     ///< Per tick.
  int begins = 0;      ///< Ticks from its start until it grows.
  int cancelled = -1;  ///< The tick at which a helper is cancelled.
};

/// One process with memory.
struct Process {
  Attempt attempt;
  Bytes held{0};
  int age = 0;
  int dies_in = -1;  ///< Ticks; -1: it is not to end.
};

class Mix {
 public:
  Mix(std::uint64_t seed, Helpers helpers)
      : engine_(nodes_of_slots(), {}, *make_policy("fifo-skip", "first-fit")),
        rng_(seed),
        helpers_(helpers) {
    const Bytes rate = kRates[seed % kRates.size()];
    for (std::int64_t left = rng_.between(2, 3); left > 0; --left) {
      const Bytes asked = 1_GiB * rng_.between(3, 6);
      add(asked, {Character::Kind::Honest, asked, 64_MiB * rng_.between(1, 3),
                  static_cast<int>(rng_.between(0, 60)), -1});
    }
    for (std::int64_t left = rng_.between(1, 2); left > 0; --left) {
      const Bytes asked = 1_GiB * rng_.between(1, 2);
      add(asked, {Character::Kind::Greedy, kCapacity, Bytes(rate.raw() / 20),
                  static_cast<int>(rng_.between(20, 120)), -1});
    }
    for (int left = 2; left > 0; --left) {
      add(64_MiB,
          {Character::Kind::Helper, 32_MiB, 32_MiB, 0, static_cast<int>(rng_.between(10, 100))});
    }
  }

  /// Returns: how many honest jobs died of another's overrun, each counted once.
  std::size_t play() {
    for (tick_ = 0; tick_ < kTicks; ++tick_) turn();
    return hurt_.size();
  }
  std::size_t honest() const { return honest_; }

 private:
  static Cluster nodes_of_slots() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = kCapacity, .slots = 16});
    return cluster;
  }

  void add(Bytes asked, const Character& character) {
    const JobId id(characters_.size() + 1);
    characters_[id] = character;
    honest_ += character.kind == Character::Kind::Honest ? 1 : 0;
    tell({Submitted{.job = id, .spec = shared(1, asked)}});
  }

  void turn() {
    std::vector<Input> news;
    for (const auto& [id, attempt] : gone_) news.emplace_back(Released{id, attempt});
    gone_.clear();
    // Also where none is cancelled: one look more, at another phase of the growth, hurts or saves.
    const bool is_look = cancel_helpers(news) || tick_ % kProbeEvery == 0;
    const bool any_death = grow_all(news);
    if (is_look || any_death || !news.empty()) news.insert(news.begin(), look());
    if (!news.empty()) tell(news);
  }

  /// Returns: whether this is such a tick.
  bool cancel_helpers(std::vector<Input>& news) {
    bool is_time = false;
    for (const auto& [id, character] : characters_) {
      if (character.cancelled != tick_) continue;
      is_time = true;
      if (helpers_ == Helpers::AreCancelled) news.emplace_back(CancelAsked{id});
    }
    return is_time;
  }

  /// Returns: true if a job died.
  bool grow_all(std::vector<Input>& news) {
    std::vector<JobId> dead;
    for (auto& [id, process] : processes_) {
      const Character& character = characters_.at(id);
      ++process.age;
      const Bytes more = process.age < character.begins
                             ? Bytes(0)
                             : std::min(character.growth, character.goal - process.held);
      Outcome outcome = Outcome::Failed;
      if (process.dies_in > 0) --process.dies_in;
      if (process.dies_in != 0) {
        const bool is_greedy = character.kind == Character::Kind::Greedy;
        const Bytes room = kCapacity - used();
        if (more <= room || is_greedy) {  // greedy ones keep what they get
          process.held += std::min(more, room);
          continue;
        }
        outcome = Outcome::Oom;
        if (character.kind == Character::Kind::Honest) hurt_.insert(id);
      }
      news.emplace_back(AttemptEnded{.job = id,
                                     .attempt = process.attempt,
                                     .outcome = outcome,
                                     .code = 1,
                                     .at = now(),
                                     .again_if_hurt = true});
      dead.push_back(id);
    }
    for (const JobId id : dead) {
      gone_.emplace_back(id, processes_.at(id).attempt);
      processes_.erase(id);
    }
    return !dead.empty();
  }

  Input look() const {
    Measured measured{.gpu = GpuId(0), .used = used(), .tenants = {}};
    for (const auto& [id, process] : processes_) measured.tenants.push_back({id, process.held});
    return measured;
  }

  void tell(const std::vector<Input>& news) {
    const Effects effects = engine_.step(now(), news);
    EXPECT_EQ(engine_.check(), std::nullopt);
    std::vector<Input> started;
    for (const Effect& effect : effects.list) {
      if (const auto* const launch = std::get_if<Launch>(&effect)) {
        processes_[launch->job] = {.attempt = launch->attempt};
        started.emplace_back(Started{launch->job, launch->attempt});
      } else if (const auto* const stop = std::get_if<Stop>(&effect)) {
        const auto found = processes_.find(stop->job);
        if (found == processes_.end()) continue;
        found->second.dies_in = stop->why == StopFor::Overrun ? 1 : kGrace;
      }
    }
    if (!started.empty()) tell(started);
  }

  Instant now() const { return kStart + kTick * tick_; }
  Bytes used() const {
    Bytes sum(0);
    for (const auto& [id, process] : processes_) sum += process.held;
    return sum;
  }

  Engine engine_;
  Rng rng_;
  Helpers helpers_;
  int tick_ = 0;
  std::map<JobId, Character> characters_;
  std::map<JobId, Process> processes_;
  std::vector<std::pair<JobId, Attempt>> gone_;  ///< Their memory is seen free in the next tick.
  std::set<JobId> hurt_;
  std::size_t honest_ = 0;
};

TEST(OverrunSwarm, HurtsNoMoreNeighboursBesideTenantsThatStop) {
  struct Row {
    std::size_t mixes = 0;
    std::size_t honest = 0;
    std::size_t hurt = 0;
    std::size_t hurt_beside_stops = 0;
  };
  std::array<Row, kRates.size()> rows;
  Row all;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Mix plain(seed, Helpers::GoOn);
    Mix stopping(seed, Helpers::AreCancelled);
    const std::size_t hurt = plain.play();
    const std::size_t hurt_beside_stops = stopping.play();
    EXPECT_LE(hurt_beside_stops, hurt) << "seed " << seed;
    for (Row* const row : {&rows[seed % kRates.size()], &all}) {
      ++row->mixes;
      row->honest += plain.honest();
      row->hurt += hurt;
      row->hurt_beside_stops += hurt_beside_stops;
    }
  }
  std::printf("greedy growth   mixes  honest  hurt  hurt beside tenants that stop\n");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string rate =
        r == 0 ? "at once" : std::to_string(kRates[r].raw() / (1_GiB).raw()) + " GiB/s";
    std::printf("%-14s  %5zu  %6zu  %4zu  %4zu\n", rate.c_str(), rows[r].mixes, rows[r].honest,
                rows[r].hurt, rows[r].hurt_beside_stops);
  }
  EXPECT_GT(all.hurt, 0U) << "or nothing was tried";
  EXPECT_LT(all.hurt, all.honest) << "or nobody was defended";
}

}  // namespace
}  // namespace berth::test
