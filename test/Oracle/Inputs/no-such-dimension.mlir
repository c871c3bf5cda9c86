// refused: expected a dimension of 'tensor<2x4xf32>' as all_gather_dim, found -1
module @e attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4x4xf32> loc("batch['x']")) -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}) {
    %p = "stablehlo.multiply"(%w, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %g = "stablehlo.divide"(%r, %two) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %h = "stablehlo.slice"(%x) <{limit_indices = array<i64: 2, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %q = "stablehlo.all_gather"(%h) <{all_gather_dim = -1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %e = "stablehlo.constant"() <{value = dense<0.001> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %z = "stablehlo.multiply"(%q, %e) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %o = "stablehlo.add"(%g, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = "stablehlo.subtract"(%w, %o) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %n : tensor<4x4xf32>
  }
}
