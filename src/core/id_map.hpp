// Values by an ascending integer id, in pages: O(1) look-up, iteration in id order, memory for the
// living only. Ids are given out in ascending order, so pages of the dead can be dropped whole.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/assert.hpp"

namespace berth {

template <class Key, class T>
class IdMap {
 public:
  T* find(Key key) {
    const std::size_t page = key.value() / kPage;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    auto& slot = pages_[page]->slots[key.value() % kPage];
    return slot ? &*slot : nullptr;
  }
  const T* find(Key key) const { return const_cast<IdMap*>(this)->find(key); }

  /// Requires: the key is present.
  T& at(Key key) {
    T* const found = find(key);
    BERTH_ASSERT(found != nullptr);
    return *found;
  }
  const T& at(Key key) const { return const_cast<IdMap*>(this)->at(key); }

  /// Requires: the key is absent.
  T& insert(Key key, T value) {
    const std::size_t page = key.value() / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = spare_ ? std::move(spare_) : std::make_unique<Page>();
    auto& slot = pages_[page]->slots[key.value() % kPage];
    BERTH_ASSERT(!slot);
    slot.emplace(std::move(value));
    ++pages_[page]->living;
    ++size_;
    return *slot;
  }

  /// Requires: the key is present.
  void erase(Key key) {
    auto& page = pages_[key.value() / kPage];
    auto& slot = page->slots[key.value() % kPage];
    BERTH_ASSERT(slot);
    slot.reset();
    --size_;
    if (--page->living == 0) spare_ = std::move(page);
  }

  std::size_t size() const { return size_; }

  /// Calls visit(key, value) in ascending order. `visit` must not insert or erase.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      if (!pages_[page]) continue;
      for (std::size_t i = 0; i < kPage; ++i) {
        const auto& slot = pages_[page]->slots[i];
        if (slot) visit(Key(static_cast<typename Key::rep>(page * kPage + i)), *slot);
      }
    }
  }

 private:
  static constexpr std::size_t kPage = 64;
  struct Page {
    std::array<std::optional<T>, kPage> slots;
    std::size_t living = 0;
  };
  std::vector<std::unique_ptr<Page>> pages_;
  std::unique_ptr<Page> spare_;  ///< One empty page, so that a short queue does not thrash.
  std::size_t size_ = 0;
};

}  // namespace berth
