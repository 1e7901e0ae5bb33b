// Values by an ascending integer id, in pages: O(1) look-up, iteration in id order, memory for
// present ids only. Ids are given out in ascending order, so pages of erased ids can be dropped
// whole.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/assert.hpp"

namespace berth {

template <class Key, class T>
class IdMap {
 public:
  T* find(Key key) {
    Page* const page = page_of(key);
    if (page == nullptr) return nullptr;
    auto& slot = page->slots[key.value() % kSlots];
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

  /// Requires: the key is absent. Takes 8 bytes for every 262,144 ids below the largest ever.
  T& insert(Key key, T value) {
    const std::size_t book = key.value() / kSlots / kPages;
    if (book >= books_.size()) books_.resize(book + 1);
    if (!books_[book]) books_[book] = taken_or_new(spare_book_);
    auto& page = books_[book]->pages[key.value() / kSlots % kPages];
    if (!page) page = taken_or_new(spare_page_), ++books_[book]->living;
    auto& slot = page->slots[key.value() % kSlots];
    BERTH_ASSERT(!slot);
    slot.emplace(std::move(value));
    ++page->living;
    ++size_;
    return *slot;
  }

  /// Requires: the key is present.
  void erase(Key key) {
    auto& book = books_[key.value() / kSlots / kPages];
    auto& page = book->pages[key.value() / kSlots % kPages];
    auto& slot = page->slots[key.value() % kSlots];
    BERTH_ASSERT(slot);
    slot.reset();
    --size_;
    if (--page->living > 0) return;
    spare_page_ = std::move(page);
    if (--book->living == 0) spare_book_ = std::move(book);
  }

  std::size_t size() const { return size_; }

  /// The smallest key present that is not below `from`; nothing if there is none. O(1), and a step
  /// for every 64 ids that are absent in between.
  std::optional<Key> at_or_above(Key from) const {
    std::size_t slot = from.value() % kSlots;
    for (std::size_t page = from.value() / kSlots; page / kPages < books_.size(); ++page) {
      if (!books_[page / kPages]) {
        page = (page / kPages + 1) * kPages - 1;
      } else if (const Page* const found = books_[page / kPages]->pages[page % kPages].get()) {
        for (; slot < kSlots; ++slot) {
          if (found->slots[slot]) return key_of(page, slot);
        }
      }
      slot = 0;
    }
    return std::nullopt;
  }

  /// The largest key present that is not above `from`; nothing if there is none. As at_or_above().
  std::optional<Key> at_or_below(Key from) const {
    const std::size_t end = books_.size() * kPages;  // the pages there could be
    const bool is_within = from.value() / kSlots < end;
    std::size_t slots = is_within ? from.value() % kSlots + 1 : kSlots;  // to look at
    for (std::size_t pages = is_within ? from.value() / kSlots + 1 : end; pages > 0; --pages) {
      const std::size_t page = pages - 1;
      if (!books_[page / kPages]) {
        pages = page / kPages * kPages + 1;
      } else if (const Page* const found = books_[page / kPages]->pages[page % kPages].get()) {
        for (; slots > 0; --slots) {
          if (found->slots[slots - 1]) return key_of(page, slots - 1);
        }
      }
      slots = kSlots;
    }
    return std::nullopt;
  }

  /// Calls visit(key, value) in ascending order, and looks no further than the last. `visit` must
  /// not insert or erase.
  template <class Visit>
  void for_each(Visit visit) const {
    std::size_t left = size_;
    for (std::size_t b = 0; b < books_.size() && left > 0; ++b) {
      if (!books_[b]) continue;
      for (std::size_t p = 0; p < kPages && left > 0; ++p) {
        const Page* const page = books_[b]->pages[p].get();
        if (page == nullptr) continue;
        left -= page->living;
        const std::size_t first = (b * kPages + p) * kSlots;
        for (std::size_t i = 0; i < kSlots; ++i) {
          const auto& slot = page->slots[i];
          if (slot) visit(Key(static_cast<typename Key::rep>(first + i)), *slot);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static constexpr std::size_t kPages = 4096;
  struct Page {
    std::array<std::optional<T>, kSlots> slots;
    std::size_t living = 0;
  };
  struct Book {
    std::array<std::unique_ptr<Page>, kPages> pages;
    std::size_t living = 0;
  };

  static Key key_of(std::size_t page, std::size_t slot) {
    return Key(static_cast<typename Key::rep>(page * kSlots + slot));
  }
  Page* page_of(Key key) {
    const std::size_t page = key.value() / kSlots;
    const std::size_t book = page / kPages;
    if (book >= books_.size() || !books_[book]) return nullptr;
    return books_[book]->pages[page % kPages].get();
  }
  template <class Part>
  static std::unique_ptr<Part> taken_or_new(std::unique_ptr<Part>& spare) {
    return spare ? std::move(spare) : std::make_unique<Part>();
  }

  std::vector<std::unique_ptr<Book>> books_;
  std::unique_ptr<Page> spare_page_;  ///< One empty page, so that a short queue does not thrash.
  std::unique_ptr<Book> spare_book_;
  std::size_t size_ = 0;
};

}  // namespace berth
