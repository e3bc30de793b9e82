# SPDX-License-Identifier: Apache-2.0
# cmake -DDIST=web/dist -DCARD=card.css -DOUT=page.cc -P EmbedPage.cmake
# The files of the page as strings, each with its hash. A literal of C++ may be limited in length, so it is written in pieces that the
# compiler joins.
set(text "#include \"report/page.h\"\n\nnamespace msprobe::report {\n\n")
foreach(pair "kPageScript;${DIST}/report.js" "kPageStyle;${DIST}/report.css" "kCardStyle;${CARD}")
  list(GET pair 0 name)
  list(GET pair 1 file)
  file(READ ${file} content)
  string(SHA256 hash "${content}")
  string(LENGTH "${content}" left)
  string(APPEND text "const PageFile ${name} = {\n")
  set(at 0)
  while(at LESS left)
    string(SUBSTRING "${content}" ${at} 15000 piece)
    string(APPEND text "R\"msprobe(${piece})msprobe\"\n")
    math(EXPR at "${at} + 15000")
  endwhile()
  string(APPEND text ",\n\"${hash}\"};\n\n")
endforeach()
string(APPEND text "}  // namespace msprobe::report\n")
file(WRITE ${OUT} "${text}")
