// How jobs that share a GPU slow each other down: the interface of the models of it, one file each,
// and their list. What a table of measured pairs says goes before any model (pair_table.hpp).
//
// A model knows the jobs on one GPU and nothing else; what a job loses by its place or by the type
// of the GPU is apart (sim/rates.hpp). Pure, and immutable, so runs may share one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/rate.hpp"
#include "policy/keys.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// The jobs on a GPU, and the one that is asked about.
struct SharedGpu {
  std::size_t who;                       ///< Its place in the trace.
  std::span<const std::size_t> tenants;  ///< By arrival there, `who` among them; two at least.
  const std::string& type;               ///< Of the GPU.
  const trace::Trace& trace;
  /// By place in the trace, for which part of its time alone each job has a kernel on its GPUs, in
  /// parts per million. Empty unless the model reads them.
  std::span<const std::int64_t> duties;
};

class ShareModel {
 public:
  virtual ~ShareModel() = default;

  /// True if it asks for duties.
  virtual bool reads_duties() const { return false; }
  /// The speed of `who` over alone, from above 0 to full. O(tenants) unless it says otherwise.
  virtual Rate rate(const SharedGpu& gpu) const = 0;
  /// The speed of a job of this duty that is alone on a GPU shared in this way; not asked of a
  /// model that reads no duties.
  virtual Rate alone(std::int64_t /*duty*/) const { return kFullSpeed; }
  /// The GPU time that its kernels take beside the others, over that alone; in parts per million.
  virtual std::int64_t kernel_cost(const SharedGpu&) const { return Rate::kWhole; }
};

using ShareFactory = std::unique_ptr<const ShareModel>(const Keys&);

/// A model as the command line and doc/simulator.md name it. Texts are Markdown and end with a full
/// stop.
struct ShareEntry {
  std::string_view name;
  std::string_view rule;    ///< The speed of each job.
  std::string_view source;  ///< Where that is from.
  ShareFactory* make;
  std::span<const Key> keys = {};
  std::string_view lost = {};  ///< The key that `NAME:N%` sets: what is lost by sharing.
};

/// One ordered list, no static registration.
std::span<const ShareEntry* const> shares();

/// `free`, `duty`, `duty:5%`, `timeslice:slice=2ms:switch=0.1ms`; null for `free`. Errors:
/// InvalidArgument naming the text and the valid words.
Expected<std::shared_ptr<const ShareModel>> parse_share(std::string_view text);

// ---- The models, one file each -----------------------------------------------------------------

extern const ShareEntry kPairsOnly;
extern const ShareEntry kTimeSlice;
extern const ShareEntry kMps;
extern const ShareEntry kDuty;
extern const ShareEntry kTgs;
extern const ShareEntry kSalus;
extern const ShareEntry kStages;

}  // namespace berth::sim
