// RUN: tenon-opt %s --share-tables | FileCheck %s

// Must not fire: no product keeps the transpose of the table packed. What it
// does where one does is in ShareTables.cpp: weights are not part of the IR.

func.func @lookup(%i: tensor<4xi64>) {
  %table = graph.weight {name = "table"} : () -> tensor<50x8xf32>
  kernel.call @gather(%table, %i) params <> : (tensor<50x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return
}
// CHECK: kernel.func @gather symbols [] layouts ["", ""]
kernel.func @gather symbols [] layouts ["", ""] schedule "Generic" geometry <4, 1, 0> {
^bb0(%0: tensor<50x8xf32>, %1: tensor<4xi64>):
  %2 = graph.gather %0, %1 {axis = 0 : i64} : (tensor<50x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  kernel.yield %2 : tensor<4x8xf32>
}
