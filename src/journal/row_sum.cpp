#include "journal/row_sum.hpp"

#include "journal/checksum.hpp"

namespace berth::journal {

namespace {

/// NULL must not count as nothing: the values behind it would change their places.
constexpr std::int64_t kNull = 0x6e756c6c;

std::string_view bytes_of(sqlite3_value* value) {
  const auto* const bytes = static_cast<const char*>(sqlite3_value_blob(value));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

void add(Checksum& sum, sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      sum.add(std::int64_t{sqlite3_value_int64(value)});
      break;
    case SQLITE_NULL:
      sum.add(kNull);
      break;
    default:
      sum.add(bytes_of(value));
  }
}

void row_part(sqlite3_context* context, int count, sqlite3_value** values) {
  Checksum sum;
  for (int i = 0; i < count; ++i) add(sum, values[i]);
  sqlite3_result_int64(context, sum.value());
}

void row_mix(sqlite3_context* context, int count, sqlite3_value** values) {
  std::int64_t mixed = 0;
  for (int i = 0; i < count; ++i) mixed ^= sqlite3_value_int64(values[i]);
  sqlite3_result_int64(context, mixed);
}

}  // namespace

Expected<void> add_row_sums(const Connection& db) {
  constexpr int kHow = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  for (const auto& [name, function] : {std::pair("row_part", &row_part), {"row_mix", &row_mix}}) {
    const int code = sqlite3_create_function_v2(db.raw(), name, -1, kHow, nullptr, function,
                                                nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(db.error(code));
  }
  return {};
}

}  // namespace berth::journal
