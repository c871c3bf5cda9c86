// handled
module @b11 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %y: tensor<3x4xf32> loc("batch['y']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %v1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v2 = "stablehlo.reduce"(%y, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v3 = "stablehlo.convert"(%v2) : (tensor<4xf32>) -> tensor<4xbf16>
    %v4 = "stablehlo.all_reduce"(%v3) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
      "stablehlo.return"(%s) : (tensor<bf16>) -> ()
    }) : (tensor<4xbf16>) -> tensor<4xbf16>
    %v5 = "stablehlo.optimization_barrier"(%v4) : (tensor<4xbf16>) -> tensor<4xbf16>
    %v6 = "stablehlo.convert"(%v5) : (tensor<4xbf16>) -> tensor<4xf32>
    %v7 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v8 = "stablehlo.divide"(%v6, %v7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v9 = "stablehlo.optimization_barrier"(%v8) : (tensor<4xf32>) -> tensor<4xf32>
    %v10 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v11 = "stablehlo.multiply"(%v10, %v9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v12 = "stablehlo.subtract"(%w, %v11) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v12 : tensor<4xf32>
  }
}
