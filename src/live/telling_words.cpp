#include "live/telling_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/text.hpp"

namespace berth::live {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <std::size_t size>
bool is_among(const std::array<std::string_view, size>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// ---- Names of options ------------------------------------------------------------------------

/// The kind of what an option says.
enum class Kind : std::uint8_t {
  Telling,
  Count,   ///< A seed, port or rank, if it is a number.
  Rank,    ///< `--rank`: of a process if it is small, else of an adapter's matrices.
  Epochs,  ///< A number of epochs, or of one, if it is a number.
  Output,  ///< Where the output goes, unless it is a number.
  Resume,  ///< What the run goes on from, unless that names more than a checkpoint of its own.
  Meeting  ///< Where the processes of one run find each other.
};

constexpr std::size_t kLongestName = 64;  ///< Longer words are no names of options.

/// `--masterPort` is `master`, `port`: in small letters, without what stands between them.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  bool begins = true;
  char before = ' ';
  for (const char c : name) {
    const bool is_part = is_letter(c) || is_digit(c);
    begins = begins || (is_upper(c) && !is_upper(before));
    before = c;
    if (!is_part) {
      begins = true;
      continue;
    }
    if (std::exchange(begins, false)) parts.emplace_back();
    parts.back() += lowered(c);
  }
  return parts;
}

/// A rank is that of a process; that of a matrix (`--lora_rank`) decides how much memory it takes.
bool is_rank(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 12> kWhose = {"local", "node",    "machine", "global",
                                                       "world", "process", "proc",    "dist",
                                                       "ddp",   "mpi",     "trainer", "worker"};
  const auto is_of_process = [&](const std::string& part) { return is_among(kWhose, part); };
  return parts.back() == "localrank" || parts.back() == "noderank" ||
         (parts.size() > 1 && parts.back() == "rank" &&
          std::ranges::all_of(parts.first(parts.size() - 1), is_of_process));
}

/// Not of its length, as `--seed_len`.
bool is_seed(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 6> kOf = {"everything", "value",  "num",
                                                   "number",     "offset", "id"};
  const auto says = [](std::string_view part) { return part == "seed" || part.ends_with("seed"); };
  if (says(parts.back())) return true;
  const bool is_of = parts.size() > 1 && says(*(parts.end() - 2)) && is_among(kOf, parts.back());
  return is_of || (parts.size() > 1 && *(parts.end() - 2) == "random" && parts.back() == "state");
}

bool is_output(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 9> kOne = {
      "output", "outputs", "out", "outdir", "logdir", "savedir", "outfile", "logfile", "rundir"};
  constexpr std::array<std::string_view, 14> kWhat = {
      "output", "outputs", "out", "log",   "logs",        "logging",    "save",
      "result", "results", "run", "sweep", "tensorboard", "experiment", "exp"};
  constexpr std::array<std::string_view, 6> kWhere = {"dir",    "path", "file",
                                                      "folder", "to",   "directory"};
  if (is_among(kOne, parts.back())) return true;
  return parts.size() > 1 && is_among(kWhere, parts.back()) && is_among(kWhat, *(parts.end() - 2));
}

Kind kind_of(std::string_view name) {
  if (name.size() > kLongestName) return Kind::Telling;
  const std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) return Kind::Telling;
  const std::string& last = parts.back();
  const auto any = [&](auto is) { return std::ranges::any_of(parts, is); };
  const auto ends_with = [&](std::string_view end) {
    return std::string_view(last).ends_with(end);
  };
  if (parts.front() == "rdzv" || last == "masteraddr") return Kind::Meeting;
  if (parts.size() > 1 && *(parts.end() - 2) == "master" && last == "addr") return Kind::Meeting;
  const bool is_epoch = ends_with("epoch") || ends_with("epochs");
  const bool is_per = parts.size() > 1 && *(parts.end() - 2) == "per";
  if (is_epoch && !is_per) return Kind::Epochs;
  if (is_seed(parts)) return Kind::Count;
  if (parts.size() == 1 && last == "rank") return Kind::Rank;
  if (last == "port" || last == "masterport" || is_rank(parts)) return Kind::Count;
  if (any([](std::string_view part) { return part == "resume" || part == "restore"; }))
    return Kind::Resume;
  return is_output(parts) ? Kind::Output : Kind::Telling;
}

// ---- What they say ---------------------------------------------------------------------------

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto is_part = [](char c) {
    return is_digit(c) || c == '.' || c == '_' || lowered(c) == 'e' || c == '+' || c == '-';
  };
  return !text.empty() && is_digit(text.front()) && std::ranges::all_of(text, is_part);
}

/// Another script or configuration is another program.
bool is_code(std::string_view word) {
  constexpr std::array<std::string_view, 16> kEndings = {
      "py",   "sh",  "bash", "yaml", "yml", "json", "toml",  "cfg",
      "conf", "ini", "gin",  "xml",  "r",   "jl",   "ipynb", "lua"};
  const std::size_t dot = word.rfind('.');
  if (dot == word.npos || word.size() - dot > 6) return false;
  std::string ending;
  for (const char c : word.substr(dot + 1)) ending += lowered(c);
  return is_among(kEndings, ending);
}

// ---- Paths -----------------------------------------------------------------------------------

/// A name without letters, as `17` and `2026-11-27`, is one of many alike.
bool is_one_of_many(std::string_view name) {
  return !name.empty() && is_digit(name.front()) && std::ranges::none_of(name, is_letter);
}

/// The letters that end at `end`, in small ones.
std::string letters_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  std::string letters;
  for (const char c : text.substr(begin, end - begin)) letters += lowered(c);
  return letters;
}

/// `epoch_3.pt` and `epoch_4.pt` are alike, `llama-7b` and `llama-70b` are not.
std::string without_counts(std::string_view name) {
  constexpr std::array<std::string_view, 14> kCounted = {
      "seed", "epoch", "step", "steps", "iter",    "iteration", "checkpoint",
      "ckpt", "rank",  "run",  "trial", "version", "job",       "attempt"};
  if (is_one_of_many(name)) return "#";
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    if (!is_digit(name[at])) {
      text += name[at++];
      continue;
    }
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool has_sign = at > 0 && std::string_view("-_=.").contains(name[at - 1]);
    const bool is_size = end < name.size() && is_letter(name[end]);
    const bool is_count = !is_size && is_among(kCounted, letters_before(name, at - has_sign));
    text += is_count ? std::string_view("#") : name.substr(at, end - at);
    at = end;
  }
  return text;
}

/// The number of a script or a configuration tells which it is, and that at the end what is in it,
/// as `data/256`, unless it is a date.
std::string path_without_counts(std::string_view path) {
  constexpr std::size_t kDate = 8;
  std::string text;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, slash - at);
    const bool is_size = name.size() < kDate && std::ranges::all_of(name, is_digit);
    const bool is_kept = slash == path.size() && (is_code(name) || is_size);
    text += is_kept ? std::string(name) : without_counts(name);
    if (slash < path.size()) text += '/';
    at = slash + 1;
  }
  return text;
}

/// `out/checkpoint-500`, `runs/17/last.ckpt`: nothing that tells one model from another.
bool is_own_checkpoint(std::string_view path) {
  constexpr std::array<std::string_view, 35> kPlain = {
      "",       "auto",  "best",    "checkpoint", "checkpoints", "ckpt",    "ckpts",
      "epoch",  "exp",   "final",   "iter",       "last",        "latest",  "log",
      "logs",   "model", "models",  "none",       "out",         "output",  "outputs",
      "result", "run",   "results", "runs",       "save",        "saved",   "state",
      "step",   "steps", "tmp",     "true",       "version",     "weights", "yes"};
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    std::string_view name = path.substr(at, slash - at);
    if (slash == path.size()) name = name.substr(0, std::min(name.find('.'), name.size()));
    std::string word;
    for (const char c : without_counts(name)) {
      if (is_letter(c)) word += lowered(c);
      const bool is_plain = is_letter(c) || std::string_view("#-_=.").contains(c);
      if (!is_plain) return false;
      if (is_letter(c)) continue;
      if (!is_among(kPlain, word)) return false;
      word.clear();
    }
    if (!is_among(kPlain, word)) return false;
    at = slash + 1;
  }
  return true;
}

bool is_dropped(Kind kind, std::string_view value, Telling telling) {
  switch (kind) {
    case Kind::Telling:
      return false;
    case Kind::Count:
      return is_number(value);
    case Kind::Epochs:
      return telling == Telling::Memory && is_number(value);
    case Kind::Output:
      return !is_number(value);
    case Kind::Rank:
      return value.size() == 1 && value[0] >= '0' && value[0] <= '3';
    case Kind::Resume:
      return !is_code(value) && is_own_checkpoint(value);
    case Kind::Meeting:
      return true;
  }
  return false;
}

/// `tcp://host:29501` and `10.0.0.1:29501` without the port; nothing if there is none.
std::optional<std::string> without_port(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  const std::string_view port = colon == word.npos ? std::string_view() : word.substr(colon + 1);
  const bool is_port = port.size() >= 2 && port.size() <= 5 && std::ranges::all_of(port, is_digit);
  if (!is_port) return std::nullopt;
  const std::string_view host = word.substr(0, colon);
  const bool is_host = host.contains("://") || host == "localhost" ||
                       (host.contains('.') && std::ranges::none_of(host, is_letter));
  return is_host ? std::optional(std::string(host) + ":#") : std::nullopt;
}

std::string telling_value(std::string_view word, std::string_view directory) {
  if (auto host = without_port(word)) return std::move(*host);
  if (word.contains("://")) return std::string(word);
  const bool is_local = word.starts_with("./") || word.starts_with("../") ||
                        (is_code(word) && !word.starts_with('/'));
  if (is_local) {
    const std::filesystem::path whole = std::filesystem::path(directory) / word;
    return path_without_counts(whole.lexically_normal().native());
  }
  const bool is_file = word.contains('/') || word.ends_with(".pt") || word.ends_with(".pth") ||
                       word.ends_with(".ckpt") || word.ends_with(".safetensors");
  return is_file ? path_without_counts(word) : std::string(word);
}

// ---- The words -------------------------------------------------------------------------------

std::vector<std::string_view> split(std::span<const std::string> arguments) {
  std::vector<std::string_view> words;
  for (const std::string& argument : arguments) {
    const std::string_view word(argument);
    const std::size_t before = words.size();
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = static_cast<std::size_t>(
          std::find_if(word.begin() + static_cast<std::ptrdiff_t>(at), word.end(), is_blank) -
          word.begin());
      if (end > at) words.push_back(word.substr(at, end - at));
      at = end + 1;
    }
    if (words.size() == before) words.emplace_back();  // an empty one is a word too
  }
  return words;
}

class Reader {
 public:
  Reader(std::string_view directory, Telling telling) : directory_(directory), telling_(telling) {}

  std::vector<std::string> take(const std::vector<std::string_view>& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      const std::string_view word = words[at];
      if (at == 0) {
        add_program(word);
      } else if (const auto said = saying_of(word)) {
        say(said->first, said->second);
      } else if (is_option(word)) {
        const bool has_value = at + 1 < words.size() && takes(word, words[at + 1]);
        if (has_value) {
          ++at;
        } else {
          add_option(word);
        }
      } else {
        list_.push_back(telling_value(word, directory_));
      }
    }
    return std::move(list_);
  }

 private:
  static bool is_option(std::string_view word) {
    return word.size() > 1 && word.starts_with('-') && !is_number(word);
  }

  /// Of `--name=value` and `name=value`.
  static std::optional<std::pair<std::string_view, std::string_view>> saying_of(
      std::string_view word) {
    const std::size_t sign = word.find('=');
    if (sign == word.npos || sign == 0) return std::nullopt;
    const std::string_view name = word.substr(0, sign);
    const bool is_name = std::ranges::all_of(name, [](char c) {
      return is_letter(c) || is_digit(c) || std::string_view("-_.+~/@").contains(c);
    });
    if (!is_name) return std::nullopt;
    return std::pair(name, word.substr(sign + 1));
  }

  /// `/opt/conda/bin/python` is `python`.
  void add_program(std::string_view word) {
    const std::size_t slash = word.rfind('/');
    const bool is_installed = slash == word.npos || word.substr(0, slash).ends_with("/bin");
    if (is_installed) return list_.push_back(std::string(word.substr(slash + 1)));
    const std::filesystem::path whole = std::filesystem::path(directory_) / word;
    list_.push_back(path_without_counts(whole.lexically_normal().native()));
  }

  void say(std::string_view name, std::string_view value) {
    if (is_dropped(kind_of(name), value, telling_)) return;
    list_.emplace_back(name);
    if (!name.starts_with('-')) list_.back() += '=';
    list_.push_back(telling_value(value, directory_));
  }

  /// True if the next word is what this option says and does not count.
  bool takes(std::string_view option, std::string_view next) const {
    const Kind kind = kind_of(option);
    return kind != Kind::Telling && !is_option(next) && is_dropped(kind, next, telling_);
  }

  /// What is run by `-m` and `-c` is looked for in the folder.
  void add_option(std::string_view word) {
    list_.emplace_back(word);
    if (word == "-m" || word == "-c") list_.push_back(path_without_counts(directory_));
  }

  std::string_view directory_;
  Telling telling_;
  std::vector<std::string> list_;
};

}  // namespace

std::vector<std::string> telling_words(std::span<const std::string> arguments,
                                       std::string_view directory, Telling telling) {
  return Reader(directory, telling).take(split(arguments));
}

}  // namespace berth::live
