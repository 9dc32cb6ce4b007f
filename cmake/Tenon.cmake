# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiler settings, dependencies, and the only build helpers in the project.
# Include paths are rooted at the repository, so an #include line names the
# layer it comes from.

option(TENON_WERROR "Warnings are errors" OFF)
set(TENON_SANITIZE "" CACHE STRING "Sanitizers for everything of ours")

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-O2 -DNDEBUG")
  set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")
endforeach()

# Everything is position independent by one flag, so that libraries, tools and
# the precompiled header agree. LLVM itself is built without exceptions.
add_compile_options(
  -fPIC -ffunction-sections -fdata-sections -fno-math-errno
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-rtti>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wno-ctad-maybe-unsupported>")
add_link_options(-fuse-ld=lld -Wl,--gc-sections)
if(TENON_WERROR)
  add_compile_options(-Werror)
endif()
if(TENON_SANITIZE)
  set(sanitize -fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=undefined
               -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()

# ccache, when it is there, must be told that a precompiled header is no
# reason to miss.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime
      ${CCACHE})
endif()

find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
find_package(LLD REQUIRED CONFIG PATHS ${LLVM_INSTALL_PREFIX}/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
find_package(benchmark REQUIRED)
find_package(nlohmann_json REQUIRED)

separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${definitions})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# The headers that nearly every compiler source needs, parsed once. The ops of
# MLIR's dialects take 4 of the 6 seconds of a source that emits kernels, those
# of the graph dialect 1.3 of any; its folder says that they come first.
file(WRITE ${PROJECT_BINARY_DIR}/tenon_pch.cpp.tmp "")
configure_file(${PROJECT_BINARY_DIR}/tenon_pch.cpp.tmp
               ${PROJECT_BINARY_DIR}/tenon_pch.cpp COPYONLY)
add_library(tenon_pch STATIC ${PROJECT_BINARY_DIR}/tenon_pch.cpp)
# Timestamps in the precompiled header would defeat ccache.
target_compile_options(tenon_pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
target_precompile_headers(tenon_pch PRIVATE
  <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional>
  <string> <unordered_map> <vector>
  <llvm/ADT/DenseMap.h> <llvm/ADT/STLExtras.h> <llvm/ADT/StringMap.h>
  <llvm/ADT/StringSwitch.h> <llvm/ADT/TypeSwitch.h>
  <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h> <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
  <mlir/Transforms/DialectConversion.h>
  ${PROJECT_SOURCE_DIR}/dialects/Graph/Graph.h)

# tenon_tablegen(<target> <file.td> <out> <mlir-tblgen args>...)
#
# Adds one generated file to <target>. Close the list of a folder with
# add_public_tablegen_target(<target>).
function(tenon_tablegen target td out)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${out} ${ARGN} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR})
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

# tenon_library(<name> [PLAIN] SRCS ... [DEPS ...] [NEEDS <tablegen targets>])
#
# A static library. DEPS are passed on to whoever links it. PLAIN is for code
# that does not include MLIR: it does without the precompiled header.
function(tenon_library name)
  cmake_parse_arguments(ARG "PLAIN" "" "SRCS;DEPS;NEEDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  tenon_finish(${name})
endfunction()

# tenon_executable(<name> [PLAIN] [EXCEPTIONS] SRCS ... [DEPS ...] [NEEDS ...])
#
# EXCEPTIONS turns C++ exceptions on, for libraries that report by them.
function(tenon_executable name)
  cmake_parse_arguments(ARG "PLAIN;EXCEPTIONS" "" "SRCS;DEPS;NEEDS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  if(ARG_EXCEPTIONS)
    set(ARG_PLAIN ON)
    target_compile_options(${name} PRIVATE -fexceptions -frtti)
  endif()
  tenon_finish(${name})
endfunction()

# tenon_test(<name> [PLAIN] SRCS ... [DEPS ...] [ARGS ...] [SHARDS n])
#
# A GoogleTest program that ctest runs as <name>; slashes become underscores
# in the target. ARGS are passed to it. One that takes long is run as
# <name>/1 to <name>/n, each of which has a share of its cases.
function(tenon_test name)
  cmake_parse_arguments(ARG "PLAIN" "SHARDS" "SRCS;DEPS;NEEDS;ARGS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  string(TOLOWER ${target}_test target)
  add_executable(${target} ${ARG_SRCS})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} GTest::gtest_main)
  tenon_finish(${target})
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${target} ${ARG_ARGS})
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}/${shard} COMMAND ${target} ${ARG_ARGS})
    set_tests_properties(${name}/${shard} PROPERTIES ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

macro(tenon_finish name)
  if(NOT ARG_PLAIN)
    target_precompile_headers(${name} REUSE_FROM tenon_pch)
  endif()
  if(ARG_NEEDS)
    add_dependencies(${name} ${ARG_NEEDS})
  endif()
endmacro()
