# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the build takes from the official onnx package. Nothing of Python is
# needed after the build.
#
#   onnx_proto      #include "onnx-ml.pb.h"     the model classes (protobuf)
#   onnx_functions  #include "onnx_functions.h" bodies of function operators
#   onnx_operators  generated/onnx/operators.csv, every operator and version
#   onnx_node_tests onnx-node-tests/NAME, in ONNX's own test layout

set(TENON_ONNX_VERSION 1.23.2)
set(TENON_VENV "${PROJECT_BINARY_DIR}/venv" CACHE PATH
    "Python environment that holds onnx ${TENON_ONNX_VERSION}")
set(TENON_VENV_PYTHON ${TENON_VENV}/bin/python)

execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/tools/venv.sh ${TENON_VENV}
          ${TENON_ONNX_VERSION}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR
    "No onnx ${TENON_ONNX_VERSION} in ${TENON_VENV}, and it could not be "
    "installed there. Set TENON_VENV to an environment that has it.")
endif()
execute_process(
  COMMAND ${TENON_VENV_PYTHON} -c
          "import os, onnx; print(os.path.dirname(onnx.__file__), end='')"
  OUTPUT_VARIABLE onnx_package COMMAND_ERROR_IS_FATAL ANY)

set(onnx_dir ${PROJECT_BINARY_DIR}/generated/onnx)
file(MAKE_DIRECTORY ${onnx_dir})

add_custom_command(
  OUTPUT ${onnx_dir}/onnx-ml.pb.cc ${onnx_dir}/onnx-ml.pb.h
  COMMAND protobuf::protoc --proto_path=${onnx_package} --cpp_out=${onnx_dir}
          ${onnx_package}/onnx-ml.proto
  DEPENDS ${onnx_package}/onnx-ml.proto
  COMMENT "Generating the ONNX model classes")
add_library(onnx_proto STATIC ${onnx_dir}/onnx-ml.pb.cc)
target_compile_options(onnx_proto PRIVATE -w)
target_include_directories(onnx_proto SYSTEM PUBLIC ${onnx_dir})
target_link_libraries(onnx_proto PUBLIC protobuf::libprotobuf)

set(tables ${PROJECT_SOURCE_DIR}/cmake/onnx_tables.py)
add_custom_command(
  OUTPUT ${onnx_dir}/onnx_functions.h ${onnx_dir}/onnx_functions.cpp
         ${onnx_dir}/operators.csv
  COMMAND ${TENON_VENV_PYTHON} ${tables} ${onnx_dir}
  DEPENDS ${tables}
  COMMENT "Writing the tables of ONNX operators")
add_library(onnx_functions STATIC ${onnx_dir}/onnx_functions.cpp
            ${onnx_dir}/onnx_functions.h)
target_include_directories(onnx_functions SYSTEM PUBLIC ${onnx_dir})
add_custom_target(onnx_operators DEPENDS ${onnx_dir}/operators.csv)
# The second target waits, so that one process writes all three files.
add_dependencies(onnx_operators onnx_functions)
