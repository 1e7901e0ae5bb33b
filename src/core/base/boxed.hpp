// A value that most holders leave as it is by default: then the size of a pointer, nothing else.
//
// A replay holds a million jobs, and their size is what it waits for. A value type.
#pragma once

#include <compare>
#include <memory>
#include <utility>

namespace berth {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value)  // NOLINT(google-explicit-constructor): it is one
      : value_(value == T{} ? nullptr : std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) = default;
  ~Boxed() = default;

  bool is_default() const { return value_ == nullptr || *value_ == T{}; }
  const T& operator*() const {
    static const T kDefault{};
    return value_ ? *value_ : kDefault;
  }
  const T* operator->() const { return &**this; }
  /// Null: it is as by default.
  constexpr const T* if_set() const { return value_.get(); }
  /// To change it.
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

  bool operator==(const Boxed& other) const { return **this == *other; }
  auto operator<=>(const Boxed& other) const
    requires std::three_way_comparable<T>
  {
    return **this <=> *other;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace berth
