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
  if (const auto* const matching = std::get_if<Matching>(&what)) return matching->edges.size();
  if (const auto* const program = std::get_if<LinearProgram>(&what)) return program->columns;
  return std::get<LeastSlowdown>(what).columns;
}

}  // namespace berth
