# Read by ctest, which has been told of a GoogleTest `program`: names each of its suites as a test,
# `prefix`.SUITE. To start a program for each test alone was a third of the fast suite's time.
#
# A suite counts as skipped if a test of it skipped itself and none failed: GoogleTest lists the
# skipped ones last only then. It has `seconds` for each of its tests, but for five of them at most.
# Set before: program, prefix, seconds, folder.
if(NOT EXISTS ${program})
  add_test(${prefix}_NOT_BUILT ${prefix}_NOT_BUILT)
  return()
endif()
execute_process(COMMAND ${program} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${program} --gtest_list_tests: ${result}")
endif()
string(REGEX REPLACE " +#[^\n]*" "" listed "\n${listed}")  # parameters, of any letters
string(REGEX MATCHALL "\n[^ \n]+\\.(\n +[^\n]+)+" suites "${listed}")
foreach(suite ${suites})
  string(REGEX MATCHALL "\n +" tests "${suite}")
  list(LENGTH tests count)
  if(count GREATER 5)
    set(count 5)
  endif()
  math(EXPR patience "${count} * ${seconds}")
  string(REGEX REPLACE "^\n([^\n]*)\\.\n.*" "\\1" suite "${suite}")
  add_test(${prefix}.${suite} ${program} --gtest_filter=${suite}.*)
  set_tests_properties(${prefix}.${suite} PROPERTIES
    TIMEOUT ${patience} WORKING_DIRECTORY ${folder}
    ENVIRONMENT_MODIFICATION PATH=path_list_prepend:/usr/bin
    SKIP_REGULAR_EXPRESSION
      "tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
endforeach()
