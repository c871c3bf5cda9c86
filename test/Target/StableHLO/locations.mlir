// RUN: bagua-translate --import-stablehlo %s --summary | FileCheck %s

// Newer exporters write locations that are ranges; a string may look like one.
// CHECK: step ranges: 1 params, 1 gradients of 16 bytes
module @ranges attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> tensor<4xf32> {
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>, note = "\"f.py\":1:2 to :3"}> : () -> tensor<4xf32> loc("f.py":8:4 to :46)
    %g = "stablehlo.transpose"(%x) <{permutation = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32> loc("f.py":5:8 to 6:51)
    %r = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %m = "stablehlo.divide"(%r, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
