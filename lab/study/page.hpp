// The study as one HTML file with its figures in it: no scripts, no network. A pure function.
#pragma once

#include <string>

#include "lab/study/document.hpp"

namespace berth::lab {

/// `text`: what written() made of the document.
std::string page(const StudyDocument& document, const std::string& text);

}  // namespace berth::lab
