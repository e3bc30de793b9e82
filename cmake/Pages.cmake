# SPDX-License-Identifier: Apache-2.0
# Manual pages and shell completion, written by the program that was just built: cmake -DPROGRAM=... -DOUT=... -P Pages.cmake
# PROGRAM is a list: an emulator comes first if it was built for another machine.
execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE overview COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z_]+ " commands "${overview}")
list(TRANSFORM commands STRIP)
list(REMOVE_ITEM commands msprobe)
file(MAKE_DIRECTORY ${OUT}/man/man1 ${OUT}/bash-completion/completions ${OUT}/zsh/vendor-completions ${OUT}/fish/vendor_completions.d)
execute_process(COMMAND ${PROGRAM} man OUTPUT_FILE ${OUT}/man/man1/msprobe.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(command ${commands})
  execute_process(COMMAND ${PROGRAM} man ${command} OUTPUT_FILE ${OUT}/man/man1/msprobe-${command}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${PROGRAM} completion bash OUTPUT_FILE ${OUT}/bash-completion/completions/msprobe COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} completion zsh OUTPUT_FILE ${OUT}/zsh/vendor-completions/_msprobe COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} completion fish OUTPUT_FILE ${OUT}/fish/vendor_completions.d/msprobe.fish COMMAND_ERROR_IS_FATAL ANY)
