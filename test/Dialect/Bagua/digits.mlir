// RUN: bagua-opt %s | FileCheck %s

// Constants of a contract are printed with as many digits as tell them from all others.
// CHECK: by adam [0.9, 0.999, 1.0e-08, 0.010013579] moments lr 1.000000e-01 : f32 grad
module attributes {bagua.example = #bagua.update<["w", "m", "v"] by adam [0.9, 0.999, 1.0e-08, 0.010013579] moments lr 0.1 : f32 grad mean "w.grad" over [node]>} {
}
