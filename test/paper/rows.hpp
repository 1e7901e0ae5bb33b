// The rows of a file that a peer's run left, for tests that compare with it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/paths.hpp"
#include "trace/csv.hpp"
#include "trace/gzip.hpp"

namespace berth::test {

/// A table, row by row. A text or a column that is not there fails the test.
class Rows {
 public:
  Rows(std::string text, const std::string& name)
      : text_(std::make_unique<std::string>(std::move(text))) {
    auto csv = trace::Csv::open(*text_, name);
    EXPECT_TRUE(csv.has_value()) << name;
    csv_ = std::move(*csv);
  }
  /// A file of the published data (BERTH_SHARED), perhaps compressed.
  explicit Rows(const std::filesystem::path& file) : Rows(text_of(file), file.filename()) {}

  bool next() { return csv_->next().value_or(false); }
  std::string text(const char* column) const {
    return std::string(csv_->field(*csv_->column(column)));
  }
  double number(const char* column) const { return std::stod(text(column)); }
  int whole(const char* column) const { return std::stoi(text(column)); }

 private:
  static std::string text_of(const std::filesystem::path& file) {
    const std::string bytes = read_file(shared_dir() / file);
    return file.extension() == ".gz" ? *trace::unpacked(bytes, file.string()) : bytes;
  }
  std::unique_ptr<std::string> text_;  ///< Which the other refers to.
  std::optional<trace::Csv> csv_;
};

}  // namespace berth::test
