//===- Report.h - The results as Markdown ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_REPORT_H
#define TENON_TEST_GPU_RUN_REPORT_H

#include "test/gpu/run/CopyRate.h"
#include "test/gpu/run/Sweep.h"

namespace tenon::trial {

/// The device, and its limit.
Problem describeDevice(tenon_device_t *device, const CopyRate &copies,
                       std::string &text);

/// The head of the table of models, and a row of it.
std::string tableHead();
std::string tableRow(const Row &row);

/// The same of cases of sweeps.
std::string sweepHead();
std::string sweepRow(const Row &row, const Work &work, const CopyRate &copies);

/// The head of the table of kernels, and the slowest few of a model.
std::string kernelsHead();
std::string kernelRows(const Row &row, const CopyRate &copies);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_REPORT_H
