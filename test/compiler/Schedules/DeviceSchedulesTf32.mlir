// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32x3,MatmulTf32x3Small" --split-input-file | FileCheck %s --check-prefixes=ALL,ON
// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32,MatmulTf32Small" --split-input-file | FileCheck %s --check-prefixes=ALL,SPLIT
// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32,MatmulTf32Small,MatmulTf32x3,MatmulTf32x3Small" --split-input-file | FileCheck %s --check-prefixes=ALL,OFF

// Products of f32 run on tensor cores where that is allowed.

// ON: kernel.func @large {{.*}} schedule "MatmulTf32" geometry <144, 1, 0>
// SPLIT: kernel.func @large {{.*}} schedule "MatmulTf32x3" geometry <144, 1, 0>
// OFF: kernel.func @large {{.*}} schedule "MatmulSimt" geometry <144, 1, 0>
kernel.func @large symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<768x64xf32>, %1: tensor<64x3072xf32>):
  %2 = graph.matmul %0, %1 : (tensor<768x64xf32>, tensor<64x3072xf32>) -> tensor<768x3072xf32>
  kernel.yield %2 : tensor<768x3072xf32>
}

// -----

// ON: kernel.func @small {{.*}} schedule "MatmulTf32Small" geometry <264, 1, 0, 4325888>
// SPLIT: kernel.func @small {{.*}} schedule "MatmulTf32x3Small"
// OFF: kernel.func @small {{.*}} schedule "MatmulSimtSmall"
kernel.func @small symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<128x3072xf32>, %1: tensor<3072x768xf32>):
  %2 = graph.matmul %0, %1 : (tensor<128x3072xf32>, tensor<3072x768xf32>) -> tensor<128x768xf32>
  kernel.yield %2 : tensor<128x768xf32>
}

// -----

// Of few rows, reading rhs is what takes the time: those sums stay exact.

// ALL: kernel.func @few {{.*}} schedule "MatmulRows"
kernel.func @few symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x64xf32>, %1: tensor<64x3072xf32>):
  %2 = graph.matmul %0, %1 : (tensor<1x64xf32>, tensor<64x3072xf32>) -> tensor<1x3072xf32>
  kernel.yield %2 : tensor<1x3072xf32>
}

// -----

// Products of 16 bits are none of f32.

// ALL: kernel.func @half {{.*}} schedule "MatmulMmaSmall"
kernel.func @half symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8xf16>, %1: tensor<8x100xf16>):
  %2 = graph.matmul %0, %1 : (tensor<100x8xf16>, tensor<8x100xf16>) -> tensor<100x100xf16>
  kernel.yield %2 : tensor<100x100xf16>
}
