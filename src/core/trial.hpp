// A trial overlay of the ledger: try grants, look at what is left, drop it all.
//
// A trial works on a scratch copy that the ledger keeps in step, and undoes its changes when it is
// dropped, so opening one costs O(1) and dropping it costs what was tried. One at a time is open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/assert.hpp"
#include "core/base/ids.hpp"
#include "core/occupancy.hpp"

namespace berth {

/// Why a waiting job has no place. Only a capacity refusal holds for every larger ask too.
enum class Why : std::uint8_t {
  Fits,
  Capacity,     ///< Too few GPUs can take it.
  Limit,        ///< Its user is at a limit.
  Reservation,  ///< A place is there, but kept for another job.
  Health,       ///< It would fit were no GPU out of service.
  Drain,        ///< The same, where all of these are drained. Said of a refusal for Health.
  Order,        ///< A place may be there, but jobs ahead of it come first.
  Patience,     ///< A place is there, but the policy lets the job wait for a better one.
  Locality,     ///< Enough GPUs can take it, but not together as the placement wants them.
};

/// A place kept for one waiting job from `from` on. Others may use it until then, or beside it.
struct Hold {
  JobId job;
  Ask ask;
  Placement placement;
  Instant from = kNever;  ///< When its occupants' plans end; kNever if one has none.
  /// By when the job starts at the latest, if every occupant it waits for has an enforced limit.
  Instant promised = kNever;

  bool operator==(const Hold&) const = default;
};

/// The room of a place kept, as a trial respects it.
struct KeptRoom {
  Hold hold;
  Instant until = kNever;  ///< A job that is gone by then may use the place; kNever: none may.
  // By GPU of the place, what is there now and stays beyond `until`.
  std::vector<Bytes> charged;
  std::vector<std::uint16_t> tenants;
  std::vector<GpuMilli> milli;
};

/// What trials work on: the occupancy they change and undo, and room that is used again.
struct Scratch {
  struct Saved {
    GpuUse gpu;
    NodeUse node;
    Bytes room;  ///< The node's.
    std::uint32_t index;
    bool is_node;
  };
  Occupancy use;
  std::vector<Saved> log;  ///< Empty whenever no trial is open.
};

class Trial {
 public:
  /// Requires: no other trial of this scratch copy has changed it and is still open.
  Trial(const Cluster& cluster, Scratch& scratch)
      : cluster_(cluster), scratch_(scratch.use), log_(scratch.log) {
    BERTH_ASSERT(log_.empty());
  }
  ~Trial() { rollback(0); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Cluster& cluster() const { return cluster_; }
  const Occupancy& use() const { return scratch_; }

  /// They bind all asks but their own jobs'. Requires: they outlive this; what stays is counted.
  void respect(std::span<const KeptRoom> rooms, Instant now) {
    kept_ = rooms;
    now_ = now;
  }
  /// GPUs whose tenants are known to slow the next job down, or to be slowed by it; ascending. They
  /// fit as well as any, and are a last choice.
  void avoid(std::vector<GpuId> gpus) { avoided_ = std::move(gpus); }
  bool is_avoided(GpuId gpu) const { return std::ranges::binary_search(avoided_, gpu); }
  bool has_holds() const { return !kept_.empty(); }

  /// May this GPU take `ask` for `job`? Host resources are apart (host_room).
  Why look(GpuId gpu, const Ask& ask, JobId job) const {
    const GpuUse& use = scratch_.gpu(gpu);
    if (!admits(scratch_.admission(), cluster_.gpu(gpu), use, ask)) {
      return is_usable(use) ? Why::Capacity : Why::Health;
    }
    return kept_.empty() || holds_allow(gpu, ask, job) ? Why::Fits : Why::Reservation;
  }
  /// May this node's cores and memory carry `here` of the ask's GPUs?
  Why host_room(NodeId node, const Ask& ask, std::size_t here, JobId job) const;

  /// The whole placement: every GPU and every node of it.
  Why look(const Placement& placement, const Ask& ask, JobId job) const;

  /// Takes the charges of `ask` there. Requires: placement.gpus ascending and distinct.
  Grant put(const Ask& ask, const Placement& placement);
  void put(const Grant& grant);
  void take(const Grant& grant);

  using Mark = std::size_t;
  Mark mark() const { return log_.size(); }
  /// Undoes everything since `mark`. Requires: nothing before it was undone.
  void rollback(Mark mark);

 private:
  bool is_on(const Hold& hold, NodeId node) const;
  std::size_t gpus_on(const Hold& hold, NodeId node) const;
  std::int64_t part_on(const Hold& hold, NodeId node, std::int64_t amount) const;
  bool holds_allow(GpuId gpu, const Ask& ask, JobId job) const;
  void save(const Grant& grant);

  const Cluster& cluster_;
  Occupancy& scratch_;
  std::span<const KeptRoom> kept_;
  Instant now_ = kStart;
  std::vector<Scratch::Saved>& log_;
  std::vector<GpuId> avoided_;
};

}  // namespace berth
