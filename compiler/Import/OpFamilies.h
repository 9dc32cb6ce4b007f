//===- OpFamilies.h - The families of the importer's table ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of operators is one file, which ends in its rows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_OPFAMILIES_H
#define TENON_COMPILER_IMPORT_OPFAMILIES_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

llvm::ArrayRef<OpRow> activationRows();      // OnnxActivation.cpp
llvm::ArrayRef<OpRow> attentionRows();       // OnnxAttention.cpp
llvm::ArrayRef<OpRow> controlRows();         // OnnxControl.cpp
llvm::ArrayRef<OpRow> convRows();            // OnnxConv.cpp
llvm::ArrayRef<OpRow> deltaNetRows();        // OnnxDeltaNet.cpp
llvm::ArrayRef<OpRow> detectionRows();       // OnnxDetection.cpp
llvm::ArrayRef<OpRow> determinantRows();     // OnnxDeterminant.cpp
llvm::ArrayRef<OpRow> diffusionRows();       // OnnxDiffusion.cpp
llvm::ArrayRef<OpRow> einsumRows();          // OnnxEinsum.cpp
llvm::ArrayRef<OpRow> elementwiseRows();     // OnnxElementwise.cpp
llvm::ArrayRef<OpRow> expertsRows();         // OnnxExperts.cpp
llvm::ArrayRef<OpRow> fewBitsRows();         // OnnxFewBits.cpp
llvm::ArrayRef<OpRow> fourierRows();         // OnnxFourier.cpp
llvm::ArrayRef<OpRow> fusedAttentionRows();  // OnnxFusedAttention.cpp
llvm::ArrayRef<OpRow> fusedNormalizeRows();  // OnnxFusedNormalize.cpp
llvm::ArrayRef<OpRow> gatedRows();           // OnnxGated.cpp
llvm::ArrayRef<OpRow> groupQueryRows();      // OnnxGroupQuery.cpp
llvm::ArrayRef<OpRow> indexingRows();        // OnnxIndexing.cpp
llvm::ArrayRef<OpRow> linearAttentionRows(); // OnnxLinearAttention.cpp
llvm::ArrayRef<OpRow> loopRows();            // OnnxLoop.cpp
llvm::ArrayRef<OpRow> lossRows();            // OnnxLoss.cpp
llvm::ArrayRef<OpRow> matrixRows();          // OnnxMatrix.cpp
llvm::ArrayRef<OpRow> movementRows();        // OnnxMovement.cpp
llvm::ArrayRef<OpRow> normalizeRows();       // OnnxNormalize.cpp
llvm::ArrayRef<OpRow> padRows();             // OnnxPad.cpp
llvm::ArrayRef<OpRow> poolRows();            // OnnxPool.cpp
llvm::ArrayRef<OpRow> positionBiasRows();    // OnnxPositionBias.cpp
llvm::ArrayRef<OpRow> qlinearRows();         // OnnxQLinear.cpp
llvm::ArrayRef<OpRow> quantizeRows();        // OnnxQuantize.cpp
llvm::ArrayRef<OpRow> randomRows();          // OnnxRandom.cpp
llvm::ArrayRef<OpRow> recurrentRows();       // OnnxRecurrent.cpp
llvm::ArrayRef<OpRow> reductionRows();       // OnnxReduction.cpp
llvm::ArrayRef<OpRow> resizeRows();          // OnnxResize.cpp
llvm::ArrayRef<OpRow> routerRows();          // OnnxRouter.cpp
llvm::ArrayRef<OpRow> samplingRows();        // OnnxSampling.cpp
llvm::ArrayRef<OpRow> scanRows();            // OnnxScan.cpp
llvm::ArrayRef<OpRow> sequenceRows();        // OnnxSequence.cpp
llvm::ArrayRef<OpRow> shapeRows();           // OnnxShape.cpp
llvm::ArrayRef<OpRow> sliceRows();           // OnnxSlice.cpp
llvm::ArrayRef<OpRow> squeezeRows();         // OnnxSqueeze.cpp
llvm::ArrayRef<OpRow> uniqueRows();          // OnnxUnique.cpp

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_OPFAMILIES_H
