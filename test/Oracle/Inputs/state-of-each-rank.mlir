// handled
module @b6 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> loc("[0]['params']['w']"), %st: tensor<4xf32> loc("[0]['noise']"), %x: tensor<3x4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['params']['w']"}, tensor<4xf32> {jax.result_info = "[0]['noise']"}) {
    %v1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v2 = "stablehlo.reduce"(%x, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v3 = "stablehlo.all_reduce"(%v2) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v4 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v5 = "stablehlo.divide"(%v3, %v4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v6 = "stablehlo.sine"(%st) : (tensor<4xf32>) -> tensor<4xf32>
    %v7 = "stablehlo.all_reduce"(%v6) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v8 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v9 = "stablehlo.divide"(%v7, %v8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v10 = "stablehlo.add"(%v5, %v9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v11 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v12 = "stablehlo.multiply"(%v11, %v10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v13 = "stablehlo.subtract"(%w, %v12) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v14 = "stablehlo.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v15 = "stablehlo.add"(%st, %v14) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v13, %v15 : tensor<4xf32>, tensor<4xf32>
  }
}
