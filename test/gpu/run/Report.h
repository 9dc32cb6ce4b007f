//===- Report.h - The results as Markdown ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_REPORT_H
#define TENON_TEST_GPU_RUN_REPORT_H

#include "test/gpu/run/CopyRate.h"
#include "test/gpu/run/Trial.h"

namespace tenon::trial {

/// The device, and its limit.
Problem printDevice(tenon_device_t *device, const CopyRate &copies);

/// The head of the table of models, and one row of it at a time, as a run may
/// be cut off.
void printHead();
void printRow(const Row &row);

/// A sentence for each model that failed.
void printProblems(const std::vector<Row> &rows);

/// The slowest few kernels of each model.
void printKernels(const std::vector<Row> &rows, const CopyRate &copies);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_REPORT_H
