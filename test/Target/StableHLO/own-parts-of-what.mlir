// RUN: split-file %s %t
// RUN: bagua-translate --import-stablehlo %t/alike.mlir 2>/dev/null | FileCheck %s --check-prefix=ALIKE
// RUN: bagua-translate --import-stablehlo %t/flags.mlir 2>/dev/null | FileCheck %s --check-prefix=FLAGS

// What ranks have alike becomes a multiple of itself, whatever they take of it.
//--- alike.mlir
// ALIKE: bagua.compute {{.*}} "all_reduce/scale"
// ALIKE-NOT: bagua.reduce_scatter
module @alike attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %c: tensor<4xf32> {mhlo.is_same_data_across_replicas = true} loc("c"), %x: tensor<2xf32> loc("batch['x']")) -> (tensor<2xf32> {jax.result_info = "[0]['w']"}) {
    %r = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %id = "stablehlo.replica_id"() : () -> tensor<ui32>
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<ui32>}> : () -> tensor<ui32>
    %start = "stablehlo.multiply"(%id, %two) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %g = "stablehlo.dynamic_slice"(%r, %start) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<ui32>) -> tensor<2xf32>
    %h = "stablehlo.multiply"(%g, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %n = "stablehlo.subtract"(%w, %h) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %n : tensor<2xf32>
  }
}

// A table of flags has ones, not minus ones: these starts are 4 and 2, of which the first is the last part, too.
//--- flags.mlir
// FLAGS: bagua.all_reduce sum
// FLAGS-NOT: bagua.reduce_scatter
module @flags attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<2xf32> {jax.result_info = "[0]['w']"}) {
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %id = "stablehlo.replica_id"() : () -> tensor<ui32>
    %table = "stablehlo.constant"() <{value = dense<[true, false]> : tensor<2xi1>}> : () -> tensor<2xi1>
    %entry = "stablehlo.dynamic_slice"(%table, %id) <{slice_sizes = array<i64: 1>}> : (tensor<2xi1>, tensor<ui32>) -> tensor<1xi1>
    %number = "stablehlo.convert"(%entry) : (tensor<1xi1>) -> tensor<1xi32>
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<1xi32>}> : () -> tensor<1xi32>
    %twice = "stablehlo.multiply"(%number, %two) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %more = "stablehlo.add"(%twice, %two) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    %start = "stablehlo.reshape"(%more) : (tensor<1xi32>) -> tensor<i32>
    %g = "stablehlo.dynamic_slice"(%r, %start) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %n = "stablehlo.subtract"(%w, %g) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %n : tensor<2xf32>
  }
}
