// The default policy of earlier releases. doc/adr/0010 argues its rule.
#include <array>

#include "policy/gates.hpp"
#include "policy/kit/class_judge.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr Key kShareAfterMinutesKey{
    .name = "share_after",
    .type = KeyType::Time,
    .usual = "5m",
    .least = 0,
    .most = kYear,
    .what =
        "A job waits this long before it may share a GPU that is as busy as "
        "`share_below_percent`."};

constexpr auto kHeadroomPlacesKeys = std::to_array<Key>({
    kShortBoundKey,
    kMediumBoundKey,
    {.name = "ageing",
     .type = KeyType::Time,
     .usual = "1h",
     .least = 0,
     .most = kYear,
     .what = "A job of the next class goes first if it was submitted this much earlier."},
    kReserveAfterKey,
    kReservationsKey,
    kLendKey,
    kLiarAfterKey,
    kShareBelowKey,
    kShareAfterMinutesKey,
});

constexpr About kHeadroomPlaces{
    .title = "Equal service for users, short jobs first within a user, reserved places.",
    .rule =
        "The user with the least decayed dominant service / weight goes first. Within a user rank "
        "= time of submission + ageing x class, where class is 0 (short), 1 (medium) or 2 (long). "
        "A job that outlives its class joins the next one. A class that a user states is raised by "
        "one once (jobs of the user that outlived their class) - (jobs that kept to it) = "
        "`liar_after`. Any job that fits may pass a job that does not. A job that has waited "
        "`reserve_after` gets a place reserved, from the time limits of the jobs in its way.",
    .reads =
        "Accounts (service, weight), class, time of submission, run time, jobs that ended "
        "(run time, class).",
    .source =
        "berth's own. Its parts: dominant shares (Ghodsi et al., NSDI 2011) over time with decay, "
        "backfill behind a reservation (EASY, Lifka, JSSPP 1995), and ageing as an offset, so that "
        "ranks never move.",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(running) per pass, O(1) per job.",
    .proof =
        "None yet. Our own tests check its promises to users on simulated days "
        "(test/property/fairness_test.cpp).",
    .keys = kHeadroomPlacesKeys,
    .check = check_class_bounds};

namespace {

std::int64_t classes_below(DurationClass of) {
  switch (of) {
    case DurationClass::Short:
      return 0;
    case DurationClass::Medium:
      return 1;
    case DurationClass::Long:
    case DurationClass::Service:
      return 2;
  }
  return 2;
}

class HeadroomPlaces final : public Order {
 public:
  explicit HeadroomPlaces(const Keys& keys)
      : judge_(keys), ageing_(keys.time("ageing")), keys_(keys) {}

  DependsOn depends_on() const override { return DependsOn::Group; }

  void configure(PipelineOptions& options, Gates& gates) const override {
    options.classes = judge_.bounds();
    options.reservation_depth = static_cast<int>(keys_.number(kReservationsKey.name));
    options.reserve_after = keys_.time(kReserveAfterKey.name);
    options.lend = keys_.time(kLendKey.name);
    gates.list.push_back(idle_by({.below_percent = keys_.number(kShareBelowKey.name),
                                  .after = keys_.time(kShareAfterMinutesKey.name)}));
  }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    return judge_.judge(view, events);
  }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    const Account account = view.account(user);
    const ShareSeconds service = account.service_at(view.now(), view.settings().service_half_life);
    return {.major = service.raw() / account.weight_milli, .minor = account.share_ppb};
  }

  Snapshot save() const override { return judge_.save(); }
  Expected<void> restore(const Snapshot& bytes) override {
    return judge_.restore(bytes, "headroom/places");
  }

  Ranked rank(const JobView& job, const ClusterView&) const override {
    const Duration penalty = ageing_ * classes_below(judge_.class_of(job));
    return {.rank = {.major = micros(job.in_line_since() + penalty)}};
  }

 private:
  ClassJudge judge_;
  Duration ageing_;
  Keys keys_;
};

}  // namespace

std::unique_ptr<Order> headroom_places(const Keys& keys, const Knobs&) {
  return std::make_unique<HeadroomPlaces>(keys);
}

}  // namespace berth
