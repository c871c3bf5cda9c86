// handled
module @c2 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2, "model"=1]>, sym_name = "mesh"}> : () -> ()
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<6x4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %m = "sdy.manual_computation"(%w, %x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"data"}, {}]>]>, manual_axes = #sdy<manual_axes{"data", "model"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>}> ({
    ^bb0(%lw: tensor<4xf32>, %lx: tensor<3x4xf32>):
    %z = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %g = "stablehlo.reduce"(%lx, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %r = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %d = "stablehlo.divide"(%r, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%lw, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

    "sdy.return"(%n) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>, tensor<6x4xf32>) -> (tensor<4xf32>)
    
    return %m : tensor<4xf32>
  }
}
