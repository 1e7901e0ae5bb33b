# Flags every target shares. Arithmetic must not depend on the compiler or the machine: no contraction
# of a*b+c into one rounding, no -march=native.
add_library(berth_flags INTERFACE)
target_compile_options(berth_flags INTERFACE
  -ffp-contract=off
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>                   # g++ 12 at -O3: false positive on std::string
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>       # the same, on std::variant
  $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-designated-field-initializers>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>  # inside libstdc++ 12's stable_sort
  $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>  # designated initialisers name what differs
)
if(BERTH_JUMBO)
  # g++ collects no garbage below so many KiB: a tenth of the time. tools/jobs counts on 2.5 GiB each.
  target_compile_options(berth_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1200000>)
endif()
target_include_directories(berth_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(BERTH_SANITIZE)
  # g++ 12 takes no comparison with a null pointer for a constant then.
  target_compile_definitions(berth_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:BERTH_POINTERS_ARE_NO_CONSTANTS>)
  target_compile_options(berth_flags INTERFACE
    -fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_FUZZ)  # coverage counters everywhere, so that a fuzzer sees into the libraries
  target_compile_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  # A precompiled header is cached only if ccache may trust its time stamps and its macros.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${BERTH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()
find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# The parser of toml++ 3.3 asserts what it refuses with words two lines later, so that a build with
# assertions stopped at a file with a bad key. All it asserts is about its input.
if(NOT CMAKE_BUILD_TYPE MATCHES "^Rel")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-DTOML_ASSERT(expr)=static_assert(true)>")
endif()
