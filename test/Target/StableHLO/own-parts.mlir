// RUN: split-file %s %t
// RUN: bagua-translate --import-stablehlo %t/own.mlir 2>/dev/null | FileCheck %s --check-prefix=OWN
// RUN: bagua-translate --import-stablehlo %t/own.mlir 2>/dev/null | bagua-opt --bagua-strategy=ddp -o %t/planned.mlir
// RUN: bagua-translate --export-stablehlo --original=%t/own.mlir %t/planned.mlir | FileCheck %s --check-prefix=BACK
// RUN: bagua-translate --import-stablehlo %t/other.mlir 2>/dev/null | FileCheck %s --check-prefix=OTHER

// XLA's partitioner writes a sum in parts as the whole sum, of which each device takes its own part by a table of where
// parts begin. That is a reduce_scatter, along the dimension that is cut.
//--- own.mlir
// OWN: bagua.reduce_scatter sum %{{.*}} over [data] split 1 {{.*}} : tensor<2x4xf32> -> tensor<2x2xf32>
// OWN-NOT: bagua.all_reduce
// BACK: stablehlo.reduce_scatter
// BACK-NOT: stablehlo.all_reduce
// BACK-NOT: stablehlo.dynamic_slice
module @own attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<2x2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<2x4xf32> loc("batch['x']")) -> (tensor<2x2xf32> {jax.result_info = "[0]['w']"}) {
    %p = "stablehlo.tanh"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %r = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %id = "stablehlo.replica_id"() : () -> tensor<ui32>
    %table = "stablehlo.constant"() <{value = dense<[0, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %entry = "stablehlo.dynamic_slice"(%table, %id) <{slice_sizes = array<i64: 1>}> : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %start = "stablehlo.reshape"(%entry) : (tensor<1xi32>) -> tensor<i32>
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %g = "stablehlo.dynamic_slice"(%r, %zero, %start) <{slice_sizes = array<i64: 2, 2>}> : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %n = "stablehlo.subtract"(%w, %g) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %n : tensor<2x2xf32>
  }
}

// The other device's part, a part of every rank's alike, a part of a sum that has another user, and a part that is less than a rank's: sums, of which the program
// takes what it wants.
//--- other.mlir
// OTHER-COUNT-4: bagua.all_reduce sum
// OTHER-NOT: bagua.reduce_scatter
module @other attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']"), %y: tensor<4xf32> loc("batch['y']"), %z: tensor<4xf32> loc("batch['z']"), %q: tensor<4xf32> loc("batch['q']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %r0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %r1 = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %r2 = "stablehlo.all_reduce"(%z) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %r3 = "stablehlo.all_reduce"(%q) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %id = "stablehlo.replica_id"() : () -> tensor<ui32>
    %mine = "stablehlo.constant"() <{value = dense<[0, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %yours = "stablehlo.constant"() <{value = dense<[2, 0]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %e0 = "stablehlo.dynamic_slice"(%yours, %id) <{slice_sizes = array<i64: 1>}> : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %start0 = "stablehlo.reshape"(%e0) : (tensor<1xi32>) -> tensor<i32>
    %g0 = "stablehlo.dynamic_slice"(%r0, %start0) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %g1 = "stablehlo.dynamic_slice"(%r1, %one) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %e2 = "stablehlo.dynamic_slice"(%mine, %id) <{slice_sizes = array<i64: 1>}> : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %start2 = "stablehlo.reshape"(%e2) : (tensor<1xi32>) -> tensor<i32>
    %g2 = "stablehlo.dynamic_slice"(%r2, %start2) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %g3 = "stablehlo.dynamic_slice"(%r3, %start2) <{slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
    %h0 = "stablehlo.add"(%g0, %g1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %h1 = "stablehlo.add"(%h0, %g2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %h2 = "stablehlo.concatenate"(%h1, %g3, %g3) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
    %h3 = "stablehlo.add"(%h2, %r2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %h3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
