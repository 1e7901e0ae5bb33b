// What `scontrol show nodes` prints of a cluster: words `Key=Value`, a record for each node from
// its `NodeName=` on, on several lines or, with --oneliner, on one.
//
// Slurm does not know how much memory a GPU has. A type that ends with it (`a100_80gb`,
// `a100-sxm4-40gb`) says so, and so do shards by berth's own scheme, a type for each GPU and a
// shard for each GiB (doc/slurm.md).
#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/split.hpp"
#include "trace/card_sizes.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::int64_t kMostNodeMiB = std::int64_t{1} << 40;

struct Word {
  std::string_view key, value;
  std::size_t line = 1;
};

/// Blank-separated parts with an equals sign; the rest belongs to values with blanks, which are of
/// no use here.
std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::size_t line = 1;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t start = std::min(text.find_first_not_of(kBlanks, from), text.size());
    line += static_cast<std::size_t>(std::ranges::count(text.substr(from, start - from), '\n'));
    const std::size_t end = std::min(text.find_first_of(kBlanks, start), text.size());
    const std::string_view word = text.substr(start, end - start);
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      words.push_back({word.substr(0, equals), word.substr(equals + 1), line});
    }
    from = end;
  }
  return words;
}

std::optional<std::int64_t> number(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value >= 0 && value <= most ? std::optional(value) : std::nullopt;
}

/// GPUs of a node, by type.
struct Gpus {
  std::map<std::string, std::int64_t> count;
  std::map<std::string, std::int64_t> shards;

  /// One GPU for each type, and shards of each.
  bool is_by_index() const {
    return !count.empty() && std::ranges::all_of(count, [&](const auto& each) {
      return each.second == 1 && !each.first.empty() && shards.contains(each.first);
    });
  }
};

struct SlurmNode {
  NodeShape shape{.name = "", .gpus = 0, .vram = kUnknownCard};
  Gpus gpus;
};

class NodeReader {
 public:
  explicit NodeReader(std::string_view file) : file_(file) { cluster_.add_switch(); }

  Expected<Cluster> read(std::string_view text) {
    for (const Word& word : words_of(text)) {
      if (word.key == "NodeName") {
        if (auto done = add(); !done) return std::unexpected(done.error());
        node_.shape.name = word.value;
      }
      if (auto done = take(word); !done) return std::unexpected(done.error());
    }
    if (auto done = add(); !done) return std::unexpected(done.error());
    return std::move(cluster_);
  }

 private:
  std::unexpected<Error> refuse(const Word& word, const std::string& expected) const {
    return fail(ErrorCode::BadData, std::string(file_) + ":" + std::to_string(word.line) + ": " +
                                        std::string(word.key) + "=" +
                                        std::string(word.value.substr(0, 60)) + ", expected " +
                                        expected);
  }

  Expected<void> take(const Word& word) {
    if (word.key == "CPUTot") {
      const auto cores = number(word.value, 100'000);
      if (!cores) return refuse(word, "a number of cores");
      node_.shape.cpu = CpuMilli(*cores * 1000);
    } else if (word.key == "RealMemory") {
      const auto mib = number(word.value, kMostNodeMiB);
      if (!mib) return refuse(word, "MiB");
      node_.shape.host = Bytes(*mib << 20);
    } else if (word.key == "Gres" && word.value != "(null)") {
      return take_gres(word);
    }
    return {};
  }

  Expected<void> take_gres(const Word& word) {
    for (std::string_view rest = word.value; !rest.empty();) {
      const std::string_view whole = next_part_outside_parentheses(rest);
      const std::string_view part = whole.substr(0, whole.find('('));
      const std::size_t first = std::min(part.find(':'), part.size());
      const std::string_view kind = part.substr(0, first);
      if (kind != "gpu" && kind != "shard") continue;
      const std::size_t last = part.rfind(':');
      const auto count = last == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                        : number(part.substr(last + 1), kMostGpus);
      if (!count) return refuse(word, "gpu:TYPE:COUNT");
      const std::string type(last > first && last != std::string_view::npos
                                 ? part.substr(first + 1, last - first - 1)
                                 : std::string_view());
      (kind == "gpu" ? node_.gpus.count : node_.gpus.shards)[type] += *count;
    }
    return {};
  }

  /// A node with several types of GPU becomes one of each, with its part of cores and memory.
  Expected<void> add() {
    if (node_.shape.name.empty()) return {};
    SlurmNode node = std::exchange(node_, {});
    std::int64_t all = 0;
    for (const auto& [type, count] : node.gpus.count) all += count;
    if (total_ += all; total_ > kMostGpus) {
      return fail(ErrorCode::BadData,
                  std::string(file_) + ": more than " + std::to_string(kMostGpus) + " GPUs");
    }
    if (all == 0) {
      cluster_.add_node(node.shape);
    } else if (node.gpus.is_by_index()) {
      node.shape.gpus = static_cast<std::uint32_t>(all);
      node.shape.vram = Bytes(node.gpus.shards.begin()->second << 30);
      cluster_.add_node(node.shape);
    } else {
      for (const auto& [type, count] : node.gpus.count) {
        NodeShape part = node.shape;
        if (count != all) {
          part.name += "/" + type;
          part.cpu = CpuMilli(node.shape.cpu.raw() / all * count);
          part.host = Bytes(node.shape.host.raw() / all * count);
        }
        part.gpus = static_cast<std::uint32_t>(count);
        part.type = type;
        part.vram = size_in(type);
        cluster_.add_node(part);
      }
    }
    return {};
  }

  std::string_view file_;
  Cluster cluster_;
  SlurmNode node_;
  std::int64_t total_ = 0;
};

}  // namespace

bool is_slurm_nodes(std::string_view line) { return line.starts_with("NodeName="); }

Expected<Cluster> read_slurm_nodes(std::string_view text, std::string_view file) {
  return NodeReader(file).read(text);
}

}  // namespace berth::trace
