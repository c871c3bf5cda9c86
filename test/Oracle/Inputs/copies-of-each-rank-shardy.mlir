// handled
// A newer pmap: stacked copies of a param, of a key that only the gradient uses, and of a number; the norm of the copies of the param is a metric.
module @copies attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
  "sdy.mesh"() <{mesh = #sdy.mesh<["d"=2]>, sym_name = "mesh"}> : () -> ()
  func.func public @main(%w: tensor<2x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %k: tensor<2x4xf32> {tf.aliasing_output = 1 : i32} loc("state['key']"), %n: tensor<2xf32> loc("weight"), %x: tensor<2x4xf32> loc("batch['x']"))
      -> (tensor<2x4xf32> {jax.result_info = "[0]['w']"}, tensor<2x4xf32> {jax.result_info = "[1]['key']"}, tensor<2xf32> {jax.result_info = "[2]"}, tensor<2xf32> {jax.result_info = "[3]"}) {
    %all:4 = "sdy.manual_computation"(%w, %k, %n, %x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"d"}, {}]>, <@mesh, [{"d"}, {}]>, <@mesh, [{"d"}]>, <@mesh, [{"d"}, {}]>]>, manual_axes = #sdy<manual_axes{"d"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"d"}, {}]>, <@mesh, [{"d"}, {}]>, <@mesh, [{"d"}]>, <@mesh, [{"d"}]>]>}> ({
    ^bb0(%w1: tensor<1x4xf32>, %k1: tensor<1x4xf32>, %n1: tensor<1xf32>, %x1: tensor<1x4xf32>):
      %wl = "stablehlo.reshape"(%w1) : (tensor<1x4xf32>) -> tensor<4xf32>
      %kl = "stablehlo.reshape"(%k1) : (tensor<1x4xf32>) -> tensor<4xf32>
      %nl = "stablehlo.reshape"(%n1) : (tensor<1xf32>) -> tensor<f32>
      %xl = "stablehlo.reshape"(%x1) : (tensor<1x4xf32>) -> tensor<4xf32>
      %drawn = "stablehlo.sine"(%kl) : (tensor<4xf32>) -> tensor<4xf32>
      %g = "stablehlo.multiply"(%drawn, %wl) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %s = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
      %mean = "stablehlo.divide"(%s, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %rate = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
      %change = "stablehlo.multiply"(%rate, %mean) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %next = "stablehlo.subtract"(%wl, %change) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %weights = "stablehlo.all_reduce"(%nl) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<f32>) -> tensor<f32>
      %square = "stablehlo.multiply"(%wl, %wl) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %used = "stablehlo.add"(%square, %xl) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
      %norm = "stablehlo.reduce"(%square, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %loss = "stablehlo.reduce"(%used, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %largest = "stablehlo.all_reduce"(%norm) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<f32>) -> tensor<f32>
      %metric = "stablehlo.add"(%largest, %loss) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %later = "stablehlo.add"(%kl, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %w2 = "stablehlo.broadcast_in_dim"(%next) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
      %k2 = "stablehlo.broadcast_in_dim"(%later) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
      %n2 = "stablehlo.broadcast_in_dim"(%weights) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
      %m2 = "stablehlo.broadcast_in_dim"(%metric) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
      "sdy.return"(%w2, %k2, %n2, %m2) : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1xf32>, tensor<1xf32>) -> ()
    }) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
    func.return %all#0, %all#1, %all#2, %all#3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
