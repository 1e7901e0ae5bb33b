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

std::uint32_t upper_half(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

std::size_t NameTable::slot_of(std::string_view name, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.number == 0) return at;
    if (slot.hash == upper_half(hash) && text_of(names_[slot.number - 1]) == name) return at;
  }
}

void NameTable::grow() {
  constexpr std::size_t kFirst = 1024;
  slots_.assign(slots_.empty() ? kFirst : slots_.size() * 2, {});
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Name& name = names_[i];
    slots_[slot_of(text_of(name), name.hash)] = {static_cast<std::uint32_t>(i + 1),
                                                 upper_half(name.hash)};
  }
}

std::size_t NameTable::number(std::string_view name) {
  if (names_.size() * 2 >= slots_.size()) grow();
  const std::uint64_t hash = hash_of_name(name);
  Slot& slot = slots_[slot_of(name, hash)];
  if (slot.number == 0) {
    names_.push_back({letters_.size(), name.size(), hash});
    letters_.append(name);
    slot = {static_cast<std::uint32_t>(names_.size()), upper_half(hash)};
  }
  return slot.number - 1;
}

}  // namespace berth::trace
