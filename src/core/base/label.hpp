// A text that most jobs do not have: the size of a pointer, and nothing else where it is empty.
//
// A replay holds a million jobs, and their size is what it waits for. A value type.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace berth {

class Label {
 public:
  Label() = default;
  Label(std::string text)  // NOLINT(google-explicit-constructor): it is a text
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}
  Label(const char* text) : Label(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Label(const Label& other)
      : text_(other.text_ ? std::make_unique<const std::string>(*other.text_) : nullptr) {}
  Label(Label&&) = default;
  Label& operator=(const Label& other) { return *this = Label(other); }
  Label& operator=(Label&&) = default;
  ~Label() = default;

  bool empty() const { return text_ == nullptr; }
  const std::string& text() const {
    static const std::string kEmpty;
    return text_ ? *text_ : kEmpty;
  }
  operator const std::string&() const { return text(); }  // NOLINT(google-explicit-constructor)

  bool operator==(const Label& other) const { return text() == other.text(); }

 private:
  std::unique_ptr<const std::string> text_;
};

}  // namespace berth
