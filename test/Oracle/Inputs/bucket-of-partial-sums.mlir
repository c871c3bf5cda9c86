// handled
// One of a bucket's tensors is summed along one axis already, so the bucket stays whole.
module @m attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
func.func public @main(%v: tensor<2xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['v']"), %w: tensor<4xf32> {tf.aliasing_output = 1 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<2xf32> loc("batch['x']"), %y: tensor<4xf32> loc("batch['y']")) -> (tensor<2xf32>, tensor<4xf32>) {
%g0 = "stablehlo.multiply"(%x, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%h = "stablehlo.multiply"(%y, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
%g1 = "stablehlo.all_reduce"(%g0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
^bb0(%ea: tensor<f32>, %eb: tensor<f32>):
  %es = "stablehlo.add"(%ea, %eb) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%es) : (tensor<f32>) -> ()
}) : (tensor<2xf32>) -> tensor<2xf32>
%g = "stablehlo.tanh"(%g1) : (tensor<2xf32>) -> tensor<2xf32>
%c = "stablehlo.concatenate"(%g, %h) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
%r = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
^bb0(%ea: tensor<f32>, %eb: tensor<f32>):
  %es = "stablehlo.add"(%ea, %eb) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%es) : (tensor<f32>) -> ()
}) : (tensor<6xf32>) -> tensor<6xf32>
%four = "stablehlo.constant"() <{value = dense<4.0> : tensor<6xf32>}> : () -> tensor<6xf32>
%d = "stablehlo.reshape"(%r) : (tensor<6xf32>) -> tensor<6xf32>
%i = "stablehlo.slice"(%r) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<2xf32>
%j = "stablehlo.slice"(%r) <{limit_indices = array<i64: 6>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<4xf32>
%n = "stablehlo.subtract"(%v, %i) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%m = "stablehlo.subtract"(%w, %j) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
return %n, %m : tensor<2xf32>, tensor<4xf32>
}
}
