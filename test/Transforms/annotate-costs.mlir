// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs))' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs{overlay=%S/Inputs/times.csv}))' %s | FileCheck %s --check-prefix=OVERLAY
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs{overlay=%S/Inputs/times-unknown-layer.csv}))' %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs{overlay=%S/Inputs/times-twice.csv}))' %s 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs{overlay=%S/Inputs/times-malformed.csv}))' %s 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs{overlay=%S/Inputs/none.csv}))' %s 2>&1 | FileCheck %s --check-prefix=MISSING

// Durations: by the roofline of the device, or from a CSV of measured times.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
    device #bagua.device<flop_per_s = 1000000000000, bytes_per_s = 100000000000, launch_ns = 10>

// The larger of flops at the peak and bytes at the memory's bandwidth, rounded up,
// and a launch: bound by flops, by bytes, a fraction of a ns.
// CHECK-LABEL: bagua.step @train
// CHECK: "l1"{{.*}} flops 5000000 bytes 1000 cost_ns 5010 roofline
// CHECK: "conv, 3x3"{{.*}} bytes 1000 cost_ns 20 roofline
// CHECK: "relu"{{.*}} flops 1 cost_ns 11 roofline
// What has a duration keeps it, and what has no quantities gets none.
// CHECK: "l1"{{.*}} flops 7 cost_ns 9 measured
// CHECK: "opaque"(%x) : (
// The lines with an op's name and phase replace its duration; other ops are as above.
// OVERLAY-LABEL: bagua.step @train
// OVERLAY: forward "l1"{{.*}} flops 5000000 bytes 1000 cost_ns 1000 measured
// OVERLAY: forward "conv, 3x3"{{.*}} cost_ns 3000 measured
// OVERLAY: forward "relu"{{.*}} cost_ns 11 roofline
// OVERLAY: backward "l1"{{.*}} cost_ns 2000 measured
// OVERLAY: forward "opaque"(%x) : (
// A line that names no op is a spelling mistake or another model's.
// UNKNOWN: times-unknown-layer.csv:2: the step has no forward compute named 'l9'
// TWICE: times-twice.csv:2: forward of 'l1' stands in line 1 already
// MALFORMED: times-malformed.csv:2: expected name,phase,ns, found 'l1,forward,fast'
// MISSING: cannot open input file '{{.*}}none.csv': No such file or directory
bagua.step @train on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "l1"(%x) flops 5000000 bytes 1000 : (!t) -> (!t)
  %b = bagua.compute forward "conv, 3x3"(%x) bytes 1000 : (!t) -> (!t)
  %c = bagua.compute forward "relu"(%x) flops 1 : (!t) -> (!t)
  %d = bagua.compute backward "l1"(%x) flops 7 cost_ns 9 measured : (!t) -> (!t)
  %e = bagua.compute forward "opaque"(%x) : (!t) -> (!t)
}
