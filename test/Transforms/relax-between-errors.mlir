// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax))' %s --split-input-file --verify-diagnostics

// States that a step between iterations makes in a way that no contract can say.

// From two states.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a step between iterations to leave state 'm' as it is, to scale it by one coefficient or to broadcast it from the first rank, found a result of 'bagua.linear'}}
bagua.step @s on @pod (param %w "w" : !t, optimizer %m "m" : !t) {
  %n = bagua.linear [0.5, 0.5] (%w, %m) : !t
  bagua.yield %w, %n : !t, !t
}

// -----

// From another state.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a step between iterations to leave state 'm' as it is, to scale it by one coefficient or to broadcast it from the first rank, found a result of 'bagua.linear'}}
bagua.step @s on @pod (param %w "w" : !t, optimizer %m "m" : !t) {
  %n = bagua.linear [0.5] (%w) : !t
  bagua.yield %w, %n : !t, !t
}

// -----

// Another state itself.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a step between iterations to leave state 'w' as it is, to scale it by one coefficient or to broadcast it from the first rank, found state 'm' in its place}}
bagua.step @s on @pod (param %w "w" : !t, optimizer %m "m" : !t) {
  bagua.yield %m, %m : !t, !t
}

// -----

// A broadcast of something else than the state.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a step between iterations to leave state 'w' as it is, to scale it by one coefficient or to broadcast it from the first rank, found a result of 'bagua.broadcast'}}
bagua.step @s on @pod (param %w "w" varies [node] : !t) {
  %h = bagua.linear [0.5] (%w) : !t
  %r = bagua.slice %h : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}

// -----

// A mean.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a step between iterations to leave state 'w' as it is, to scale it by one coefficient or to broadcast it from the first rank, found a result of 'bagua.all_reduce'}}
bagua.step @s on @pod (param %w "w" varies [node] : !t) {
  %n = bagua.all_reduce mean %w over [node] : !t
  bagua.yield %n : !t
}
