// RUN: bagua-translate --import-stablehlo %graphs/bert_base.mlir | FileCheck %s --check-prefix=ADAM
// RUN: bagua-translate --import-stablehlo %graphs/mlp_shard_map.mlir | FileCheck %s --check-prefix=SGD
// RUN: bagua-translate --import-stablehlo --size-scale=0.001 --cluster=node=2,gpu=4 %graphs/transformer_moe.mlir | FileCheck %s --check-prefix=MOE

// Updates of real steps with their constants; the step count stays the program's.
// ADAM: bagua.compute update "add"(%count)
// ADAM: bagua.adam (%embedding_norm.bias, %mu.embedding_norm.bias, %nu.embedding_norm.bias) bias_correction step_size grad %{{.*}} lr 0.0001 {{.*}}: tensor<768xf32>
// SGD: bagua.sgd (%Dense_0.bias, %momentum.Dense_0.bias) momentum 0.9 grad %{{.*}} lr 0.1 {{.*}}: tensor<64xf32>

// The exported mesh laid on a cluster of its sizes, and every size scaled.
// MOE: axes [#bagua.axis<"node", size = 2, {{.*}}, #bagua.axis<"gpu", size = 4,
// MOE: data [node, gpu]
// MOE-SAME: "moe_1.expert_in" varies [gpu] : tensor<4194xf32>
// MOE: bagua.all_to_all %{{.*}} over [gpu] split 0 concat 0 {{.*}}: tensor<1312xf32> -> tensor<1312xf32>
