#include "cli/code/gpu_python.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cli/code/python_code.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

constexpr std::string_view kCudaVisible = "CUDA_VISIBLE_DEVICES";

/// Calls whose arguments are said, compared, or taken where nothing else was given.
const std::vector<std::string_view>& calls_that_set_nothing() {
  static const std::vector<std::string_view> kCalls = {
      "print",      "add_argument", "add_option", "option",      "Option",     "Argument",
      "Field",      "field",        "info",       "warning",     "debug",      "error",
      "startswith", "endswith",     "get",        "getenv",      "setdefault", "pop",
      "getattr",    "skipif",       "index",      "assertEqual", "len"};
  return kCalls;
}

/// Calls whose first argument is a number of a GPU.
constexpr auto kTakeNumber = std::to_array<std::string_view>(
    {"cuda.set_device", "cuda.device", "cuda.Device", "cuda.select_device", ".cuda"});

/// An argument by its name, of calls whose names end so.
struct PythonArgument {
  std::string_view name;
  std::string_view call;  ///< "" for any.
  bool is_count = false;  ///< If it is one number.
};
constexpr auto kPythonArguments = std::to_array<PythonArgument>({
    {"device_ids", ""},
    {"gpu_ids", ""},
    {"output_device", "DataParallel"},
    {"device", "pipeline"},
    {"devices", "Trainer", true},
    {"devices", "Fabric", true},
    {"gpus", "Trainer", true},
    {"gpus", "Fabric", true},
    {"num_gpus", "init", true},
    {"num_processes", "notebook_launcher", true},
    {"tensor_parallel_size", "", true},
});

/// Arguments and variables that say which part of a card's memory is taken.
constexpr auto kShares = std::to_array<std::string_view>(
    {"gpu_memory_utilization", "mem_fraction_static", "per_process_gpu_memory_fraction",
     "XLA_PYTHON_CLIENT_MEM_FRACTION"});

/// The number in `cuda:1`, or behind `/GPU:`, `/device:GPU:`; nothing if there is more.
struct DeviceText {
  int number;
  std::string_view before;
};
std::optional<DeviceText> device_in(std::string_view text) {
  std::string small;
  for (const char c : text) small += lowered(c);
  for (const std::string_view before : {"cuda:", "/device:gpu:", "/gpu:", "gpu:"}) {
    if (!small.starts_with(before)) continue;
    const auto numbers = listed_numbers(std::string_view(small).substr(before.size()));
    if (!numbers || numbers->size() != 1 || small.contains('[')) return std::nullopt;
    return DeviceText{.number = numbers->front(), .before = before == "cuda:" ? before : "GPU:"};
  }
  return std::nullopt;
}

class PythonReader {
 public:
  PythonReader(std::string_view text, std::size_t first_line, GpuWarnings& warnings)
      : code_(text), first_line_(first_line), warnings_(warnings) {
    for (std::size_t at = 0; at < code_.size(); ++at) look_for_questions(at);
  }

  std::vector<ShellLine> take() && {
    for (std::size_t at = 0; at < code_.size(); ++at) read(at);
    return std::move(lines_);
  }

 private:
  std::size_t line_of(std::size_t at) const { return code_[at].line + first_line_ - 1; }
  bool sets_nothing(std::size_t at) const { return code_.is_within(at, calls_that_set_nothing()); }

  /// Whether what is set depends on what is found there.
  void look_for_questions(std::size_t at) {
    const PythonToken& token = code_[at];
    const bool counts = token.is_named("device_count") || token.is_named("local_device_count") ||
                        token.is_named("list_physical_devices");
    const bool counts_jax =
        token.is_named("jax") && code_[at - 1].is("(") && code_.callee(at - 1) == "len";
    if (counts_jax || (counts && !code_.is_within(at, {"print", "info", "debug"}))) {
      asks_how_many_ = true;
    }
    if (token.kind != PythonKind::String || token.text != kCudaVisible) return;
    if (code_[at + 1].is_named("in") || code_[at + 1].is_named("not") ||
        code_.is_within(at, {"get", "getenv"})) {
      asks_which_ = true;
    }
  }

  void read(std::size_t at) {
    const PythonToken& token = code_[at];
    if (token.kind == PythonKind::String) {
      read_variable(at);
      read_shell(at);
    }
    if (token.is_named(kCudaVisible) && code_[at + 1].is("=") && token.opener != 0) {
      set_variable_to(at, at + 2);
    }
    const bool may_tell =
        token.kind == PythonKind::String || token.is("(") ||
        (token.kind == PythonKind::Name && code_[at + 1].kind == PythonKind::Sign);
    if (!may_tell || sets_nothing(at)) return;
    if (token.kind == PythonKind::String) read_device(at);
    if (token.is("(")) read_call(at);
    if (token.kind == PythonKind::Name && token.opener != 0) read_argument(at);
    if (token.is_named("devices") || token.is_named("local_devices")) read_jax(at);
  }

  // ---- Variables -------------------------------------------------------------------------------

  /// `environ["X"] = "1"`, `{"X": "1"}`, `putenv("X", "1")`.
  void read_variable(std::size_t at) {
    const bool is_member = code_[at + 1].is("]") && code_[at + 2].is("=");
    const bool is_entry = code_[at + 1].is(":");
    const bool is_call =
        code_[at - 1].is("(") && code_[at + 1].is(",") && code_.is_within(at, {"putenv"});
    if (is_member || is_entry || is_call) set_variable_to(at, at + (is_member ? 3 : 2));
  }
  void set_variable_to(std::size_t name, std::size_t value) {
    const std::string& text = code_[value].text;
    if (code_[value].kind != PythonKind::String || !code_.is_whole_value(value, 1)) return;
    if (code_[name].text == kCudaVisible && !asks_which_) warnings_.visible(line_of(name), text);
    if (is_share(name)) warnings_.share(line_of(name), code_[name].text + "=" + text, text);
    if (code_[name].text == "MASTER_PORT") {
      warnings_.port(line_of(name), "MASTER_PORT=" + text, text);
    }
  }
  bool is_share(std::size_t name) const {
    return std::ranges::find(kShares, code_[name].text) != kShares.end();
  }
  /// `0.9`, `.9`.
  void read_share(std::size_t at, const std::string& before, const std::string& after) {
    const std::size_t length = code_[at].is(".") ? 2 : 1;
    const std::string part = code_[at].text + (length == 2 ? code_[at + 1].text : "");
    if (code_[at + length - 1].kind != PythonKind::Number) return;
    if (code_.is_whole_value(at, length)) {
      warnings_.share(line_of(at), before + part + after, part);
    }
  }
  void read_shell(std::size_t at) {
    const bool is_first = code_[at - 1].is("(");
    if (!is_first) return;
    const std::string call = code_.callee(at - 1);
    for (const std::string_view runs : {"os.system", "os.popen", "subprocess.run", "Popen",
                                        "check_call", "check_output", "subprocess.call"}) {
      if (call.ends_with(runs)) lines_.push_back({.text = code_[at].text, .line = line_of(at)});
    }
  }

  // ---- Devices ---------------------------------------------------------------------------------

  void read_device(std::size_t at) {
    const auto device = device_in(code_[at].text);
    if (asks_how_many_ || !device || !code_.is_whole_value(at, 1)) return;
    warnings_.number(line_of(at), code_[at].text, device->number, device->before);
  }

  /// `.cuda(1)`, `cuda.set_device(1)`, `torch.device("cuda", 1)`.
  void read_call(std::size_t open) {
    const std::string call = code_.callee(open);
    if (call.ends_with("set_per_process_memory_fraction")) {
      read_share(open + 1, "set_per_process_memory_fraction(", ")");
    }
    const bool is_method = call.empty() && code_[open - 1].is_named("cuda");  // model().cuda(1)
    const bool takes_number = is_method || std::ranges::any_of(kTakeNumber, [&](auto name) {
                                return call.ends_with(name) && call != "torch.cuda";
                              });
    const bool is_device = call.ends_with("device") && code_[open + 1].text == "cuda" &&
                           code_[open + 1].kind == PythonKind::String && code_[open + 2].is(",");
    if (asks_how_many_ || (!takes_number && !is_device)) return;
    const std::size_t at = open + (is_device ? 3 : 1);
    const auto value = code_.numbers_at(at);
    if (!value || value->is_list) return;
    const std::string name = is_method ? "cuda" : call.substr(call.rfind('.') + 1);
    const std::string shown = (name == "cuda" ? ".cuda(" : name + "(") +
                              (is_device ? "\"cuda\", " : "") + value->shown + ")";
    warnings_.number(line_of(at), shown, value->numbers.front(), "cuda:");
  }

  void read_argument(std::size_t at) {
    const std::size_t open = code_[at].opener - 1;
    if (!code_[open].is("(") || !code_[at + 1].is("=")) return;
    if (is_share(at)) return read_share(at + 2, code_[at].text + "=", "");
    if (asks_how_many_) return;
    const std::string call = code_.callee(open);
    const auto argument = std::ranges::find_if(kPythonArguments, [&](const PythonArgument& one) {
      return code_[at].text == one.name && call.ends_with(one.call);
    });
    if (argument == kPythonArguments.end() || is_for_processors(open)) return;
    const auto value = code_.numbers_at(at + 2);
    if (!value) return;
    const bool is_alone_in_text = value->shown.starts_with('"') && value->numbers.size() == 1;
    if (is_alone_in_text) return;  // some take it for a count, some for a number
    const std::string shown = code_[at].text + "=" + value->shown;
    const int largest = *std::ranges::max_element(value->numbers);
    if (argument->is_count && !value->is_list) return warnings_.count(line_of(at), shown, largest);
    warnings_.number(line_of(at), shown, largest);
  }
  bool is_for_processors(std::size_t open) const {
    for (std::size_t at = open + 1; at + 1 < code_[open].closer; ++at) {
      const PythonToken& token = code_[at];
      if (token.kind != PythonKind::String) continue;
      if (token.text == "cpu" || token.text == "tpu" || token.text == "mps") return true;
    }
    return false;
  }

  /// `jax.devices()[1]`, `jax.local_devices(backend="gpu")[1]`.
  void read_jax(std::size_t at) {
    const std::size_t open = at + 1;
    if (!code_[open].is("(") || !code_[at - 2].is_named("jax") || code_[open].closer == 0) return;
    const std::size_t index = code_[open].closer;
    const bool is_index = !asks_how_many_ && code_[index].is("[") && code_[index + 2].is("]");
    if (!is_index || is_for_processors(open)) return;
    const auto value = code_.numbers_at(index + 1);
    if (!value || value->is_list) return;
    warnings_.number(line_of(at), "jax." + code_[at].text + "()[" + value->shown + "]",
                     value->numbers.front());
  }

  PythonCode code_;
  std::size_t first_line_;
  GpuWarnings& warnings_;
  bool asks_how_many_ = false;
  bool asks_which_ = false;
  std::vector<ShellLine> lines_;
};

}  // namespace

std::vector<ShellLine> read_gpus_of_python(std::string_view text, std::size_t first_line,
                                           GpuWarnings& warnings) {
  return PythonReader(text, first_line, warnings).take();
}

}  // namespace berth::cli
