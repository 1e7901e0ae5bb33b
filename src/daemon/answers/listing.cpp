#include "daemon/answers/listing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::daemon {

namespace {

constexpr std::size_t kMostLooked = 20'000;  ///< For one page: a millisecond.
constexpr std::size_t kEndedAtOnce = 64;     ///< Rows of the history; few, as a slice may end.

}  // namespace

Listing::Listing(const live::Keeper& keeper, Presenter& presenter, const Page& page,
                 const Viewer& viewer)
    : keeper_(keeper),
      presenter_(presenter),
      viewer_(viewer),
      page_(page),
      last_(page.beyond),
      live_at_(page.beyond) {
  text_ = "{\"jobs\":[";
}

Expected<bool> Listing::advance(const std::function<bool()>& has_time) {
  live_.reset();  // it may have ended since
  ended_.clear();
  next_ended_ = 0;
  are_all_ended_here_ = page_.which == Page::Which::Live || page_.which == Page::Which::Running;
  const journal::Store::Reading reading(keeper_.store());
  Reasons reasons = presenter_.reasons();
  Expected<bool> more = true;
  while (more && *more) {
    more = add_row(reasons);
    if (!has_time()) break;
  }
  return more;
}

/// The first of those that follow. Returns: whether there was one, and there may be more.
Expected<bool> Listing::add_row(Reasons& reasons) {
  find_live();
  if (auto found = find_ended(); !found) return std::unexpected(found.error());
  const journal::JobRow* ended = next_ended_ < ended_.size() ? &ended_[next_ended_] : nullptr;
  if (ended != nullptr && horizon_ && is_before(*horizon_, ended->job)) ended = nullptr;
  if (!live_ && ended == nullptr) return end_at(horizon_);
  if (rows_ == page_.most) return end_at(last_);
  if (!live_ || (ended != nullptr && is_before(ended->job, *live_))) {
    const JobId job = ended->job;
    auto done = write(*ended, reasons);
    if (next_ended_ < ended_.size() && ended_[next_ended_].job == job) ++next_ended_;
    if (!done) return std::unexpected(done.error());
    return true;
  }
  live_at_ = last_ = live_;
  const JobId job = *std::exchange(live_, std::nullopt);
  const ArrayPlace place = keeper_.engine().view().find(job)->spec.conditions->array;
  if (const auto is_array = write_array(job, place, reasons); !is_array || *is_array)
    return is_array;
  const auto row = keeper_.store().job(job);
  if (!row) return std::unexpected(row.error());
  if (!*row) return true;
  if (auto done = write(**row, reasons); !done) return std::unexpected(done.error());
  return true;
}

Expected<void> Listing::write(const journal::JobRow& row, Reasons& reasons) {
  if (!row.is_damaged) {
    const ArrayPlace place = row.spec.conditions->array;  // the row goes with those of its array
    const auto is_array = write_array(row.job, place, reasons);
    if (!is_array) return std::unexpected(is_array.error());
    if (*is_array) return {};
  }
  if (rows_++ > 0) text_ += ',';
  last_ = row.job;
  page_.form == RowForm::Full ? presenter_.append_row(text_, row, reasons, viewer_)
                              : presenter_.append_brief_row(text_, row, reasons, viewer_);
  return {};
}

/// The array that this job is of, where that is to have one row. Returns: whether it has.
Expected<bool> Listing::write_array(JobId job, const ArrayPlace& place, Reasons& reasons) {
  const auto span = array_of(job, place);
  if (page_.arrays != Page::Arrays::Whole || !span || span->first == span->last) return false;
  auto array = array_row(keeper_, *span);
  if (!array) return std::unexpected(array.error());
  pass_array(*span);
  // Its place in a list is that of its tasks which the list is of.
  if (page_.which == Page::Which::Ended && array->ended == kNever) return true;
  if (rows_++ > 0) text_ += ',';
  presenter_.append_array(text_, *array, reasons, viewer_);
  return true;
}

/// All its tasks are told of.
void Listing::pass_array(const ArraySpan& span) {
  last_ = page_.order == Page::Order::OldestFirst ? span.last : span.first;
  if (!live_at_ || is_before(*live_at_, *last_)) live_at_ = last_;
  if (live_ && span.has(*live_)) live_.reset();
  while (next_ended_ < ended_.size() && span.has(ended_[next_ended_].job)) ++next_ended_;
}

bool Listing::end_at(std::optional<JobId> last) {
  text_ += page_.order == Page::Order::OldestFirst ? "],\"next_after\":" : "],\"next_before\":";
  text_ += last ? std::to_string(last->value()) : "null";
  const ClusterView view = keeper_.engine().view();
  text_ += ",\"live_jobs\":" + std::to_string(view.job_count()) +
           ",\"running_jobs\":" + std::to_string(view.running().size()) + "}";
  return false;
}

std::string Listing::take() { return std::move(text_); }

/// Nobody beyond where this stops may be written, or the next page would leave others out.
void Listing::find_live() {
  if (live_ || horizon_ || page_.which == Page::Which::Ended) return;
  const ClusterView view = keeper_.engine().view();
  std::optional<JobId> next = live_beyond(live_at_);
  for (; next; live_at_ = next, next = live_beyond(next)) {
    if (++looked_ > kMostLooked) {
      horizon_ = live_at_;
      return;
    }
    if (!page_.user || view.find(*next)->spec.user == *page_.user) break;
  }
  live_ = next;
}

Expected<void> Listing::find_ended() {
  if (next_ended_ < ended_.size() || are_all_ended_here_) return {};
  journal::PageQuery query{.user = page_.user, .most = kEndedAtOnce};
  if (page_.order == Page::Order::OldestFirst) query.after = last_.value_or(JobId(0));
  if (page_.order == Page::Order::NewestFirst && last_) query.before = *last_;
  auto rows = keeper_.store().history(query);
  if (!rows) return std::unexpected(rows.error());
  ended_ = std::move(*rows);
  next_ended_ = 0;
  are_all_ended_here_ = ended_.size() < kEndedAtOnce;
  return {};
}

/// The live job that follows in the page's order, whosever it is.
std::optional<JobId> Listing::live_beyond(std::optional<JobId> last) const {
  const ClusterView view = keeper_.engine().view();
  const bool rises = page_.order == Page::Order::OldestFirst;
  if (page_.which == Page::Which::Running) {  // few of many
    const auto running = view.running();
    const auto at = last ? (rises ? std::ranges::upper_bound(running, *last)
                                  : std::ranges::lower_bound(running, *last))
                         : (rises ? running.begin() : running.end());
    if (rises) return at == running.end() ? std::nullopt : std::optional(*at);
    return at == running.begin() ? std::nullopt : std::optional(*std::prev(at));
  }
  if (rises) return view.job_from(last ? JobId(last->value() + 1) : JobId(0));
  if (last == JobId(0)) return std::nullopt;
  return view.job_back_from(last ? JobId(last->value() - 1) : kLastJob);
}

}  // namespace berth::daemon
