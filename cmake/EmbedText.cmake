# SPDX-License-Identifier: Apache-2.0
# cmake -DTEXT=runner.py -DOUT=program.cc -DHEADER=mindspore/program.h -DNAMESPACE=msprobe::mindspore -DNAME=kProgram -P EmbedText.cmake
# A file as a string. A literal of C++ may be limited in length, so it is written in pieces that the compiler joins.
file(READ ${TEXT} content)
string(LENGTH "${content}" left)
set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\nconst std::string_view ${NAME} =\n")
set(at 0)
while(at LESS left)
  string(SUBSTRING "${content}" ${at} 15000 piece)
  string(APPEND text "R\"msprobe(${piece})msprobe\"\n")
  math(EXPR at "${at} + 15000")
endwhile()
string(APPEND text ";\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")
