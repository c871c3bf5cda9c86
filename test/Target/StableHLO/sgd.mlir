// RUN: bagua-translate --import-stablehlo %s | FileCheck %s

// A data-parallel step on two replicas: the sum and the division by 2 become the
// meaning of `grad`, the update a structured op with its literal learning rate,
// and the loss keeps its mean and gets a consumer.

// CHECK: bagua.cluster @cluster axes [#bagua.axis<"data", size = 2,
// CHECK: bagua.step @tiny on @cluster data [data] (param %[[W:[A-Za-z0-9_.]+]] {{.*}}"w" : tensor<4xf32>, batch %[[X:[A-Za-z0-9_.]+]] {{.*}}"batch.x" : tensor<2x4xf32>)
// Each op says which of the imported ones it is.
// CHECK: %[[LOSS:.*]] = bagua.compute forward "reduce"(%[[X]]) flops 0 bytes 36 {bagua.origin = array<i64: 0>} : (tensor<2x4xf32>) -> (tensor<f32>)
// CHECK: %[[G:.*]] = bagua.compute backward "reduce"(%[[X]]) {{.*}} -> (tensor<4xf32> grad "w")
// CHECK: %[[MEAN:.*]] = bagua.all_reduce mean %[[LOSS]] over [data] {{.*}}: tensor<f32>
// CHECK: %[[N:.*]] = bagua.sgd (%[[W]]) grad %[[G]] lr 0.1 {{.*}}: tensor<4xf32>
// CHECK: bagua.compute forward "output.1"(%[[MEAN]]) {{.*}}: (tensor<f32>) -> ()
// CHECK: bagua.yield %[[N]] : tensor<4xf32>
module @tiny attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<2x4xf32> loc("batch['x']"))
      -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<f32> {jax.result_info = "[1]"}) {
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %twos = "stablehlo.broadcast_in_dim"(%two) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %rate = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %loss = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %g = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %sum = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %mean = "stablehlo.divide"(%sum, %twos) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %sumloss = "stablehlo.all_reduce"(%loss) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %meanloss = "stablehlo.divide"(%sumloss, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %step = "stablehlo.multiply"(%rate, %mean) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %step) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n, %meanloss : tensor<4xf32>, tensor<f32>
  }
}
