// The API's keys in words of the command line: one table for refusals, and for hints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/json.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// `--time` for `time_limit_seconds` of a job; "" for a key that no option stands for.
std::string_view option_for(std::string_view key);

/// What the daemon refused at this path, as the user typed it: `gpu_types: 'x' is not ...` is
/// `--gpu-type: 'x' is not ...`, and `gpus: GPU 7: ...` of a drain is `GPU 7: ...`. A message
/// without such a key stays as it is.
std::string in_options(std::string_view target, const std::string& message);

/// A change of a job, as `berth update` takes it: `--time 38min`. "" for none.
std::string options_of(const Json& change);

/// `38min`, `1h30m`, `5h`, `90s`: as options take it.
std::string typed_time(double seconds);
/// `9G`, `1536M`.
std::string typed_size(std::int64_t bytes);

/// `--vram: 1 required SIZE missing`, as CLI11 says it, in plain words.
std::string plain_words(std::string text);

/// Whether an option of these names (`-o,--output`, `--snapshot{.}`) may be among the words: false
/// only where CLI11 would find none of them there. True without words.
bool may_be_among(const std::optional<std::vector<std::string>>& words, std::string_view names);

/// `--vram`, `-o`: all that this verb takes.
std::vector<std::string> option_names(const CLI::App& app);

}  // namespace berth::cli
