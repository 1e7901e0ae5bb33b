// The Model Context Protocol (modelcontextprotocol.io, revision 2025-06-18): a program, such as an
// assistant, submits and follows jobs by JSON-RPC 2.0, one message per line. No process is started
// and no socket opened but the one to berthd, so its user's rights are what the client has.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/print/json.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

struct McpTool {
  enum class Effect { Reads, Changes, Ends };  ///< `Ends`: work may be lost.

  std::string_view name;
  std::string_view description;
  Effect effect = Effect::Reads;
  std::string_view properties;  ///< Its arguments, as a JSON schema has them.
  std::string_view required;    ///< Those that must be there, as JSON.
  std::function<Expected<Json>(const Json& arguments)> run;
};

/// What is answered to this line; nothing to a notification. An error of a tool is a result that
/// says so, as the protocol has it; what is no request at all is a JSON-RPC error.
std::optional<std::string> mcp_answer(std::string_view line, std::span<const McpTool> tools);

}  // namespace berth::cli
