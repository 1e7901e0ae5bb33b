// Words of the study's documents.
#pragma once

#include <string>

namespace berth::lab {

/// The next cell of a row of a Markdown table.
std::string cell(const std::string& text);
/// The line under the head of a table of names and `columns` figures.
std::string rule(std::size_t columns);
/// Two digits after the point, none from 100 on; `from 0` for an infinite ratio.
std::string number(double value);

/// The part of Markdown that berth's documents use: headings, paragraphs, tables, lists, code,
/// emphasis and images on a line of their own, as HTML. Everything else is text.
std::string html_of(const std::string& markdown);

}  // namespace berth::lab
