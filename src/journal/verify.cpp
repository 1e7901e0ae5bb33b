#include "journal/verify.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/text.hpp"
#include "engine/engine.hpp"
#include "engine/journal.hpp"
#include "journal/store.hpp"
#include "policy/registry.hpp"

namespace berth::journal {

namespace {

/// Entries read at once: enough that reading is cheap, few enough that a long journal fits.
constexpr std::int64_t kAtOnce = 1024;

/// `start job 4`.
std::string words_of(const Decision& decision) {
  constexpr auto kVerbs = std::to_array<std::string_view>(
      {"start", "preempt", "migrate", "reserve", "classify", "reject"});
  static_assert(kVerbs.size() == std::variant_size_v<Decision>);
  std::string words(kVerbs[decision.index()]);
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { what.job; }) words += " job " + std::to_string(what.job.value());
      },
      decision);
  return words;
}

std::string words_of(const std::vector<Decision>& list, std::size_t at) {
  return at < list.size() ? "`" + words_of(list[at]) + "`" : "none";
}

/// Where two lists that encode differently part. Returns: `decision 2 is `start job 4`, ...`.
std::string difference(const std::vector<Decision>& now, const std::vector<Decision>& recorded) {
  std::size_t at = 0;
  const std::size_t both = std::min(now.size(), recorded.size());
  while (at < both && encode_decisions({&now[at], 1}) == encode_decisions({&recorded[at], 1})) ++at;
  const std::string mine = words_of(now, at);
  const std::string theirs = words_of(recorded, at);
  const std::string number = "decision " + std::to_string(at + 1);
  if (mine == theirs) return number + ", " + mine + ", differs in its details";
  return number + " is " + mine + ", recorded is " + theirs;
}

class Verifier {
 public:
  Verifier(const std::string& path, const Store& store, const OnStep& on_step)
      : path_(path), store_(store), on_step_(on_step) {}

  Expected<Verified> run();

 private:
  Expected<void> refuse_orphans() const;
  Expected<void> begin_segment(const Snapshot& listed);
  Expected<void> go_to(std::int64_t last);
  Expected<void> decide(const Entry& entry);
  Expected<void> compare(const Effects& effects, const std::string& recorded);
  Expected<void> end_segment(const Snapshot& listed) const;
  std::unexpected<Error> at_entry(std::int64_t number, const std::string& what) const {
    return fail(ErrorCode::BadData, path_ + ": entry " + std::to_string(number) + ": " + what +
                                        " (recorded by berth " + snapshot_.build + ")");
  }

  const std::string& path_;
  const Store& store_;
  const OnStep& on_step_;
  Verified verified_;
  Snapshot snapshot_;  ///< Of this segment, without its state.
  std::optional<Engine> engine_;
  std::int64_t entry_ = 0;                 ///< The last one decided again.
  std::optional<std::int64_t> undecided_;  ///< One without decisions: nothing may follow it.
};

Expected<void> Verifier::refuse_orphans() const {
  const auto first = store_.entries(0, std::numeric_limits<std::int64_t>::max());
  if (!first) return std::unexpected(first.error());
  if (first->empty()) return {};
  return fail(ErrorCode::BadData, path_ + ": entries, but no snapshot to begin from");
}

Expected<void> Verifier::begin_segment(const Snapshot& listed) {
  auto snapshot = store_.snapshot(listed.after);
  if (!snapshot) return std::unexpected(snapshot.error());
  const std::string where = path_ + ": snapshot after entry " + std::to_string(listed.after) + ": ";
  auto policy = make_policy(snapshot->policy, snapshot->place);
  if (!policy) return fail(ErrorCode::BadData, where + policy.error().message);
  auto engine = Engine::restore(snapshot->state, std::move(*policy));
  if (!engine) return fail(ErrorCode::BadData, where + engine.error().message);
  engine_.emplace(std::move(*engine));
  entry_ = listed.after;
  snapshot_ = listed;
  ++verified_.segments;
  return {};
}

Expected<void> Verifier::decide(const Entry& entry) {
  const std::int64_t wanted = entry_ + 1;
  if (undecided_) return at_entry(*undecided_, "has no decisions and is not the last");
  if (entry.number != wanted) return at_entry(wanted, "missing");
  entry_ = wanted;
  if (!entry.decisions) {
    undecided_ = wanted;  // a crash came between, or the daemon is at it
    return {};
  }
  const auto inputs = decode_inputs(entry.inputs);
  if (!inputs) return at_entry(wanted, inputs.error().message);
  if (entry.now < engine_->now()) {
    return at_entry(wanted, "at " + seconds_text(entry.now) + " s, before the one before it at " +
                                seconds_text(engine_->now()) + " s");
  }
  ++verified_.entries;
  verified_.inputs += std::ssize(*inputs);
  const Effects& effects = engine_->step(entry.now, *inputs);
  auto same = compare(effects, *entry.decisions);
  if (same && on_step_) on_step_(entry.now, *inputs, effects);
  return same;
}

Expected<void> Verifier::compare(const Effects& effects, const std::string& recorded) {
  verified_.decisions += std::ssize(effects.decisions);
  const std::string mine = encode_decisions(effects.decisions);
  if (mine == recorded) return {};
  const auto theirs = decode_decisions(recorded);
  if (!theirs) return at_entry(entry_, theirs.error().message);
  if (encode_decisions(*theirs) == mine) return {};  // recorded in an older layout
  return at_entry(entry_, difference(effects.decisions, *theirs));
}

Expected<void> Verifier::go_to(std::int64_t last) {
  while (entry_ < last) {
    const auto part = store_.entries(entry_, std::min(last, entry_ + kAtOnce));
    if (!part) return std::unexpected(part.error());
    if (part->empty()) break;
    for (const Entry& entry : *part) {
      if (auto done = decide(entry); !done) return done;
    }
  }
  return {};
}

Expected<void> Verifier::end_segment(const Snapshot& listed) const {
  if (entry_ < listed.after) return at_entry(entry_ + 1, "missing");
  if (undecided_) return at_entry(*undecided_, "has no decisions and is not the last");
  const auto next = store_.snapshot(listed.after);
  if (!next) return std::unexpected(next.error());
  const bool same = next->policy == snapshot_.policy && next->place == snapshot_.place;
  if (next->continuity == Continuity::Changed || !same || engine_->save() == next->state) return {};
  return at_entry(entry_, "the state after it differs from the snapshot there");
}

Expected<Verified> Verifier::run() {
  const auto list = store_.snapshots();
  if (!list) return std::unexpected(list.error());
  if (list->empty()) {
    if (auto done = refuse_orphans(); !done) return std::unexpected(done.error());
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const bool open = i + 1 == list->size();
    Expected<void> done = begin_segment((*list)[i]);
    if (done) done = go_to(open ? std::numeric_limits<std::int64_t>::max() : (*list)[i + 1].after);
    if (done && !open) done = end_segment((*list)[i + 1]);
    if (!done) return std::unexpected(done.error());
  }
  return verified_;
}

}  // namespace

Expected<Verified> verify(const std::string& path, const OnStep& on_step) {
  auto store = Store::open(path, Access::ReadOnly);
  if (!store) return std::unexpected(store.error());
  if (auto begun = store->begin(); !begun) return std::unexpected(begun.error());
  return Verifier(path, *store, on_step).run();
}

}  // namespace berth::journal
