// handled
// Each rank trains by itself: no mean is added to a pmap that has none.
module @alone attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4xf32> loc("x")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xf32> {jax.result_info = "[1]"}) {
    %g = "stablehlo.multiply"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("gradient")
    %r = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %d = "stablehlo.multiply"(%g, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = "stablehlo.sine"(%g) : (tensor<4xf32>) -> tensor<4xf32>
    return %n, %l : tensor<4xf32>, tensor<4xf32>
  }
}
