// Structures as bytes: one description of a structure's members serves writing and reading.
//
// A structure takes part by an overload of members() that ties its fields in order (members.hpp). A
// reader given bad bytes ends in failed() and never allocates more than the bytes could describe.
//
// What is kept on a disk says in which layout it is. A change of members makes a new layout: one
// more in kLayout (bytes.hpp) and, for each structure that changed, an overload `members(T&,
// Before<N>)` with the members that it had before layout N, which a reader of such a layout uses.
// New alternatives of a choice go to its end, so readers need nothing for them. Nothing is written
// in an older layout.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/boxed.hpp"
#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/label.hpp"
#include "core/base/rate.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth::codec {

template <class T>
void put(ByteWriter& out, const T& value);
template <class T>
void get(ByteReader& in, T& value);

template <class T>
constexpr bool is_plain = std::is_integral_v<T> || std::is_enum_v<T>;

// ---- Writing ---------------------------------------------------------------------------------

template <class Tag>
void put_one(ByteWriter& out, const Quantity<Tag>& value) {
  out.integer(value.raw());
}
template <class Tag, class Rep>
void put_one(ByteWriter& out, const Id<Tag, Rep>& value) {
  out.integer(static_cast<std::int64_t>(value.value()));
}
inline void put_one(ByteWriter& out, const Duration& value) { out.integer(micros(value)); }
inline void put_one(ByteWriter& out, const Instant& value) { out.integer(micros(value)); }
inline void put_one(ByteWriter& out, const Rate& value) { out.integer(value.ppm()); }
inline void put_one(ByteWriter& out, const std::string& value) { out.text(value); }
inline void put_one(ByteWriter& out, const Label& value) { out.text(value.text()); }
template <class T>
void put_one(ByteWriter& out, const std::vector<T>& values) {
  out.integer(static_cast<std::int64_t>(values.size()));
  for (const T& value : values) put(out, value);
}
template <class T>
void put_one(ByteWriter& out, const std::optional<T>& value) {
  put(out, value.has_value());
  if (value) put(out, *value);
}
template <class K, class V>
void put_one(ByteWriter& out, const std::map<K, V>& values) {
  out.integer(static_cast<std::int64_t>(values.size()));
  for (const auto& [key, value] : values) put(out, key), put(out, value);
}
template <class First, class Second>
void put_one(ByteWriter& out, const std::pair<First, Second>& value) {
  put(out, value.first), put(out, value.second);
}
template <class T>
void put_one(ByteWriter& out, const std::set<T>& values) {
  out.integer(static_cast<std::int64_t>(values.size()));
  for (const T& value : values) put(out, value);
}
template <class... T>
void put_one(ByteWriter& out, const std::variant<T...>& value) {
  out.integer(static_cast<std::int64_t>(value.index()));
  std::visit([&](const auto& held) { put(out, held); }, value);
}
template <class T>
void put_one(ByteWriter& out, const Boxed<T>& value) {
  put(out, !value.is_default());
  if (!value.is_default()) put(out, *value);
}
template <class T>
  requires requires(T& value) { members(value); }
void put_one(ByteWriter& out, const T& value) {
  std::apply([&](const auto&... field) { (put(out, field), ...); }, members(const_cast<T&>(value)));
}

template <class T>
void put(ByteWriter& out, const T& value) {
  if constexpr (is_plain<T>) {
    out.integer(static_cast<std::int64_t>(value));
  } else {
    put_one(out, value);
  }
}

// ---- Reading ---------------------------------------------------------------------------------

/// A length that the bytes left could hold; fails the reader otherwise.
inline std::size_t get_size(ByteReader& in) {
  const std::int64_t size = in.integer();
  if (size < 0 || static_cast<std::uint64_t>(size) > in.left()) {
    in.fail();
    return 0;
  }
  return static_cast<std::size_t>(size);
}

template <class Tag>
void get_one(ByteReader& in, Quantity<Tag>& value) {
  value = Quantity<Tag>(in.integer());
}
template <class Tag, class Rep>
void get_one(ByteReader& in, Id<Tag, Rep>& value) {
  const std::int64_t number = in.integer();
  value = Id<Tag, Rep>(static_cast<Rep>(number));
  if (static_cast<std::int64_t>(value.value()) != number) in.fail();
}
inline void get_one(ByteReader& in, Duration& value) { value = Duration(in.integer()); }
inline void get_one(ByteReader& in, Instant& value) { value = instant_from_micros(in.integer()); }
inline void get_one(ByteReader& in, Rate& value) {
  const std::int64_t ppm = in.integer();
  value = Rate(ppm);
  if (value.ppm() != ppm) in.fail();
}
inline void get_one(ByteReader& in, std::string& value) { value = std::string(in.text()); }
inline void get_one(ByteReader& in, Label& value) { value = Label(std::string(in.text())); }
template <class T>
void get_one(ByteReader& in, std::vector<T>& values) {
  values.clear();
  for (std::size_t left = get_size(in); left > 0 && !in.failed(); --left) {
    get(in, values.emplace_back());
  }
}
template <class T>
void get_one(ByteReader& in, std::optional<T>& value) {
  bool present = false;
  get(in, present);
  value.reset();
  if (present && !in.failed()) get(in, value.emplace());
}
template <class T>
void get_one(ByteReader& in, Boxed<T>& value) {
  bool present = false;
  get(in, present);
  T held{};
  if (present && !in.failed()) get(in, held);
  if (present && held == T{}) in.fail();  // one value has one form
  value = std::move(held);
}
template <class K, class V>
void get_one(ByteReader& in, std::map<K, V>& values) {
  values.clear();
  for (std::size_t left = get_size(in); left > 0 && !in.failed(); --left) {
    K key{};
    V value{};
    get(in, key), get(in, value);
    if (!values.empty() && !(values.rbegin()->first < key)) in.fail();  // each once, ascending
    values.emplace_hint(values.end(), std::move(key), std::move(value));
  }
}
template <class First, class Second>
void get_one(ByteReader& in, std::pair<First, Second>& value) {
  get(in, value.first), get(in, value.second);
}
template <class T>
void get_one(ByteReader& in, std::set<T>& values) {
  values.clear();
  for (std::size_t left = get_size(in); left > 0 && !in.failed(); --left) {
    T value{};
    get(in, value);
    if (!values.empty() && !(*values.rbegin() < value)) in.fail();  // each once, ascending
    values.emplace_hint(values.end(), std::move(value));
  }
}
template <class... T>
void get_one(ByteReader& in, std::variant<T...>& value) {
  const std::int64_t index = in.integer();
  const auto try_one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (index == static_cast<std::int64_t>(I)) get(in, value.template emplace<I>());
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (try_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::index_sequence_for<T...>{});
  if (index < 0 || index >= static_cast<std::int64_t>(sizeof...(T))) in.fail();
}
/// Chooses the members that a structure had before layout kSince. The layout after today's is there
/// too, for tests.
template <int kSince>
struct Before {
  static_assert(kOldestLayout < kSince && kSince <= kLayout + 1);
};

template <class T>
  requires requires(T& value) { members(value); }
void get_one(ByteReader& in, T& value) {
  const auto get_all = [&](auto&&... field) { (get(in, field), ...); };
  const auto is_before = [&]<int kSince>(std::integral_constant<int, kSince>) {
    if constexpr (requires { members(value, Before<kSince>()); }) {
      if (in.layout() >= kSince) return false;
      std::apply(get_all, members(value, Before<kSince>()));
      return true;
    }
    return false;
  };
  // The first change after the layout of these bytes says which members are there.
  const bool is_done = [&]<int... kStep>(std::integer_sequence<int, kStep...>) {
    return (is_before(std::integral_constant<int, kOldestLayout + 1 + kStep>()) || ...);
  }(std::make_integer_sequence<int, kLayout + 1 - kOldestLayout>());
  if (!is_done) std::apply(get_all, members(value));
}

template <class T>
void get(ByteReader& in, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const std::int64_t number = in.integer();
    if (number < 0 || number > static_cast<std::int64_t>(last_of(T{}))) return in.fail();
    value = static_cast<T>(number);
  } else if constexpr (std::is_integral_v<T>) {
    const std::int64_t number = in.integer();
    value = static_cast<T>(number);
    if (static_cast<std::int64_t>(value) != number) in.fail();
  } else {
    get_one(in, value);
  }
}

// ---- What is kept for years ------------------------------------------------------------------

/// The value with the layout in front.
template <class T>
std::string kept(const T& value) {
  ByteWriter out;
  out.integer(kLayout);
  put(out, value);
  return out.take();
}

/// Reads the layout in front of a value. Returns: whether it is one that is read here.
inline bool get_layout(ByteReader& in) {
  const std::int64_t layout = in.integer();
  if (layout < kOldestLayout || layout > kLayout) return false;
  in.set_layout(static_cast<int>(layout));
  return true;
}

/// Reads what kept() wrote with this layout or an older one. Returns: whether it is that, whole.
template <class T>
bool get_kept(std::string_view bytes, T& value) {
  ByteReader in(bytes);
  if (!get_layout(in)) return false;
  get(in, value);
  return !in.failed() && in.at_end();
}

}  // namespace berth::codec
