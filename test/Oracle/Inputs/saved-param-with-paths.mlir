// handled
module @a7n attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %p: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("opt['prev']['w']"), %x: tensor<3x4xf32>) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xf32> {jax.result_info = "[1]['prev']['w']"}) {
    %v1 = "stablehlo.broadcast_in_dim"(%w) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<3x4xf32>
    %v2 = "stablehlo.multiply"(%x, %v1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %v3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v4 = "stablehlo.reduce"(%v2, %v3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v5 = "stablehlo.all_reduce"(%v4) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v6 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v7 = "stablehlo.divide"(%v5, %v6) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v8 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v9 = "stablehlo.multiply"(%v8, %v7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v10 = "stablehlo.subtract"(%w, %v9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v11 = "stablehlo.constant"() <{value = dense<0.9> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v12 = "stablehlo.subtract"(%w, %p) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v13 = "stablehlo.multiply"(%v11, %v12) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v14 = "stablehlo.add"(%v10, %v13) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v14, %w : tensor<4xf32>, tensor<4xf32>
  }
}
