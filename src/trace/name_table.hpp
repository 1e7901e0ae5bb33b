// Numbers for names, for files with millions of them: a lookup takes the same time however many
// there are. Nothing is read from it in an order, so that its hash is nobody's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::trace {

class NameTable {
 public:
  /// A name's number, from 0 in the order in which names are first asked for; 2^32 - 1 of them at
  /// most.
  std::size_t number(std::string_view name);
  std::size_t size() const { return names_.size(); }

 private:
  struct Name {
    std::size_t from;  ///< In letters_.
    std::size_t size;
    std::uint64_t hash;
  };
  /// Half of the hash beside the number: another name is then seldom looked at.
  struct Slot {
    std::uint32_t number = 0;  ///< In names_, counted from 1; 0: free.
    std::uint32_t hash = 0;
  };
  std::string_view text_of(const Name& name) const {
    return std::string_view(letters_).substr(name.from, name.size);
  }
  /// The slot that has the name, or is free for it. Requires: a free slot.
  std::size_t slot_of(std::string_view name, std::uint64_t hash) const;
  void grow();

  std::string letters_;
  std::vector<Name> names_;
  std::vector<Slot> slots_;  ///< A power of two of them.
};

}  // namespace berth::trace
