// JSON as nearly all requests have it: texts of ASCII without escapes, whole numbers, truth values,
// lists and objects. The library's parser looks at each byte three times; this one looks once, and
// half of what a submission costs the server's thread was that.
//
// Pure. What it does not know, or finds wrong, it leaves to the library, which is then given the
// whole text: what is accepted, and what is said of the rest, is the library's in every case.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

enum class PlainRead {
  Whole,    ///< The reader has all of it.
  Stopped,  ///< By the reader.
  Other,    ///< It is not plain, or no JSON: what the reader has is of no use.
};

/// Tells the reader of the values of a text, as Json::sax_parse() does. The reader bounds how deep
/// they are.
PlainRead read_plain_json(std::string_view text, nlohmann::json_sax<Json>& reader);

}  // namespace berth::daemon
