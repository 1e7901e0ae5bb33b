#include "trace/name_table.hpp"

namespace berth::trace {

namespace {

/// FNV-1a; the end is mixed, because the table uses the low bits.
std::uint64_t hash_of_name(std::string_view name) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  }
  return hash ^ (hash >> 32);
}

}  // namespace

std::size_t NameTable::slot_of(std::string_view name, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return at;
    const Name& there = names_[slots_[at] - 1];
    if (there.hash == hash && text_of(there) == name) return at;
  }
}

void NameTable::grow() {
  constexpr std::size_t kFirst = 1024;
  slots_.assign(slots_.empty() ? kFirst : slots_.size() * 2, 0);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    slots_[slot_of(text_of(names_[i]), names_[i].hash)] = i + 1;
  }
}

std::size_t NameTable::number(std::string_view name) {
  if (names_.size() * 2 >= slots_.size()) grow();
  const std::uint64_t hash = hash_of_name(name);
  const std::size_t slot = slot_of(name, hash);
  if (slots_[slot] == 0) {
    names_.push_back({letters_.size(), name.size(), hash});
    letters_.append(name);
    slots_[slot] = names_.size();
  }
  return slots_[slot] - 1;
}

}  // namespace berth::trace
