// handled
// A bucket of one tensor twice: each piece is a reduction of it, one of them a state's next value.
module @m attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("stats['w']"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<4xf32>, tensor<8xf32>) {
%g = "stablehlo.negate"(%x)  : (tensor<4xf32>) -> tensor<4xf32>
%c = "stablehlo.concatenate"(%g, %g) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
%r = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%ea: tensor<f32>, %eb: tensor<f32>):
  %es = "stablehlo.add"(%ea, %eb) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%es) : (tensor<f32>) -> ()
}) : (tensor<8xf32>) -> tensor<8xf32>
%a = "stablehlo.slice"(%r) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<4xf32>
%b = "stablehlo.slice"(%r) <{limit_indices = array<i64: 8>, start_indices = array<i64: 4>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<4xf32>
%d = "stablehlo.concatenate"(%b, %b) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
return %a, %d : tensor<4xf32>, tensor<8xf32>
}
}
