// handled
// Each turn's term depends on what the loop has added up, so no sum leaves the loop: its turns become ops.
module @reads attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<3x4xf32> loc("batch['x']")) -> tensor<4xf32> {
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %first = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %rate = "stablehlo.constant"() <{value = dense<0.125> : tensor<4xf32>}> : () -> tensor<4xf32>
    %r:4 = "stablehlo.while"(%x, %w, %first, %zero) ({
    ^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %i: tensor<i32>, %s: tensor<4xf32>):
      %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %c = "stablehlo.compare"(%i, %three) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %i: tensor<i32>, %s: tensor<4xf32>):
      %z = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %p = "stablehlo.dynamic_slice"(%a, %i, %z) <{slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %q = "stablehlo.reshape"(%p) : (tensor<1x4xf32>) -> tensor<4xf32>
      %m = "stablehlo.subtract"(%b, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %g = "stablehlo.multiply"(%q, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %t = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%e: tensor<f32>, %o: tensor<f32>):
        %v = "stablehlo.add"(%e, %o) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%v) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %u = "stablehlo.add"(%s, %t) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%a, %b, %j, %u) : (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> ()
    }) : (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>)
    %d = "stablehlo.multiply"(%rate, %r#3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
