// A policy's memory as bytes, from one description of it: whatever core/codec.hpp can write.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/bytes.hpp"
#include "core/codec.hpp"
#include "core/error.hpp"

namespace berth {

template <class State>
std::string saved(const State& state) {
  ByteWriter out;
  codec::put(out, state);
  return out.take();
}

/// Puts what saved() wrote into `state`; no bytes are the state of a policy that has seen nothing.
/// `is_sane(state)` refuses what the policy could not have saved. Errors: BadData, naming `whose`
/// memory it was to be; `state` is as it was then.
template <class State, class IsSane>
Expected<void> restore_into(State& state, std::string_view bytes, std::string_view whose,
                            IsSane is_sane) {
  State read{};
  if (!bytes.empty()) {
    ByteReader in(bytes);
    codec::get(in, read);
    if (in.failed() || !in.at_end() || !is_sane(std::as_const(read))) {
      return fail(ErrorCode::BadData, "policy memory: not that of " + std::string(whose));
    }
  }
  state = std::move(read);
  return {};
}

}  // namespace berth
