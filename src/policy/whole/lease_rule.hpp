// Leases to the jobs of users, as ASTRAEA gives them (Ye et al., TPDS 2021): a pass says which
// jobs run, by what each user and each job got of what it deserved.
//
// A user's quota is its part of the GPUs by weight. A job that runs has a lease; when that is
// over it waits behind the others, and may get the next at once. Idle GPUs are lent beyond quotas,
// to the users that got least. Knows neither places nor the engine. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

struct LeasedJob {
  JobId id;
  UserId user;
  GpuCount gpus{0};  ///< It runs on all of them or not at all.
  Instant submitted = kStart;

  // What the caller says before each pass; not remembered.
  enum class Fate : std::uint8_t {
    GoesOn,
    Ended,
    NoPlace,  ///< Its GPUs are gone, and its lease with them.
    Stays     ///< It must keep its GPUs.
  };
  Fate fate = Fate::GoesOn;
  Duration executed{0};  ///< Of its work: without what was lost.
  Duration left{0};      ///< Of its work.

  // The rule's own.
  bool has_lease = false;
  bool lapsed = false;      ///< A lease of it was over before.
  bool taken_back = false;  ///< A lease of it was taken back before.
  Instant since = kStart;   ///< Of its lease; without one, since when it waits for the next.
  GpuTime deserved{0};      ///< So far: of equal parts of its user's quota, what it asks for.
  std::int64_t rho = 0;     ///< rho_of() when it waited last.

  Duration in_lease(Instant now) const { return has_lease ? now - since : Duration::zero(); }
  /// Without its lease, whose work it loses if that is taken back.
  GpuTime used(Instant now) const { return gpus * (executed - in_lease(now)); }
};

/// Ratios are multiples of 2^-40, so that they order the same anywhere.
inline constexpr std::int64_t kWholeRatio = std::int64_t{1} << 40;
/// used / deserved; 0 if it deserved nothing so far.
std::int64_t fairness_of(const LeasedJob& job, Instant now);
/// ASTRAEA's class of a fairness: 0 for none so far, else 1 to 5.
std::int64_t fairness_class(std::int64_t fairness);
/// Themis' finish-time fairness as ASTRAEA restates it: life / (executed x fairness + time without
/// a lease + left).
std::int64_t rho_of(const LeasedJob& job, Instant now);

/// Small goes first; jobs that are equal in it keep their order.
using LeaseRank = std::array<std::int64_t, 3>;

struct LeaseRules {
  Duration period{0};  ///< From pass to pass.
  Duration lease{0};
  Duration starvation{0};  ///< A job that waits this long goes before the others of its user.
  /// Among the jobs of a user.
  LeaseRank (*rank)(const LeasedJob& job, Instant now) = nullptr;
  /// For a job that never ran, leases of its user that are younger than this are taken back, the
  /// last in rank first. A job's first lease only once it is `tried`. 0: none is.
  Duration young{0};
  Duration tried{0};
  /// Whether jobs behind one that gets no lease may pass it; none passes one that is starving.
  enum class Behind : std::uint8_t { Pass, Wait };
  Behind behind = Behind::Pass;
  enum class Quotas : std::uint8_t { Lent, Fixed };
  Quotas quotas = Quotas::Lent;
  /// The artifact's walk over the jobs with leases passes over the one behind each that it removes,
  /// and it takes leases back for a job that they do not suffice for.
  enum class Form : std::uint8_t { Own, Artifact };
  Form form = Form::Own;
};

/// Where jobs run.
class LeaseRoom {
 public:
  virtual ~LeaseRoom() = default;
  virtual GpuCount free() = 0;
  /// Gives a job its GPUs. Returns: whether there is a place.
  virtual bool take(const LeasedJob& job) = 0;
  /// Of a job whose lease is over, or that ended.
  virtual void release(const LeasedJob& job) = 0;
};

/// What a pass did, each in order.
struct LeasePass {
  std::vector<LeasedJob> ended = {};
  std::vector<JobId> lapsed = {};
  std::vector<JobId> taken_back = {};
  std::vector<JobId> started = {};
};

class Leases {
 public:
  explicit Leases(const LeaseRules& rules) : rules_(rules), seen_until_(kStart) {}

  /// The jobs, first those with leases, for the caller to say what became of them.
  template <class Visit>
  void for_each_job(Visit visit) {
    for (LeasedJob& job : leased_) visit(job);
    for (LeasedJob& job : waiting_) visit(job);
  }

  /// Requires: a quota of one GPU or more for the user of each job; may_pass(now); the room has the
  /// jobs with leases. Cost: O(jobs log jobs + GPUs x users), and what the room takes.
  LeasePass pass(Instant now, const std::map<UserId, GpuCount>& quotas,
                 std::span<const LeasedJob> arrivals, LeaseRoom& room);

  bool empty() const { return leased_.empty() && waiting_.empty(); }
  bool may_pass(Instant now) const { return later(now, rules_.period) > seen_until_; }
  /// GPU time used / deserved in the last 24 whole hours, of one who deserved some.
  double long_term_fairness(UserId user) const;

  struct Sums {
    GpuTime used{0};
    GpuTime quota{0};
    GpuTime deserved{0};  ///< Of the quota, what its jobs ask for.

    void add(const Sums& more);
  };
  struct Use {
    Sums hour;                ///< The one that is not over.
    std::vector<Sums> hours;  ///< The latest that are.
  };
  struct Memory {
    std::vector<LeasedJob> leased;   ///< In order of start.
    std::vector<LeasedJob> waiting;  ///< In the order in which they began to wait.
    std::map<UserId, Use> uses;
    Instant seen_until = kStart;
  };
  Memory memory() const { return {leased_, waiting_, uses_, seen_until_}; }
  void remember(Memory memory);

 private:
  struct Desk;
  using Desks = std::vector<Desk>;

  Desks desks(const std::map<UserId, GpuCount>& quotas);
  void count(Instant now, Desks& desks);
  void end_leases(Instant now, LeaseRoom& room, LeasePass& done);
  void line_up(Instant now, Desks& desks);
  void lend(GpuCount free, Desks& desks) const;
  bool start(Instant now, LeaseRoom& room, Desks& desks, LeasePass& done);
  bool make_way(const LeasedJob& job, Instant now, LeaseRoom& room, Desk& desk, LeasePass& done);
  void sort_out(const LeasePass& done);

  LeaseRules rules_;
  std::vector<LeasedJob> leased_;
  std::vector<LeasedJob> waiting_;
  std::map<UserId, Use> uses_;
  Instant seen_until_;  ///< Time counts up to here: each pass counts a period in advance.
};

inline auto members(LeasedJob& v) {
  return std::tie(v.id, v.user, v.gpus, v.submitted, v.has_lease, v.lapsed, v.taken_back, v.since,
                  v.deserved, v.rho);
}
inline auto members(Leases::Sums& v) { return std::tie(v.used, v.quota, v.deserved); }
inline auto members(Leases::Use& v) { return std::tie(v.hour, v.hours); }
inline auto members(Leases::Memory& v) {
  return std::tie(v.leased, v.waiting, v.uses, v.seen_until);
}
/// False for what memory() could not have returned.
bool is_sane(const Leases::Memory& memory);

}  // namespace berth
