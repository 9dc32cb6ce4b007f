// RUN: tenon-opt %s --apply-schedules=without=PackedMatmul | FileCheck %s --check-prefix=NEXT
// RUN: tenon-opt %s --apply-schedules=without=PackedMatmul,BatchedMatmul | FileCheck %s --check-prefix=LAST

// Without the schedule that comes first, the next one that applies is taken.

// NEXT: schedule "BatchedMatmul"
// LAST: schedule "Generic"
func.func @main(%x: tensor<4x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x100xf32>
  kernel.call @matmul(%x, %w) params <> : (tensor<4x8xf32>, tensor<8x100xf32>) -> tensor<4x100xf32>
  return
}
kernel.func @matmul symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x8xf32>, %1: tensor<8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<4x8xf32>, tensor<8x100xf32>) -> tensor<4x100xf32>
  kernel.yield %2 : tensor<4x100xf32>
}
