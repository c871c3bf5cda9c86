// refused: expected groups in ascending order, found [[1, 0]]
module @d1 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<2x4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %v1 = "stablehlo.sine"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %v2 = "stablehlo.all_to_all"(%v1) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %v3 = "stablehlo.constant"() <{value = dense<[[1.0,2.0,3.0,4.0],[-1.0,5.0,7.0,0.5]]> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
    %v4 = "stablehlo.multiply"(%v2, %v3) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %v5 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v6 = "stablehlo.reduce"(%v4, %v5) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v7 = "stablehlo.all_reduce"(%v6) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v8 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v9 = "stablehlo.divide"(%v7, %v8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v10 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v11 = "stablehlo.multiply"(%v10, %v9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v12 = "stablehlo.subtract"(%w, %v11) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v12 : tensor<4xf32>
  }
}
