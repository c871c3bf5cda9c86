// handled
// Gradients are summed over one axis each, then averaged over another one as one tensor: four terms, divided by two.
module attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%v: tensor<2xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['v']"), %w: tensor<4xf32> {tf.aliasing_output = 1 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<2xf32> loc("batch['x']"), %y: tensor<4xf32> loc("batch['y']")) -> (tensor<2xf32>, tensor<4xf32>) {
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<6xf32>}> : () -> tensor<6xf32>
    %rv = "stablehlo.constant"() <{value = dense<0.25> : tensor<2xf32>}> : () -> tensor<2xf32>
    %rw = "stablehlo.constant"() <{value = dense<0.25> : tensor<4xf32>}> : () -> tensor<4xf32>
    %g = "stablehlo.multiply"(%x, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %h = "stablehlo.multiply"(%y, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %gs = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %hs = "stablehlo.all_reduce"(%h) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %c = "stablehlo.concatenate"(%gs, %hs) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
    %r = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<6xf32>) -> tensor<6xf32>
    %d = "stablehlo.divide"(%r, %two) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %i = "stablehlo.slice"(%d) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<2xf32>
    %j = "stablehlo.slice"(%d) <{limit_indices = array<i64: 6>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<4xf32>
    %iv = "stablehlo.multiply"(%rv, %i) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %jw = "stablehlo.multiply"(%rw, %j) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%v, %iv) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %m = "stablehlo.subtract"(%w, %jw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n, %m : tensor<2xf32>, tensor<4xf32>
  }
}
