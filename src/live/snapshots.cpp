#include "live/snapshots.hpp"

#include <algorithm>

namespace berth::live {

namespace {

constexpr std::size_t kQuickSnapshot = std::size_t{16} << 20;

}  // namespace

void Snapshots::has_one(std::size_t bytes) {
  size_ = bytes;
  since_ = 0;
}

bool Snapshots::is_due() const { return since_ >= std::max({sizes_.every, size_, retry_at_}); }

bool Snapshots::is_quick() const { return since_ > 0 && size_ <= kQuickSnapshot; }

Expected<void> Snapshots::add(journal::Store& store, const journal::Snapshot& whole) {
  underway_.reset();  // this one is newer
  has_one(whole.state.size());
  return store.add_snapshot(whole);
}

Expected<void> Snapshots::begin(Host& host, const Engine& engine, journal::Snapshot row) {
  if (underway_ || may_drop_) return {};
  auto copy = host.copy(engine);
  if (!copy) {
    retry_at_ = since_ + sizes_.every;
    return std::unexpected(copy.error());
  }
  underway_.emplace(Underway{.copy = std::move(*copy), .row = std::move(row), .since = since_});
  return {};
}

Expected<Snapshots::Work> Snapshots::work(const Transact& transact) {
  if (may_drop_) {
    Expected<bool> more = false;
    auto dropped = transact([&](journal::Store& store) -> Expected<void> {
      more = store.drop_some();
      return more ? Expected<void>() : std::unexpected(more.error());
    });
    if (!dropped) return std::unexpected(dropped.error());
    may_drop_ = *more;
    return may_drop_ ? Work::More : Work::None;
  }
  if (!underway_) return Work::None;
  const auto progress = underway_->copy->look();
  if (progress == StateCopy::Progress::Busy) return Work::Waiting;
  auto done = progress == StateCopy::Progress::Done
                  ? add_part(transact)
                  : fail(ErrorCode::Io, "the state for a snapshot could not be written down");
  if (done) return Work::More;
  underway_.reset();
  retry_at_ = since_ + sizes_.every;
  may_drop_ = true;
  return std::unexpected(done.error());
}

/// With the last part the snapshot is one.
Expected<void> Snapshots::add_part(const Transact& transact) {
  Underway& now = *underway_;
  const auto bytes = now.copy->read(now.bytes, sizes_.part);
  if (!bytes) return std::unexpected(bytes.error());
  const bool is_last = now.bytes + std::ssize(*bytes) == now.copy->size();
  auto done = transact([&](journal::Store& store) -> Expected<void> {
    if (auto added = store.add_part(now.row.after, now.parts, *bytes); !added) return added;
    return is_last ? store.add_snapshot_of_parts(now.row, now.parts + 1) : Expected<void>();
  });
  if (!done) return done;
  ++now.parts;
  now.bytes += std::ssize(*bytes);
  if (!is_last) return {};
  since_ -= now.since;
  size_ = static_cast<std::size_t>(now.bytes);
  retry_at_ = 0;
  may_drop_ = true;
  underway_.reset();
  return {};
}

}  // namespace berth::live
