// A policy's memory as bytes, from one description of its members (core/base/codec.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/codec.hpp"
#include "core/base/error.hpp"

namespace berth {

template <class State>
std::string saved(const State& state) {
  ByteWriter out;
  codec::put(out, state);
  return out.take();
}

/// Reads the bytes of saved() into `state`; no bytes are the state of a policy that has seen
/// nothing. `is_sane(state)` refuses a state that the policy could not have saved. Errors: BadData,
/// naming the policy, which is `whose`; `state` is unchanged then.
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
