// Identifiers: one ordered integer type per kind of thing; two kinds do not mix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace berth {

template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  explicit constexpr Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = 0;
};

/// The ids from `first` up to `end`, for range-based loops.
template <class Name>
class IdRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Name;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    explicit constexpr Iterator(Name at) : at_(at) {}
    constexpr Name operator*() const { return at_; }
    constexpr Iterator& operator++() {
      at_ = Name(at_.value() + 1);
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    Name at_;
  };

  constexpr IdRange(Name first, Name end) : first_(first), end_(end) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(end_); }

 private:
  Name first_;
  Name end_;
};

using JobId =
    Id<struct JobIdTag, std::uint64_t>;  ///< From 1, in order of submission; 0 names none.
using NodeId = Id<struct NodeIdTag>;     ///< Dense from 0.
using GpuId = Id<struct GpuIdTag>;       ///< Dense from 0 across the cluster, node by node.
using UserId = Id<struct UserIdTag>;     ///< The shell's number for a user (a unix uid live).
using BlobId =
    Id<struct BlobIdTag, std::uint64_t>;  ///< Arguments and environment, stored by a shell.
using Fingerprint =
    Id<struct FingerprintTag, std::uint64_t>;       ///< The program of a job; 0 if it is unknown.
using Attempt = Id<struct AttemptTag>;              ///< From 1; each berth of a job is a new one.
using SwitchId = Id<struct SwitchIdTag>;            ///< A rack or network switch.
using ReservationId = Id<struct ReservationIdTag>;  ///< From 1, in order of making.

}  // namespace berth
