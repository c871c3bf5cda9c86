// RUN: bagua-opt --bagua-strategy=bsp-a2a %s | FileCheck %s --check-prefixes=CHECK,BSP
// RUN: bagua-opt --bagua-strategy=wfbp-a2a %s | FileCheck %s --check-prefixes=CHECK,WFBP
// RUN: bagua-opt --bagua-strategy=ddp %s | FileCheck %s --check-prefixes=CHECK,DDP
// RUN: bagua-opt --bagua-strategy=horovod %s | FileCheck %s --check-prefixes=CHECK,HOROVOD
// RUN: bagua-opt '--bagua-strategy=ddp{first-bytes=64 cap-bytes=64}' %s | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: bagua-opt '--bagua-strategy=horovod{cycle-ns=100}' %s | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: bagua-opt '--bagua-strategy=horovod{buffer-bytes=64}' %s | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: not bagua-opt --bagua-strategy=fastest %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not bagua-opt '--bagua-strategy=ddp{credit=4}' %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not bagua-opt '--bagua-strategy=bsp-a2a{cap-bytes=4}' %s 2>&1 | FileCheck %s --check-prefix=NO-OPTIONS
// RUN: not bagua-opt '--bagua-strategy=ddp{cap-bytes=much}' %s 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not bagua-opt '--bagua-strategy=ddp{cap-bytes=-1}' %s 2>&1 | FileCheck %s --check-prefix=RANGE

// Published systems as pipelines: four steps of 32-byte gradients, 60 ns apart.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// NAME: expected a strategy (auto, bagua-allreduce, blueconnect, bsp-a2a, bsp-ps, byteps, bytescheduler-a2a, bytescheduler-ps, custom, ddp, dear, horovod, mg-wfbp, p3, wfbp-a2a, wfbp-ps), found 'fastest'
// OPTION: strategy 'ddp' has no option 'credit'; its options are first-bytes, cap-bytes, wire, form
// NO-OPTIONS: strategy 'bsp-a2a' has no option 'cap-bytes'; its options are wire, form
// VALUE: error: option 'cap-bytes' of strategy 'ddp': expected a whole number, found 'much'
// RANGE: error: expected first-bytes, cap-bytes and partition-bytes of at least 0

// The module says how it was compiled; all results are placed and proved.
// CHECK: module attributes {bagua.strategy = "{{bsp-a2a|wfbp-a2a|ddp|horovod|mg-wfbp|bagua-allreduce|blueconnect}}{{.*}}"}
// CHECK-LABEL: bagua.step @train on @pod data [node] streams [compute, comm]
// CHECK-SAME: bagua.contract = [#bagua.relation<"w4.grad" = mean "w4.grad" over [node]>,
// CHECK: bagua.compute forward "all"
// After backward, each alone:
// BSP-COUNT-4: bagua.compute backward
// BSP-NEXT: bagua.after
// BSP-COUNT-4: bagua.all_reduce {{.*}} : tensor<8xf32>
// Each as soon as it is ready:
// WFBP: backward "l4"
// WFBP-NEXT: bagua.all_reduce {{.*}} at ["w4.grad"]
// WFBP-NEXT: bagua.compute backward "l3"
// In buckets of 25 MiB, the first of 1 MiB: all in one.
// DDP-COUNT-4: bagua.compute backward
// DDP-NEXT: bagua.concat
// DDP-NEXT: bagua.all_reduce {{.*}} at [buckets:0] : tensor<32xf32>
// DDP-NEXT: bagua.split
// In the fusion buffer at a tick of 1 ms: all at the first.
// HOROVOD-COUNT-4: bagua.compute backward
// HOROVOD-NEXT: bagua.concat
// HOROVOD-NEXT: bagua.all_reduce {{.*}} : tensor<32xf32>
// With smaller buckets, buffers or cycles: two.
// TWO: backward "l3"
// TWO-NEXT: bagua.concat
// TWO-NEXT: bagua.all_reduce {{.*}} : tensor<16xf32>
// TWO-NEXT: bagua.split
// TWO-NEXT: bagua.compute backward "l2"
// TWO-NEXT: bagua.compute backward "l1"
// TWO-NEXT: bagua.concat
// CHECK: bagua.compute update "sgd
// CHECK: bagua.yield
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t, param %w4 "w4" : !t) {
  %a = bagua.compute forward "all"(%x, %w1, %w2, %w3, %w4) cost_ns 100 measured : (!t, !t, !t, !t, !t) -> (!t)
  %g4 = bagua.compute backward "l4"(%a) cost_ns 40 measured : (!t) -> (!t grad "w4")
  %g3 = bagua.compute backward "l3"(%a) cost_ns 40 measured : (!t) -> (!t grad "w3")
  %g2 = bagua.compute backward "l2"(%a) cost_ns 40 measured : (!t) -> (!t grad "w2")
  %g1 = bagua.compute backward "l1"(%a) cost_ns 40 measured : (!t) -> (!t grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %g3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %g4 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3, %n4 : !t, !t, !t, !t
}
