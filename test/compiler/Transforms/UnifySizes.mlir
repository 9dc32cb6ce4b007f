// RUN: tenon-opt %s --unify-sizes=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Of two names of one size the first stays, in every type and attribute; what
// was promised of each holds for it.

// CHECK-LABEL: @names
// CHECK-SAME: %arg0: tensor<?x4xf32, #graph.dims<B, 4>>, %arg1: tensor<?x4xf32, #graph.dims<B, 4>>
// CHECK-SAME: graph.ranges = {B = array<i64: 2, 8>}
// CHECK: graph.slice {{.*}} -> tensor<?x4xf32, #graph.dims<B, 4>>
func.func @names(%x: tensor<?x4xf32, #graph.dims<B, 4>>, %y: tensor<?x4xf32, #graph.dims<C, 4>>) -> tensor<?x4xf32, #graph.dims<C, 4>> attributes {graph.ranges = {B = array<i64: 1, 8>, C = array<i64: 2, 9>}} {
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<C, B>} : () -> ()
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<?x4xf32, #graph.dims<B, 4>>, tensor<?x4xf32, #graph.dims<C, 4>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x4xf32, #graph.dims<C, 4>>
  return %1 : tensor<?x4xf32, #graph.dims<C, 4>>
}

// -----

// A size that others give becomes that, even where it comes first; and what is
// known of one helps to know the next.

// CHECK-LABEL: @expressions
// CHECK-SAME: %arg0: tensor<?xf32, #graph.dims<M + P>>, %arg1: tensor<?xf32, #graph.dims<P>>, %arg2: tensor<?xf32, #graph.dims<M>>, %arg3: tensor<?xf32, #graph.dims<P>>
func.func @expressions(%t: tensor<?xf32, #graph.dims<T>>, %p: tensor<?xf32, #graph.dims<P>>, %m: tensor<?xf32, #graph.dims<M>>, %q: tensor<?xf32, #graph.dims<Q>>) -> tensor<?xf32, #graph.dims<T>> {
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<T, M + P>} : () -> ()
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<3 * M + 3 * Q, 3 * T>} : () -> ()
  return %t : tensor<?xf32, #graph.dims<T>>
}

// -----

// Not what may be 1 instead, nor what is asked of a size by itself, or of one
// that was promised something.

// CHECK-LABEL: @others
// CHECK-SAME: #graph.dims<A>{{.*}} #graph.dims<B>{{.*}} #graph.dims<C>
func.func @others(%a: tensor<?xf32, #graph.dims<A>>, %b: tensor<?xf32, #graph.dims<B>>, %c: tensor<?xf32, #graph.dims<C>>) -> tensor<?xf32, #graph.dims<A>> attributes {graph.ranges = {C = array<i64: 1, 8>}} {
  // expected-remark@+1 {{the sizes 'B' and 'A' may differ for all that is known; where they never do, --dim B=A lets more be fused}}
  graph.require {message = "", relation = #graph<relation broadcasts>, sizes = #graph.dims<A, B>} : () -> ()
  graph.require {message = "", relation = #graph<relation broadcasts>, sizes = #graph.dims<B, A>} : () -> ()
  graph.require {message = "", relation = #graph<relation less_equal>, sizes = #graph.dims<A, B>} : () -> ()
  graph.require {message = "", relation = #graph<relation broadcasts>, sizes = #graph.dims<broadcast(A, C), A>} : () -> ()
  // expected-remark@+1 {{the sizes 'C' and 'A' may differ}}
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<broadcast(A + 1, B), C + 1>} : () -> ()
  // expected-remark@+1 {{the sizes 'C' and 'B' may differ}}
  graph.require {message = "", relation = #graph<relation broadcasts>, sizes = #graph.dims<A + C, A + B>} : () -> ()
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<broadcast(A, B), A>} : () -> ()
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<A, 4>} : () -> ()
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<C, A + B>} : () -> ()
  return %a : tensor<?xf32, #graph.dims<A>>
}

// -----

// expected-error@unknown {{the dim 'B' always equals 'C', and no size is in the ranges that --dim gives both}}
func.func @nothing_left(%x: tensor<?xf32, #graph.dims<B>>, %y: tensor<?xf32, #graph.dims<C>>) attributes {graph.ranges = {B = array<i64: 1, 3>, C = array<i64: 4, 9>}} {
  graph.require {message = "", relation = #graph<relation equal>, sizes = #graph.dims<B, C>} : () -> ()
  return
}
