// Damage to the files that a killed daemon left, from a seed, and what becomes of each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace berth::test {

enum class Verdict {
  Same,     ///< Everything is as it was, and nothing was said.
  Told,     ///< What is shown is as it was, what is not is named, and the start says so.
  Refused,  ///< It is not opened, the reason names the file, and no file was changed.
  Wrong,    ///< Other content, or content is missing without a message.
};

struct Damage {
  std::string file;  ///< `journal.db-wal`; `snapshot` is a place in journal.db.
  std::string kind;  ///< `a turned bit`.
  Verdict verdict = Verdict::Same;
  std::string words;  ///< What was said, or what is wrong.
};

class Campaign {
 public:
  Campaign();
  ~Campaign();

  /// The same for the same seed.
  Damage run(std::uint64_t seed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Counts by kind of damage, file and verdict, as a table in Markdown.
class DamageTable {
 public:
  void add(const Damage& damage) { ++counts_[{damage.file, damage.kind}][damage.verdict]; }
  std::string text() const;

 private:
  std::map<std::pair<std::string, std::string>, std::map<Verdict, int>> counts_;
};

}  // namespace berth::test
