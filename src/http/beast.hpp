// Beast's parser, for parser.cpp alone: it costs each file that includes it a second or more.
#pragma once

#include <utility>  // Boost 1.74 needs it and does not include it.
// Not above it.
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
