#include "core/base/question.hpp"

#include <string>

#include "core/base/codec.hpp"

namespace berth {

std::uint64_t Question::number() const {
  ByteWriter out;
  codec::put(out, *this);
  // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char byte : out.take()) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
  return hash == 0 ? 1 : hash;
}

std::size_t Question::columns() const {
  return std::visit([](const auto& question) -> std::size_t { return question.columns; }, what);
}

}  // namespace berth
