// Values of journaled structures with no field at its default, made from members.hpp itself, and a
// count of the fields a structure really has, so that one forgotten there is found.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/codec.hpp"
#include "core/members.hpp"

namespace berth::test {

namespace detail {
/// Stands for any field of an aggregate T.
template <class T>
struct AnyField {
  template <class U>
    requires(!std::same_as<std::remove_cvref_t<U>, T>)
  operator U() const;
};
template <class T, class... Fields>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Fields{}..., AnyField<T>{}}; }) {
    return count_fields<T, Fields..., AnyField<T>>();
  } else {
    return sizeof...(Fields);
  }
}
}  // namespace detail

/// How many fields the aggregate T has.
template <class T>
constexpr std::size_t kFields = detail::count_fields<T>();

/// Makes values; each leaf differs from its default and from its neighbours.
class Sampler {
 public:
  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }

 private:
  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      const int values = static_cast<int>(last_of(T{})) + 1;
      value = static_cast<T>((static_cast<int>(value) + 1) % values);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<std::int64_t>(value) + next());
    } else {
      fill_one(value);
    }
  }
  template <class Tag>
  void fill_one(Quantity<Tag>& value) {
    value += Quantity<Tag>(next());
  }
  template <class Tag, class Rep>
  void fill_one(Id<Tag, Rep>& value) {
    value = Id<Tag, Rep>(static_cast<Rep>(next()));
  }
  void fill_one(Rate& value) { value = Rate(Rate::kLeast + next()); }
  template <class First, class Second>
  void fill_one(std::pair<First, Second>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <class T>
  void fill_one(std::set<T>& values) {
    for (int n = 0; n < 2; ++n) values.insert(make<T>());
  }
  void fill_one(Duration& value) { value = Duration(next()); }
  void fill_one(Instant& value) { value = instant_from_micros(next()); }
  void fill_one(std::string& value) { value += "text " + std::to_string(next()); }
  void fill_one(Label& value) { value = "text " + std::to_string(next()); }
  template <class T>
  void fill_one(Boxed<T>& value) {
    value = make<T>();
  }
  template <class T>
  void fill_one(std::vector<T>& values) {
    values.push_back(make<T>());
    values.push_back(make<T>());
  }
  template <class T>
  void fill_one(std::optional<T>& value) {
    value = make<T>();
  }
  template <class K, class V>
  void fill_one(std::map<K, V>& values) {
    for (int n = 0; n < 2; ++n) {
      V value = make<V>();  // Of two arguments, which is made first is the compiler's choice.
      values.emplace(make<K>(), std::move(value));
    }
  }
  template <class T>
    requires requires(T& value) { members(value); }
  void fill_one(T& value) {
    std::apply([&](auto&... field) { (this->fill(field), ...); }, members(value));
  }

  std::int64_t next() { return ++last_ % 100 + 1; }

  std::int64_t last_ = 0;
};

/// One of each alternative, in the order of the variant.
template <class Variant>
std::vector<Variant> one_of_each() {
  Sampler sampler;
  std::vector<Variant> all;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (all.emplace_back(sampler.make<std::variant_alternative_t<I, Variant>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Variant>>{});
  return all;
}

template <class T>
std::string encoded(const T& value) {
  ByteWriter out;
  codec::put(out, value);
  return out.take();
}

}  // namespace berth::test
