// RUN: sed s/LENGTH/2048/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=1048576 -DSCRATCH=1086720
// RUN: sed s/LENGTH/4096/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=2097152 -DSCRATCH=2135296
// RUN: sed s/LENGTH/8192/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=4194304 -DSCRATCH=4232448

// The scores of attention are never whole in memory: over 2k, 4k and 8k
// tokens, the arena holds its query and its result, and a thread's scratch
// memory the keys and values of one head.

// CHECK: segments = #graph.dims<[[ARENA]]>
// CHECK: exec.launch @attention{{.*}} geometry <{{[0-9]+}}, 1, [[SCRATCH]]{{(, [0-9]+)?}}>
func.func @main(%q: tensor<1x1xLENGTHx64xf32> {graph.name = "q"}, %k: tensor<1x1xLENGTHx64xf32> {graph.name = "k"}, %v: tensor<1x1xLENGTHx64xf32> {graph.name = "v"}) -> (tensor<1x1xLENGTHx64xf32> {graph.name = "y"}) {
  %0 = graph.softmax %q {axis = 3 : i64} : (tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  %1 = graph.attention %0, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1xLENGTHx64xf32>, tensor<1x1xLENGTHx64xf32>, tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  %2 = graph.softmax %1 {axis = 3 : i64} : (tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  return %2 : tensor<1x1xLENGTHx64xf32>
}
