// The table of measured speeds of models: spread over nodes, on other types of GPU, beside each
// other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/codec.hpp"
#include "core/base/rate.hpp"
#include "core/base/time.hpp"
#include "core/knowledge/scaling.hpp"
#include "core/knowledge/stages.hpp"

namespace berth {

/// Figures of one model beside its speeds.
struct ModelFacts {
  std::optional<Rate> utilisation;  ///< Part of the time in which it alone keeps a GPU busy.
  std::optional<Duration> start;    ///< From its launch to its first step.
  std::optional<Duration> restart;  ///< Extra time of continuing or beginning again.

  bool operator==(const ModelFacts&) const = default;
};
inline auto members(ModelFacts& v) { return std::tie(v.utilisation, v.start, v.restart); }

/// A value type. In every table model "" stands for any model, and 0 GPUs for any number of them;
/// figures of the model itself override those of any model. Figures given several times for one key
/// are averaged. Speeds are against the model alone on one node (or as few as hold it) of the GPU
/// type its run time is for.
class Speeds {
 public:
  void add_spread(const std::string& model, std::int64_t gpus, std::int64_t nodes, Rate rate);
  void add_type(const std::string& model, std::int64_t gpus, const std::string& type, Rate rate);
  /// The model cannot run on that type, whatever other figures say.
  void rule_out(const std::string& model, std::int64_t gpus, const std::string& type);
  void add_pair(const std::string& model, std::int64_t gpus, const std::string& beside, Rate rate);
  /// A neighbour on one type of GPU, as a name for add_pair() and beside(): what was measured there
  /// overrides what was measured elsewhere, and rule_out() of such a name leaves no figure at all.
  /// The speed counts against the model alone on the type.
  static std::string neighbour_on(const std::string& other, const std::string& type);
  void add_utilisation(const std::string& model, Rate utilisation);
  /// The last that is given counts. Requires: at most Iteration::kMost.
  void set_iteration(const std::string& model, std::int64_t gpus, const Iteration& iteration) {
    iterations_[{model, gpus}] = iteration;
  }
  void set_start(const std::string& model, Duration cost) { facts_[model].start = cost; }
  void set_restart(const std::string& model, Duration cost) { facts_[model].restart = cost; }
  /// On more nodes than it needs, without a figure.
  void set_unmeasured_spread(Rate rate) { unmeasured_spread_ = rate; }

  /// On so many nodes: as measured for the fewest nodes that are as many, else for the most.
  std::optional<Rate> spread(const std::string& model, std::int64_t gpus, std::int64_t nodes) const;
  std::optional<Rate> on_type(const std::string& model, std::int64_t gpus,
                              const std::string& type) const;
  /// On the type on which it is fastest, with any number of GPUs; full speed at least.
  Rate fastest_type(const std::string& model) const;
  bool runs_on(const std::string& model, std::int64_t gpus, const std::string& type) const;
  std::optional<Rate> beside(const std::string& model, std::int64_t gpus,
                             const std::string& other) const;
  /// The mean of all figures of this model beside others, each neighbour counting once; nothing if
  /// there are none. O(its figures).
  std::optional<Rate> mean_beside(const std::string& model) const;
  /// The mean speed on each type for which it has figures, in thousandths of the fastest type.
  std::map<std::string, std::int64_t> type_values() const;
  ModelFacts facts(const std::string& model) const;
  /// What an iteration takes alone, and its stages; nothing if that is not known.
  std::optional<Iteration> iteration(const std::string& model, std::int64_t gpus) const;
  Rate unmeasured_spread() const { return unmeasured_spread_; }
  /// With `given` GPUs against that with `asked`: as measured; else fewer GPUs are as much slower
  /// and more are of no use.
  Rate scaled(const std::string& model, std::int64_t batch, std::int64_t asked,
              std::int64_t given) const;
  const Scaling& scaling() const { return scaling_; }
  Scaling& scaling() { return scaling_; }

  /// True if it says what starting costs some model.
  bool has_costs() const { return !facts_.empty(); }
  bool has_spreads() const { return !spreads_.empty(); }
  bool has_types() const { return !types_.empty(); }
  bool rules_out_types() const { return !ruled_out_.empty(); }
  bool has_pairs() const { return !pairs_.empty(); }

  /// Each figure of this table changed by `change`.
  template <class Change>
  Speeds changed(Change change) const;

  /// False for a table that no reader makes. Requires of all else here: that it is true.
  bool is_sane() const;
  bool operator==(const Speeds&) const = default;

 private:
  struct Mean {
    std::int64_t sum = 0;
    std::int64_t count = 0;

    bool operator==(const Mean&) const = default;
    friend auto members(Mean& v) { return std::tie(v.sum, v.count); }
    void add(Rate rate) {
      sum += rate.ppm();
      ++count;
    }
    Rate rate() const { return Rate(sum / count); }
  };
  using Name = std::pair<std::string, std::int64_t>;  ///< Model and GPUs.
  template <class Table, class Find>
  static std::optional<Rate> first_of(const std::string& model, std::int64_t gpus,
                                      const Table& table, Find find);

  std::map<Name, std::map<std::int64_t, Mean>> spreads_;
  std::map<Name, std::map<std::string, Mean>> types_;
  std::set<std::pair<Name, std::string>> ruled_out_;
  std::map<Name, std::map<std::string, Mean>> pairs_;
  std::map<std::string, Mean> utilisations_;
  std::map<std::string, ModelFacts> facts_;
  Scaling scaling_;
  Rate unmeasured_spread_ = kFullSpeed;
  std::map<Name, Iteration> iterations_;

  friend auto members(Speeds& v, codec::Before<9>) {
    return std::tie(v.spreads_, v.types_, v.ruled_out_, v.pairs_, v.utilisations_, v.facts_,
                    v.scaling_, v.unmeasured_spread_);
  }
  friend auto members(Speeds& v) {
    return std::tuple_cat(members(v, codec::Before<9>()), std::tie(v.iterations_));
  }
};

template <class Change>
Speeds Speeds::changed(Change change) const {
  Speeds other = *this;
  const auto change_all = [&](auto& table) {
    for (auto& [name, row] : table) {
      for (auto& [key, mean] : row) mean = {.sum = change(mean.rate()).ppm(), .count = 1};
    }
  };
  change_all(other.spreads_);
  change_all(other.types_);
  change_all(other.pairs_);
  other.scaling_ = scaling_.changed(change);
  return other;
}

}  // namespace berth
