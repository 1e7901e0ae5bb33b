// One step as a journal entry: its instant, inputs and decisions. doc/journal-format.md.
//
// The same inputs re-decided by the same build and configuration give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/decision.hpp"
#include "core/input.hpp"

namespace berth {

struct JournalEntry {
  Instant now;
  std::vector<Input> inputs;
  std::vector<Decision> decisions;
};

std::string encode_inputs(std::span<const Input> inputs);
std::string encode_decisions(std::span<const Decision> decisions);
std::string encode(const JournalEntry& entry);

/// Errors: BadData for bytes that encode() did not write, whatever they are.
Expected<std::vector<Input>> decode_inputs(std::string_view bytes);
Expected<std::vector<Decision>> decode_decisions(std::string_view bytes);
Expected<JournalEntry> decode_entry(std::string_view bytes);

}  // namespace berth
