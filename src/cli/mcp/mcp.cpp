#include "cli/mcp/mcp.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cli/print/output.hpp"
#include "core/base/suggest.hpp"

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

/// What a client may ask its user about before it calls a tool.
Json annotations_of(const McpTool& tool) {
  const bool reads = tool.effect == McpTool::Effect::Reads;
  Json annotations = {{"readOnlyHint", reads}, {"openWorldHint", false}};
  if (!reads) annotations["destructiveHint"] = tool.effect == McpTool::Effect::Ends;
  return annotations;
}

Json listed(std::span<const McpTool> tools) {
  Json list = Json::array();
  for (const McpTool& tool : tools) {
    list.push_back({{"name", tool.name},
                    {"description", tool.description},
                    {"inputSchema",
                     {{"type", "object"},
                      {"properties", Json::parse(tool.properties)},
                      {"required", Json::parse(tool.required)},
                      {"additionalProperties", false}}},
                    {"annotations", annotations_of(tool)}});
  }
  return {{"tools", std::move(list)}};
}

Json text_content(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}}});
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

/// `string or integer`; "" for a schema that names no type.
std::string types_of(const Json& schema) {
  const Json& types = part_of(schema, "type");
  if (types.is_string()) return types.get<std::string>();
  std::string text;
  if (!types.is_array()) return text;
  for (const Json& type : types) text += (text.empty() ? "" : " or ") + type.get<std::string>();
  return text;
}

/// Why a tool does not take these arguments; "" for those that it takes. One that is not known
/// would be left out in silence, and the job be another than the one asked for.
std::string fault_of(const Json& arguments, const McpTool& tool) {
  const Json properties = Json::parse(tool.properties);
  if (!arguments.is_object()) return "the arguments must be an object";
  for (const auto& [name, value] : arguments.items()) {
    const auto known = properties.find(name);
    if (known == properties.end()) {
      std::string all;
      std::vector<std::string> names;
      for (const auto& [one, schema] : properties.items()) {
        all += (all.empty() ? "" : ", ") + one;
        names.push_back(one);
      }
      return printable(name) + ": unknown argument of " + std::string(tool.name) +
             "; valid arguments: " + (all.empty() ? "none" : all) + did_you_mean(name, names);
    }
    const Json& types = part_of(*known, "type");
    const bool fits = types.is_null() || (types.is_string() && has_type(value, types)) ||
                      (types.is_array() && std::ranges::any_of(types, [&](const Json& type) {
                         return has_type(value, type);
                       }));
    if (!fits) return name + ": " + line_of(value) + ", must be of type " + types_of(*known);
  }
  for (const Json& name : Json::parse(tool.required)) {
    if (!arguments.contains(name)) return name.get<std::string>() + ": is missing";
  }
  return "";
}

/// Once, as text, which all clients read: a model pays for what it is told twice.
Json called(const Json& params, std::span<const McpTool> tools) {
  const std::string name = text_of(params, "name");
  const auto tool = std::ranges::find(tools, name, &McpTool::name);
  if (tool == tools.end()) return error_of(kInvalidParams, name + ": no such tool");
  const Json& given = part_of(params, "arguments");
  const Json arguments = given.is_null() ? Json::object() : given;
  const std::string fault = fault_of(arguments, *tool);
  const auto answer =
      fault.empty() ? tool->run(arguments) : fail(ErrorCode::InvalidArgument, fault);
  if (answer) return {{"result", {{"content", text_content(line_of(*answer))}}}};
  return {{"result", {{"content", text_content(answer.error().message)}, {"isError", true}}}};
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
