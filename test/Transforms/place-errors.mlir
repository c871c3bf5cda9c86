// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-place))' --split-input-file --verify-diagnostics %s

// What bagua-place refuses.

// Places follow from the launch order, so there has to be one.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a scheduled step, found one without streams}}
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  bagua.yield %w : !t
}

// -----

// The program binds tensors by name. A piece of a bucket has none; it goes by its
// gradient's, if it lies where the gradient does, which it can't here: something
// reads the rank's own gradient later.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %g1, %g2 = bagua.compute backward "l"(%x) on compute : (!t) -> (!t grad "w1", !t grad "w2")
  %b = bagua.concat %g1, %g2 on comm : !t, !t -> tensor<16xf32>
  %c = bagua.all_reduce mean %b over [node] on comm : tensor<16xf32>
  // expected-error @+1 {{makes a value for the program that can't be given a name}}
  %r1, %r2 = bagua.split %c on comm : tensor<16xf32> -> !t, !t
  bagua.compute update "noise scale"(%g1) on compute : (!t) -> ()
  %n1, %n2 = bagua.compute update "sgd"(%w1, %w2, %r1, %r2) on compute : (!t, !t, !t, !t) -> (!t, !t)
  bagua.yield %n1, %n2 : !t, !t
}
