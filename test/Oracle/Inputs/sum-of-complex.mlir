// refused: expected a sum of floating-point numbers or integers
module @a11 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %f: tensor<4xcomplex<f32>> {mhlo.is_same_data_across_replicas = true} loc("flags"), %x: tensor<3x4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xcomplex<f32>> {jax.result_info = "[1]"}) {
    %v1 = "stablehlo.all_reduce"(%f) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %s = "stablehlo.add"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
      "stablehlo.return"(%s) : (tensor<complex<f32>>) -> ()
    }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %v2 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v3 = "stablehlo.reduce"(%x, %v2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v4 = "stablehlo.real"(%v1) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %v5 = "stablehlo.multiply"(%v3, %v4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v6 = "stablehlo.all_reduce"(%v5) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v7 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v8 = "stablehlo.divide"(%v6, %v7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v9 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v10 = "stablehlo.multiply"(%v9, %v8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v11 = "stablehlo.subtract"(%w, %v10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v11, %v1 : tensor<4xf32>, tensor<4xcomplex<f32>>
  }
}
