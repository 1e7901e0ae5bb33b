// What is said of numbers of GPUs that a job will not see, and of counts that it does not ask for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

/// A setting that takes this part of a card's memory, whatever the job asks for.
struct MemoryShare {
  std::string where;  ///< `FILE:LINE: `; "" of the command.
  std::string written;
  double part = 0;
};

class GpuWarnings {
 public:
  /// `gpus`: that the job asks for; of an elastic one nothing, and nothing is said of numbers then.
  explicit GpuWarnings(std::optional<int> gpus) : gpus_(gpus) {}

  /// What follows is of this file, of which the first three are said; "" is the command.
  void begin(const std::string& file) { file_ = file; }
  const std::string& file() const { return file_; }

  /// `written` asks for the GPU of this number, as `cuda:1` does.
  void number(std::size_t line, const std::string& written, int number,
              std::string_view before = "number ");
  /// `written` asks for as many.
  void count(std::size_t line, const std::string& written, int count);
  /// CUDA_VISIBLE_DEVICES is set to `value`, if that is a list of numbers.
  void visible(std::size_t line, std::string_view value);
  /// A port of torch's is set to `value`.
  void port(std::size_t line, const std::string& written, std::string_view value);
  /// A part of a card's memory is set; nothing if that is no number from 0 to 1.
  void share(std::size_t line, const std::string& written, std::string_view part);
  /// Says this once, whatever the file.
  void say(std::size_t line, const std::string& warning);

  /// `FILE:LINE: ...`; without these of the command.
  const std::vector<std::string>& list() const { return list_; }
  const std::vector<MemoryShare>& shares() const { return shares_; }

 private:
  std::string asked() const;
  std::size_t of_file() const;
  std::string where(std::size_t line) const;

  std::optional<int> gpus_;
  std::string file_;
  std::vector<std::string> list_;
  std::vector<std::string> said_;  ///< The same, without the lines.
  std::vector<MemoryShare> shares_;
};

}  // namespace berth::cli
