#include "cli/mcp.hpp"

#include <algorithm>
#include <array>

namespace berth::cli {

namespace {

// JSON-RPC's.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;

constexpr auto kVersions =
    std::to_array<std::string_view>({"2025-06-18", "2025-03-26", "2024-11-05"});

constexpr std::string_view kInstructions =
    "berth runs commands on GPUs. A job starts when its GPU memory is free; until then `why` says "
    "what it waits for and when it is predicted to start. Always say vram, the memory per GPU: "
    "without it a job takes whole GPUs. `jobs` and `gpus` show what runs, `wait` waits for ends.";

/// Bytes that are no UTF-8, as in a log, become U+FFFD.
std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_of(int code, const std::string& message) {
  return {{"error", {{"code", code}, {"message", message}}}};
}

Json initialized(const Json& params) {
  const std::string wanted = text_of(params, "protocolVersion");
  const bool is_known = std::ranges::find(kVersions, wanted) != kVersions.end();
  return {{"protocolVersion", is_known ? wanted : std::string(kVersions.front())},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", {{"name", "berth"}, {"version", BERTH_VERSION}}},
          {"instructions", kInstructions}};
}

Json listed(std::span<const McpTool> tools) {
  Json list = Json::array();
  for (const McpTool& tool : tools) {
    list.push_back({{"name", tool.name},
                    {"description", tool.description},
                    {"inputSchema", Json::parse(tool.schema)}});
  }
  return {{"tools", std::move(list)}};
}

Json text_content(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}}});
}

Json called(const Json& params, std::span<const McpTool> tools) {
  const std::string name = text_of(params, "name");
  const auto tool = std::ranges::find(tools, name, &McpTool::name);
  if (tool == tools.end()) return error_of(kInvalidParams, name + ": no such tool");
  const Json& given = part_of(params, "arguments");
  const auto answer = tool->run(given.is_null() ? Json::object() : given);
  if (!answer) {
    return {{"result", {{"content", text_content(answer.error().message)}, {"isError", true}}}};
  }
  return {
      {"result", {{"content", text_content(line_of(*answer))}, {"structuredContent", *answer}}}};
}

/// The member `result` or `error`.
Json outcome_of(const std::string& method, const Json& params, std::span<const McpTool> tools) {
  if (method == "initialize") return {{"result", initialized(params)}};
  if (method == "ping") return {{"result", Json::object()}};
  if (method == "tools/list") return {{"result", listed(tools)}};
  if (method == "tools/call") return called(params, tools);
  return error_of(kMethodNotFound, method + ": no such method");
}

std::string message_of(Json outcome, const Json& id) {
  outcome["jsonrpc"] = "2.0";
  outcome["id"] = id;
  return line_of(outcome);
}

}  // namespace

std::optional<std::string> mcp_answer(std::string_view line, std::span<const McpTool> tools) {
  const auto request = parse_json(line);
  if (!request) return message_of(error_of(kParseError, "this is no JSON"), nullptr);
  const Json& id = part_of(*request, "id");
  const std::string method = text_of(*request, "method");
  const bool is_answerable = id.is_string() || id.is_number();
  if (!request->is_object() || text_of(*request, "jsonrpc") != "2.0" || method.empty()) {
    const Json answered = is_answerable ? id : Json();
    return message_of(error_of(kInvalidRequest, "this is no JSON-RPC 2.0 request"), answered);
  }
  if (!is_answerable) return std::nullopt;
  return message_of(outcome_of(method, part_of(*request, "params"), tools), id);
}

}  // namespace berth::cli
