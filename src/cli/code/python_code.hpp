// Python source as tokens, each with the call that it stands in: what is needed to find a plain
// value such as `Trainer(devices=2)`. Comments are left out, and so is what texts of several lines
// have in them; nothing is run or understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

enum class PythonKind : std::uint8_t { Name, Number, String, Sign };

struct PythonToken {
  PythonKind kind = PythonKind::Sign;
  std::string text;  ///< Of a string without its quotes; "" of one of several lines.
  std::size_t line = 1;
  std::size_t opener = 0;  ///< The bracket that it stands in, by its place + 1; 0 for none.
  std::size_t closer = 0;  ///< Of an opening bracket: where it ends, likewise.

  bool is(std::string_view sign) const { return kind == PythonKind::Sign && text == sign; }
  bool is_named(std::string_view name) const { return kind == PythonKind::Name && text == name; }
};

class PythonCode {
 public:
  explicit PythonCode(std::string_view text);

  std::size_t size() const { return tokens_.size(); }
  /// The token at this place; a sign without a text behind the last and before the first.
  const PythonToken& operator[](std::size_t at) const;

  /// `torch.cuda.device` before the bracket at `open`; "" where no name stands before it.
  std::string callee(std::size_t open) const;
  /// Whether any call that `at` stands in has a callee that ends in one of these.
  bool is_within(std::size_t at, const std::vector<std::string_view>& callees) const;
  /// Whether the value at `at` is the whole of an argument or of what is assigned, as no part of a
  /// condition, a sum or a key is. `length`: its tokens.
  bool is_whole_value(std::size_t at, std::size_t length) const;
  /// The whole numbers of `2`, `[0, 1]`, `(0,)` and `"0,1"` at `at`; nothing for any other value.
  struct Value {
    std::vector<int> numbers;
    bool is_list = false;
    std::string shown;
  };
  std::optional<Value> numbers_at(std::size_t at) const;

 private:
  void read(std::string_view text);
  std::size_t read_string(std::string_view text, std::size_t at);
  void add(PythonKind kind, std::string_view text);
  void add_sign(std::string_view text);

  std::vector<PythonToken> tokens_;
  std::vector<std::size_t> open_;  ///< Places of the brackets that are not closed.
  std::size_t line_ = 1;
};

/// Of `0`, `0,1` and `[0, 1]`; nothing of anything else, and of more than 64.
std::optional<std::vector<int>> listed_numbers(std::string_view list);

}  // namespace berth::cli
