#include "live/telling_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/text/text.hpp"

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
  Output,  ///< Where the output goes, or what it is: a number counts, and what has a name.
  Run,     ///< A run's name or its folder: what is left without numbers, dates and ids counts.
  RunId,   ///< Likewise, as W&B makes them.
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

/// Not of its length, as `--seed_len`, nor of how many there are, as `--num_seed`.
bool is_seed(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 4> kOf = {"everything", "value", "offset", "id"};
  constexpr std::array<std::string_view, 9> kHowMany = {"n",     "num", "nb",    "number", "count",
                                                        "total", "max", "nseed", "numseed"};
  const auto says = [](std::string_view part) { return part == "seed" || part.ends_with("seed"); };
  const auto counts = [&](std::string_view part) { return is_among(kHowMany, part); };
  if (std::ranges::any_of(parts, counts)) return false;
  if (says(parts.back())) return true;
  const bool is_of = parts.size() > 1 && says(*(parts.end() - 2)) && is_among(kOf, parts.back());
  return is_of || (parts.size() > 1 && *(parts.end() - 2) == "random" && parts.back() == "state");
}

/// `--output` and `--out`, but not `--fan_out`.
bool is_output(std::span<const std::string> parts) {
  const std::string& last = parts.back();
  return last == "output" || last == "outputs" || (last == "out" && parts.size() == 1);
}

/// `--out_dir` and `--log_file`, but not `--exp_file`, which is a configuration.
bool is_place_of_run(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 7> kOne = {"outdir",  "logdir", "savedir", "outfile",
                                                    "logfile", "rundir", "workdir"};
  constexpr std::array<std::string_view, 10> kWhat = {"output",  "outputs",    "out",  "log",
                                                      "logs",    "logging",    "save", "result",
                                                      "results", "tensorboard"};
  constexpr std::array<std::string_view, 8> kWhoseFolder = {
      "run", "sweep", "experiment", "exp", "work", "ckpt", "checkpoint", "checkpoints"};
  constexpr std::array<std::string_view, 3> kFolder = {"dir", "folder", "directory"};
  constexpr std::array<std::string_view, 3> kWhere = {"path", "file", "to"};
  const std::string& last = parts.back();
  if (is_among(kOne, last)) return true;
  if (parts.size() < 2) return false;
  const std::string& what = *(parts.end() - 2);
  if (is_among(kFolder, last)) return is_among(kWhat, what) || is_among(kWhoseFolder, what);
  return is_among(kWhere, last) && is_among(kWhat, what);
}

/// `--run_name`, `--exp_id`, and `--name` and `--tag` of nothing else.
bool is_name_of_run(std::span<const std::string> parts) {
  constexpr std::array<std::string_view, 9> kAlone = {
      "name", "tag", "trial", "runid", "jobid", "expid", "runname", "expname", "trialid"};
  constexpr std::array<std::string_view, 6> kWhose = {"run",        "wandb", "exp",
                                                      "experiment", "trial", "job"};
  constexpr std::array<std::string_view, 3> kWhat = {"id", "name", "tag"};
  if (parts.back() == "timestamp") return true;
  if (parts.size() == 1) return is_among(kAlone, parts.back());
  return is_among(kWhat, parts.back()) && is_among(kWhose, *(parts.end() - 2));
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
  if (is_output(parts)) return Kind::Output;
  if (!is_place_of_run(parts) && !is_name_of_run(parts)) return Kind::Telling;
  const bool is_wandb = any([](std::string_view part) { return part == "wandb"; });
  return is_wandb && last == "id" ? Kind::RunId : Kind::Run;
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

/// What a name is of: of a run's own, dates and ids do not count either.
enum class Named : std::uint8_t { Any, Run };

/// How much of the text a date at its start takes, and a time behind it, as `20261127` and
/// `2026-11-27_10-30-11`; 0 if there is none.
std::size_t length_of_date(std::string_view text) {
  std::size_t at = 0;
  const auto take = [&](std::size_t digits, int least, int most) {
    const bool has_sign =
        at > 0 && at < text.size() && std::string_view("-_.:T").contains(text[at]);
    const std::string_view number = text.substr(at + (has_sign ? 1 : 0)).substr(0, digits);
    int value = 0;
    for (const char c : number) value = is_digit(c) ? value * 10 + (c - '0') : 1'000'000;
    if (number.size() < digits || value < least || value > most) return false;
    at += (has_sign ? 1 : 0) + digits;
    return true;
  };
  const auto is_whole = [&](std::size_t end) {
    return end == text.size() || (!is_digit(text[end]) && !is_letter(text[end]));
  };
  if (!take(4, 1990, 2099) || !take(2, 1, 12) || !take(2, 1, 31)) return 0;
  const std::size_t day = at;
  if (take(2, 0, 23) && take(2, 0, 59)) {
    take(2, 0, 59);
    if (at < text.size() && text[at] == 'Z') ++at;
    if (is_whole(at)) return at;
  }
  return is_whole(day) ? day : 0;
}

/// `3f2a9c01`, and as a UUID is written.
bool is_hash(std::string_view name) {
  constexpr std::size_t kShortest = 8;
  constexpr std::size_t kShortestPart = 4;
  std::size_t part = 0;
  std::size_t shortest = name.size();
  for (const char c : name) {
    if (!is_digit(c) && !(c >= 'a' && c <= 'f') && c != '-') return false;
    if (c == '-') shortest = std::min(shortest, part);
    part = c == '-' ? 0 : part + 1;
  }
  return name.size() >= kShortest && std::min(shortest, part) >= kShortestPart &&
         std::ranges::any_of(name, is_digit);
}

/// `1x7k2b9q`: eight letters and digits in no order, which `resnet18` is not.
bool is_wandb_id(std::string_view name) {
  constexpr std::size_t kSize = 8;
  constexpr int kFewestChanges = 3;
  int changes = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_digit(name[at]) && (!is_letter(name[at]) || is_upper(name[at]))) return false;
    if (at > 0 && is_digit(name[at]) != is_digit(name[at - 1])) ++changes;
  }
  return name.size() == kSize && changes >= kFewestChanges;
}

/// The number of something that there are many of, all alike.
bool is_counted(std::string_view of_what, std::string_view digits, Named named) {
  constexpr std::array<std::string_view, 14> kCounted = {
      "seed", "epoch", "step", "steps", "iter",    "iteration", "checkpoint",
      "ckpt", "rank",  "run",  "trial", "version", "job",       "attempt"};
  constexpr std::size_t kSecondsSince1970 = 10;
  if (is_among(kCounted, of_what)) return true;
  return named == Named::Run &&
         (of_what == "exp" || of_what == "experiment" || digits.size() >= kSecondsSince1970);
}

/// `epoch_3.pt` and `epoch_4.pt` are alike, `llama-7b` and `llama-70b` are not.
std::string without_counts(std::string_view name, Named named = Named::Any) {
  if (is_one_of_many(name) || (named == Named::Run && is_hash(name))) return "#";
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    if (!is_digit(name[at])) {
      text += name[at++];
      continue;
    }
    if (const std::size_t date = named == Named::Run ? length_of_date(name.substr(at)) : 0) {
      text += '#';
      at += date;
      continue;
    }
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool has_sign = at > 0 && std::string_view("-_=.").contains(name[at - 1]);
    const bool is_size = end < name.size() && is_letter(name[end]);
    const std::string_view digits = name.substr(at, end - at);
    const bool is_count =
        !is_size && is_counted(letters_before(name, at - has_sign), digits, named);
    text += is_count ? std::string_view("#") : digits;
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

std::string without_counts_of_runs(std::string_view path) {
  std::string text;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    text += without_counts(path.substr(at, slash - at), Named::Run);
    if (slash < path.size()) text += '/';
    at = slash + 1;
  }
  return text;
}

/// `last.ckpt` without its ending; that of `model.7b` is none.
std::string_view without_ending(std::string_view name) {
  constexpr std::array<std::string_view, 22> kEndings = {
      "pt",  "pth", "ckpt", "bin", "safetensors", "onnx", "tar", "gz",   "zip", "npz", "npy",
      "pkl", "h5",  "txt",  "log", "csv",         "tsv",  "out", "json", "err", "png", "parquet"};
  for (;;) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0 || !is_among(kEndings, name.substr(dot + 1))) return name;
    name = name.substr(0, dot);
  }
}

/// `out/checkpoint-500`, `runs/17/last.ckpt`: nothing that tells one model from another.
bool names_nothing(std::string_view path, Named named) {
  constexpr std::array<std::string_view, 48> kPlain = {
      "",       "attempt", "auto",   "best",   "checkpoint", "checkpoints", "ckpt",   "ckpts",
      "dir",    "dirs",    "epoch",  "exp",    "experiment", "experiments", "exps",   "final",
      "iter",   "job",     "jobs",   "last",   "latest",     "log",         "logs",   "model",
      "models", "none",    "out",    "output", "outputs",    "rank",        "result", "results",
      "run",    "runs",    "save",   "saved",  "seed",       "state",       "step",   "steps",
      "tmp",    "trial",   "trials", "true",   "version",    "weights",     "work",   "yes"};
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    std::string_view name = path.substr(at, slash - at);
    if (slash == path.size()) name = without_ending(name);
    std::string word;
    for (const char c : without_counts(name, named)) {
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

/// What counts of what an option says; nothing if none of it does.
std::optional<std::string> told_by(Kind kind, std::string_view value, std::string_view directory,
                                   Telling telling) {
  bool counts = true;
  switch (kind) {
    case Kind::Telling:
      break;
    case Kind::Count:
      counts = !is_number(value);
      break;
    case Kind::Epochs:
      counts = telling != Telling::Memory || !is_number(value);
      break;
    case Kind::Rank:
      counts = value.size() != 1 || value[0] < '0' || value[0] > '3';
      break;
    case Kind::Resume:
      counts = is_code(value) || !names_nothing(value, Named::Any);
      break;
    case Kind::Meeting:
      counts = false;
      break;
    case Kind::Output:
    case Kind::Run:
    case Kind::RunId: {
      if (is_code(value) || (kind == Kind::Output && is_number(value))) break;
      const bool is_id = kind == Kind::RunId && is_wandb_id(value);
      if (is_id || names_nothing(value, Named::Run)) return std::nullopt;
      return without_counts_of_runs(value);
    }
  }
  return counts ? std::optional(telling_value(value, directory)) : std::nullopt;
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
        const bool has_value = at + 1 < words.size() && !is_option(words[at + 1]);
        if (has_value && kind_of(word) != Kind::Telling) {
          say(word, words[++at]);
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
    auto told = told_by(kind_of(name), value, directory_, telling_);
    if (!told) return;
    list_.emplace_back(name);
    if (!name.starts_with('-')) list_.back() += '=';
    list_.push_back(std::move(*told));
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
