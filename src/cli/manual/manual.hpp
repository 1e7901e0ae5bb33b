// The manual page of each verb, berth-VERB(1), from its options as `--help` has them and from what
// manual_texts.cpp adds: a description, examples, what its exit codes mean.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace berth::cli {

struct Example {
  std::string_view command;  ///< `berth run ...`, as typed in a shell without its expansions.
  std::string_view meaning;
};

struct ManualText {
  std::string_view verb;
  std::string_view description;  ///< Paragraphs, with an empty line between two.
  std::vector<Example> examples;
  std::string_view exit_status;  ///< "": as every verb's.
  std::string_view see_also;     ///< Of other pages: `berth-why(1), berth-logs(1)`.
};

/// Null for a verb without one.
const ManualText* manual_text(std::string_view verb);

/// In mdoc. Requires: `verb` is the verb's part of the command line, `text` its own.
std::string manual_page(const CLI::App& verb, const ManualText& text);

/// `SIZE` of --vram; `VALUE` where the type says no more than text or number; "" of a flag.
std::string value_name(const CLI::Option& option);

/// The words of a shell's line with single quotes.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace berth::cli
