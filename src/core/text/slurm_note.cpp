#include "core/text/slurm_note.hpp"

#include <limits>

#include "core/base/split.hpp"
#include "core/text/amounts.hpp"
#include "core/text/words.hpp"

namespace berth {

namespace {

constexpr std::string_view kMark = "berth";

std::unexpected<Error> refuse(std::string_view word, const std::string& why) {
  return fail(ErrorCode::BadData,
              "admin_comment: '" + std::string(word.substr(0, 60)) + "' " + why);
}

Expected<void> read_word(SlurmNote& note, std::string_view word) {
  std::string_view value = word;
  const std::string_view key = next_part(value, '=');
  if (key == "vram") {
    const auto size = parse_size(value);
    if (!size) return refuse(word, size.error().message);
    note.vram = Bytes(shards_of(*size) * kShard);  // as Slurm counts it
  } else if (key == "gpus") {
    const auto count = parse_count(value, 1 << 20);
    if (!count) return refuse(word, count.error().message);
    note.gpus = *count;
  } else if (key == "class") {
    const auto known = from_word<DurationClass>(value);
    if (!known) return refuse(word, "is none of " + all_words<DurationClass>());
    note.duration_class = *known;
  } else if (key == "attempt") {
    const auto number = parse_count(value, std::numeric_limits<std::uint32_t>::max());
    if (!number) return refuse(word, number.error().message);
    note.attempt = Attempt(static_cast<std::uint32_t>(*number));
  } else if (key == "at") {
    note.place = value;
  } else if (word == "held") {
    note.is_held = true;
  } else {
    return refuse(word, "is unknown");
  }
  return {};
}

}  // namespace

std::string to_text(const SlurmNote& note) {
  std::string text(kMark);
  if (note.vram > Bytes(0)) text += " vram=" + std::to_string(shards_of(note.vram)) + "GiB";
  text += " gpus=" + std::to_string(note.gpus);
  text += " class=" + std::string(word_for(note.duration_class));
  if (note.is_held) text += " held";
  if (note.attempt != Attempt(0)) text += " attempt=" + std::to_string(note.attempt.value());
  if (!note.place.empty()) text += " at=" + note.place;
  return text;
}

Expected<std::optional<SlurmNote>> parse_slurm_note(std::string_view comment) {
  // What follows a semicolon is for people.
  std::string_view rest = comment.substr(0, comment.find(';'));
  if (next_part(rest, ' ') != kMark) return std::nullopt;
  SlurmNote note;
  while (!rest.empty()) {
    const std::string_view word = next_part(rest, ' ');
    if (word.empty()) continue;
    if (auto done = read_word(note, word); !done) return std::unexpected(done.error());
  }
  return note;
}

}  // namespace berth
