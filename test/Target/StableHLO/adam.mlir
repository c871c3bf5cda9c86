// RUN: bagua-translate --import-stablehlo %s | FileCheck %s --check-prefix=ADAM
// RUN: bagua-translate --import-stablehlo %s | bagua-opt --bagua-strategy=bytescheduler-a2a | bagua-translate --export-plan -o %t.plan && bagua-run %t.plan --check --steps=3 --time-scale=0 | FileCheck %s --check-prefix=RUNS

// Adam is recognised by what it computes. Below it stands as algorithm 1 of its paper; each other text is this one with something changed.
// ADAM: optimizer %m {{.*}}"m" counted "count" {{.*}}"v" counted "count"
// ADAM: bagua.adam (%w, %m, %v) grad %{{.*}} lr 0.001 {
// RUNS: check {{ *}}passed

// A count that stops at the largest counts.
// RUN: sed 's/^ *%%v6 = .*/%%max = "stablehlo.constant"() <{value = dense<2147483647> : tensor<i32>}> : () -> tensor<i32>\n%%up = "stablehlo.add"(%%c, %%v5) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n%%less = "stablehlo.compare"(%%c, %%max) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>\n%%v6 = "stablehlo.select"(%%less, %%up, %%max) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=ADAM
// ... one that begins again does not.
// RUN: sed 's/^ *%%v6 = .*/%%end = "stablehlo.constant"() <{value = dense<500> : tensor<i32>}> : () -> tensor<i32>\n%%zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>\n%%up = "stablehlo.add"(%%c, %%v5) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n%%is = "stablehlo.compare"(%%up, %%end) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>\n%%v6 = "stablehlo.select"(%%is, %%zero, %%up) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// A rate that falls in steps is the program's number.
// RUN: sed 's/^ *%%v35 = .*/%%span = "stablehlo.constant"() <{value = dense<30000> : tensor<i32>}> : () -> tensor<i32>\n%%stair = "stablehlo.divide"(%%c, %%span) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n%%stairs = "stablehlo.convert"(%%stair) : (tensor<i32>) -> tensor<f32>\n%%half = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>\n%%rate = "stablehlo.power"(%%half, %%stairs) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n%%v35 = "stablehlo.broadcast_in_dim"(%%rate) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=RATE
// A very small eps is not none.
// RUN: sed 's/1.0e-8/1.0e-30/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=SMALL
// Something inside the root is another function.
// RUN: sed 's/^ *%%v31 = .*/%%in = "stablehlo.constant"() <{value = dense<1.0e-6> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>\n%%va = "stablehlo.add"(%%v30, %%in) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n%%v31 = "stablehlo.sqrt"(%%va) : (tensor<4x4xf32>) -> tensor<4x4xf32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// ... so is the larger of two variances (AMSGrad).
// RUN: sed 's/^ *%%v31 = .*/%%va = "stablehlo.maximum"(%%v30, %%v) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n%%v31 = "stablehlo.sqrt"(%%va) : (tensor<4x4xf32>) -> tensor<4x4xf32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// ... the product of a gradient and its transpose.
// RUN: sed 's/^ *%%v15 = .*/%%gt = "stablehlo.broadcast_in_dim"(%%v4) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>\n%%v15 = "stablehlo.multiply"(%%v4, %%gt) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// ... a rounded gradient.
// RUN: sed 's/^ *%%v15 = .*/%%gi = "stablehlo.convert"(%%v4) : (tensor<4x4xf32>) -> tensor<4x4xi8>\n%%gr = "stablehlo.convert"(%%gi) : (tensor<4x4xi8>) -> tensor<4x4xf32>\n%%v15 = "stablehlo.multiply"(%%gr, %%v4) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// ... and a step uphill.
// RUN: sed 's/%%v37 = "stablehlo.subtract"/%%v37 = "stablehlo.add"/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE
// Other shares of old and new are no mean.
// RUN: sed 's/dense<0.1>/dense<0.2>/' %s | bagua-translate --import-stablehlo - | FileCheck %s --check-prefix=NONE

// RATE: bagua.adam (%w, %m, %v) grad %{{.*}} lr %{{[0-9]+}} {
// SMALL: bagua.adam (%w, %m, %v) eps 1.0e-30 grad %{{.*}} lr 0.001 {
// NONE: bagua.step
// NONE-NOT: bagua.adam
module @e attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %m: tensor<4x4xf32> {tf.aliasing_output = 1 : i32} loc("opt['m']"), %v: tensor<4x4xf32> {tf.aliasing_output = 2 : i32} loc("opt['v']"), %c: tensor<i32> {tf.aliasing_output = 3 : i32} loc("opt['count']"), %x: tensor<4x4xf32> loc("batch['x']")) -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}, tensor<4x4xf32> {jax.result_info = "[1]['m']"}, tensor<4x4xf32> {jax.result_info = "[1]['v']"}, tensor<i32> {jax.result_info = "[1]['count']"}) {
    %v1 = "stablehlo.multiply"(%w, %x)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v2 = "stablehlo.all_reduce"(%v1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %v3 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v4 = "stablehlo.divide"(%v2, %v3)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v5 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %v6 = "stablehlo.add"(%c, %v5)  : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %v7 = "stablehlo.constant"() <{value = dense<0.9> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v8 = "stablehlo.multiply"(%v7, %m)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v9 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v10 = "stablehlo.multiply"(%v9, %v4)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v11 = "stablehlo.add"(%v8, %v10)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v12 = "stablehlo.constant"() <{value = dense<0.999> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v13 = "stablehlo.multiply"(%v12, %v)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v14 = "stablehlo.constant"() <{value = dense<0.001> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v15 = "stablehlo.multiply"(%v4, %v4)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v16 = "stablehlo.multiply"(%v14, %v15)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v17 = "stablehlo.add"(%v13, %v16)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v18 = "stablehlo.convert"(%v6)  : (tensor<i32>) -> tensor<f32>
    %v19 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %v20 = "stablehlo.constant"() <{value = dense<0.9> : tensor<f32>}> : () -> tensor<f32>
    %v21 = "stablehlo.power"(%v20, %v18)  : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v22 = "stablehlo.subtract"(%v19, %v21)  : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v23 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %v24 = "stablehlo.constant"() <{value = dense<0.999> : tensor<f32>}> : () -> tensor<f32>
    %v25 = "stablehlo.power"(%v24, %v18)  : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v26 = "stablehlo.subtract"(%v23, %v25)  : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v27 = "stablehlo.broadcast_in_dim"(%v22) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %v28 = "stablehlo.divide"(%v11, %v27)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v29 = "stablehlo.broadcast_in_dim"(%v26) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %v30 = "stablehlo.divide"(%v17, %v29)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v31 = "stablehlo.sqrt"(%v30)  : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %v32 = "stablehlo.constant"() <{value = dense<1.0e-8> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v33 = "stablehlo.add"(%v31, %v32)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v34 = "stablehlo.divide"(%v28, %v33)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v35 = "stablehlo.constant"() <{value = dense<0.001> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v36 = "stablehlo.multiply"(%v35, %v34)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v37 = "stablehlo.subtract"(%w, %v36)  : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %v37, %v11, %v17, %v6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>
  }
}
