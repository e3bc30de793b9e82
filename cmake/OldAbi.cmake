# SPDX-License-Identifier: Apache-2.0
# PyTorch's own wheels before 2.6 pass std::string in the layout of g++ 4. An engine for one is built in that layout
# throughout, on what can follow: fmt, spdlog and CLI11 as headers alone, simdjson, zlib and Highway, whose functions take no
# std::string, and GoogleTest from its sources. yaml-cpp cannot, so msprobe itself comes from another build directory.

function(msprobe_use_old_abi)
  message(STATUS "msprobe-engine: alone here, in the old C++ ABI of this PyTorch; msprobe takes it as --engine")
  add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0)
  set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
  set_target_properties(spdlog::spdlog PROPERTIES INTERFACE_COMPILE_DEFINITIONS SPDLOG_FMT_EXTERNAL)
  if(MSPROBE_TESTS)
    add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  endif()
endfunction()
