# Writes OUT: one test op.<name> for each op that PROGRAM lists. With a SANITIZE the threads together
# are enough: one alone has no races, and reads and writes the same elements by the same code.
set(threads "")
if(SANITIZE)
  set(threads " --threads all")
endif()
execute_process(COMMAND "${PROGRAM}" list --names OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" names "${names}")
if(NOT names)
  message(FATAL_ERROR "'${PROGRAM} list --names' lists no op")
endif()
set(script "")
foreach(name IN LISTS names)
  string(APPEND script "add_test(\"op.${name}\" \"${PROGRAM}\" bench --check --op ${name}${threads})\n"
    "set_tests_properties(\"op.${name}\" PROPERTIES LABELS cpu SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT OMP_WAIT_POLICY=passive)\n")
endforeach()
file(WRITE "${OUT}" "${script}")
