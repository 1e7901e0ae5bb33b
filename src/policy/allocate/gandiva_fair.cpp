// Gandiva_fair: users have equal parts of every type of GPU, and trade fast GPUs for slow ones
// where both gain.
#include "policy/allocate/gandiva_fair.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/base/wide.hpp"
#include "policy/allocate/options.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kGandivaFairKeys = std::to_array<Key>({{.name = "round",
                                                       .type = KeyType::Time,
                                                       .usual = "1m",
                                                       .least = micros(seconds(1)),
                                                       .most = kYear,
                                                       .what = "Length of a round."}});

constexpr About kGandivaFair{
    .title = "Gandiva_fair: users share all types of GPU by weight, and trade fast for slow ones.",
    .rule =
        "Users are given GPUs by weight, none more than its jobs ask for, of each type as large a "
        "part. For each two types, the faster first, let the speed-up of a user be the mean speed "
        "of its jobs on the one over that on the other. While both gain, the user with the largest "
        "buys the faster GPUs of the one with the smallest, for r of the other each, where r is "
        "the largest speed-up of anybody else; until one of them has no more, or the seller has "
        "what its jobs ask for. A user's jobs have equal parts of what it has of each type. Rounds "
        "give GPUs as in `max-min`.",
    .reads =
        "Weights, speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run time, "
        "arrivals.",
    .source = "Gandiva_fair (Chaudhary et al., EuroSys 2020).",
    .differs =
        "The paper gives GPUs by stride on each server and balances servers by migration; here "
        "rounds follow a plan. It measures speeds as jobs run; here they are a table's. Jobs that "
        "could use what their user has of no type leave it to others.",
    .cost =
        "O(users^2 x types^2 + jobs x types log jobs) when jobs come or go; else as "
        "`gavel/isolated`.",
    .proof = "A trade worked by hand (test/golden/policy/gandiva-fair.txt); nobody's figures.",
    .needs = {.preemption = true},
    .keys = kGandivaFairKeys};

namespace {

/// Of one GPU for all the time.
constexpr std::int64_t kGpuMicro = Rate::kWhole;

struct Want {
  std::int64_t most = 0;
  std::int64_t weight = 1;
  std::int64_t given = 0;
};

/// Divides `amount` by weight; none is given more than it wants.
void divide(std::int64_t amount, std::span<Want> wants) {
  std::vector<Want*> order;
  Wide weights = 0;
  for (Want& want : wants) {
    order.push_back(&want);
    weights += want.weight;
  }
  std::ranges::stable_sort(order, [](const Want* one, const Want* other) {
    return Wide{one->most} * other->weight < Wide{other->most} * one->weight;
  });
  for (Want* const want : order) {
    const auto part = static_cast<std::int64_t>(Wide{amount} * want->weight / weights);
    want->given = std::min(want->most, part);
    amount -= want->given;
    weights -= want->weight;
  }
}

/// A user with jobs that ask for GPUs.
struct Trader {
  std::vector<std::size_t> jobs;    ///< Positions in the list.
  std::int64_t wants = 0;           ///< All GPUs that they ask for.
  std::vector<std::int64_t> has;    ///< By type.
  std::vector<std::int64_t> speed;  ///< The mean of its jobs by type, in millionths; 0: none runs.

  std::int64_t room() const { return wants - std::reduce(has.begin(), has.end()); }
  /// In millionths.
  Wide speed_up(std::size_t fast, std::size_t slow) const {
    return Wide{speed[fast]} * Rate::kWhole / std::max<std::int64_t>(1, speed[slow]);
  }
};

class GandivaFair final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs, const TimePlan&) override {
    const Options options(view, jobs, Speed::Measured);
    const auto types = static_cast<std::uint8_t>(view.cluster().type_names().size());
    std::vector<Trader> traders = endow(view, jobs, options, types);
    const std::vector<std::uint8_t> order = by_speed(traders, types);
    for (std::size_t fast = 0; fast < order.size(); ++fast) {
      for (std::size_t slow = fast + 1; slow < order.size(); ++slow) {
        while (trade(traders, order[fast], order[slow])) {
        }
      }
    }
    Proposal proposal{.options = options.plain(), .shares = {}};
    proposal.shares.assign(proposal.options.size(), {.part = 0, .of = Rate::kWhole});
    for (const Trader& trader : traders) share_out(trader, options, order, proposal.shares);
    return proposal;
  }

 private:
  static std::vector<Trader> endow(const ClusterView& view, std::span<const JobId> jobs,
                                   const Options& options, std::uint8_t types) {
    std::map<UserId, Trader> by_user;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (options.of(i).empty()) continue;
      Trader& trader = by_user[view.job(jobs[i]).user()];
      trader.jobs.push_back(i);
      trader.wants += options.gpus_asked(i) * kGpuMicro;
    }
    std::vector<Trader> traders;
    std::vector<Want> wants;
    for (auto& [user, trader] : by_user) {
      wants.push_back({.most = trader.wants, .weight = view.account(user).weight_milli});
      trader.speed = speeds_of(trader, options, types);
      traders.push_back(std::move(trader));
    }
    divide(options.gpus() * kGpuMicro, wants);
    for (std::size_t i = 0; i < traders.size(); ++i) {
      for (std::uint8_t type = 0; type < types; ++type) {
        const Wide part = Wide{wants[i].given} * options.gpus_of(type) / options.gpus();
        traders[i].has.push_back(static_cast<std::int64_t>(part));
      }
    }
    return traders;
  }

  static std::vector<std::int64_t> speeds_of(const Trader& trader, const Options& options,
                                             std::uint8_t types) {
    std::vector<Wide> sum(types);
    std::vector<std::int64_t> gpus(types);
    for (const std::size_t job : trader.jobs) {
      for (const Rated& rated : options.of(job)) {
        sum[rated.option.type] += Wide{rated.speed.ppm()} * options.gpus_asked(job);
        gpus[rated.option.type] += options.gpus_asked(job);
      }
    }
    std::vector<std::int64_t> speeds;
    for (std::uint8_t type = 0; type < types; ++type) {
      const std::int64_t all = std::max<std::int64_t>(1, gpus[type]);
      speeds.push_back(static_cast<std::int64_t>(sum[type] / all));
    }
    return speeds;
  }

  /// Types, that on which users are fastest together first.
  static std::vector<std::uint8_t> by_speed(std::span<const Trader> traders, std::uint8_t types) {
    std::vector<std::uint8_t> order(types);
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::uint8_t type) {
      Wide sum = 0;
      for (const Trader& trader : traders) sum += trader.speed[type];
      return sum;
    });
    return order;
  }

  /// One trade. Returns: whether there was one; each leaves somebody with nothing to trade.
  static bool trade(std::span<Trader> traders, std::uint8_t fast, std::uint8_t slow) {
    const auto gain = [&](const Trader* trader) { return trader->speed_up(fast, slow); };
    std::vector<Trader*> buyers;
    std::vector<Trader*> sellers;
    for (Trader& trader : traders) {
      if (trader.has[slow] > 0 && trader.speed[fast] > 0) buyers.push_back(&trader);
      if (trader.has[fast] > 0 && trader.speed[slow] > 0 && trader.room() > 0) {
        sellers.push_back(&trader);
      }
    }
    if (buyers.empty() || sellers.empty()) return false;
    Trader& buyer = **std::ranges::max_element(buyers, {}, gain);
    Trader& seller = **std::ranges::min_element(sellers, {}, gain);
    Wide price = 0;
    for (const Trader& trader : traders) {
      const bool bids_less = &trader != &buyer && gain(&trader) <= gain(&buyer);
      if (bids_less) price = std::max(price, gain(&trader));
    }
    if (price <= Rate::kWhole || gain(&seller) >= price) return false;
    const Wide pays = Wide{buyer.has[slow]} * Rate::kWhole / price;
    const Wide takes = Wide{seller.room()} * Rate::kWhole / (price - Rate::kWhole);
    const Wide most = std::min({Wide{seller.has[fast]}, pays, takes});
    const auto sold = static_cast<std::int64_t>(most);
    const auto paid = static_cast<std::int64_t>(most * price / Rate::kWhole);
    buyer.has[fast] += sold;
    buyer.has[slow] -= paid;
    seller.has[fast] -= sold;
    seller.has[slow] += paid;
    return sold > 0 && paid > 0;
  }

  /// Equal parts of each type, the fastest first; a job runs at most all the time.
  static void share_out(const Trader& trader, const Options& options,
                        std::span<const std::uint8_t> order, std::span<TimeShare> shares) {
    std::map<std::size_t, std::int64_t> left;
    for (const std::size_t job : trader.jobs) left[job] = options.gpus_asked(job) * kGpuMicro;
    for (const std::uint8_t type : order) {
      std::vector<const Rated*> rated;
      std::vector<Want> wants;
      for (const std::size_t job : trader.jobs) {
        for (const Rated& one : options.of(job)) {
          if (one.option.type != type) continue;
          rated.push_back(&one);
          wants.push_back({.most = left.at(job)});
        }
      }
      divide(trader.has[type], wants);
      for (std::size_t i = 0; i < rated.size(); ++i) {
        left.at(rated[i]->job) -= wants[i].given;
        shares[options.column(*rated[i])].part = wants[i].given / options.gpus_asked(rated[i]->job);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Allocator> fair_trades() { return std::make_unique<GandivaFair>(); }

std::unique_ptr<Policy> gandiva_fair(const Keys& keys, std::unique_ptr<Placer> placer,
                                     const Knobs&) {
  const RoundRules rules{.round = keys.time("round"),
                         .plan_lasts = Duration::zero(),
                         .types = RoundRules::Types::Listed,
                         .unowed = TimePlan::Unowed::Last,
                         .newcomers = RoundRules::Newcomers::AreUnowed};
  return in_rounds("gandiva-fair", rules, std::move(placer), fair_trades());
}

}  // namespace berth
