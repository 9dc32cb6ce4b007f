// RUN: tenon-opt %s --apply-schedules=generic=true | FileCheck %s

// The option `generic` keeps a kernel from any other schedule.

func.func @by_weight(%x: tensor<?x8xf32, #graph.dims<B, 8>>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x100xf32>
  kernel.call @matmul(%x, %w) params <B> : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8x100xf32>) -> tensor<?x100xf32, #graph.dims<B, 100>>
  return
}
// CHECK: kernel.func @matmul symbols ["d0"] layouts ["", ""] schedule "Generic" geometry <d0,
kernel.func @matmul symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8x100xf32>) -> tensor<?x100xf32, #graph.dims<d0, 100>>
  kernel.yield %2 : tensor<?x100xf32, #graph.dims<d0, 100>>
}
