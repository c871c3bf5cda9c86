// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// The sums of squares of parts are added before an update uses them.

// A param in parts: the sums over the axis of the parts are the norms of the whole. On the other axis ranks agree.
!t = tensor<8xf32>
!p = tensor<8xf32, #bagua.layout<shard [gpu]>>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @summed on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !p) {
  %g = bagua.compute backward "g"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %q = bagua.reduce_scatter mean %r over [gpu] : !t -> !p
  %k = bagua.slice %w : !t -> !p
  %d = bagua.direction (%k, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %q : !p
  %a = bagua.squared_norm %k : !p
  %b = bagua.squared_norm %d : !p
  %c = bagua.concat %a, %b : !s, !s -> tensor<2xf32>
  %e = bagua.all_reduce sum %c over [gpu] : tensor<2xf32>
  %f:2 = bagua.split %e : tensor<2xf32> -> !s, !s
  %n, %o = bagua.update (%k, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %q norms %f#0, %f#1 lr 0.1 : !p
  %h = bagua.all_gather %n over [gpu] : !p -> !t
  bagua.yield %h, %o : !t, !p
}

// -----

// Without the sum each rank would scale its part by another ratio.
!t = tensor<8xf32>
!p = tensor<8xf32, #bagua.layout<shard [gpu]>>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @forgotten on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !p) {
  %g = bagua.compute backward "g"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %q = bagua.reduce_scatter mean %r over [gpu] : !t -> !p
  %k = bagua.slice %w : !t -> !p
  %d = bagua.direction (%k, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %q : !p
  %a = bagua.squared_norm %k : !p
  %b = bagua.squared_norm %d : !p
  // expected-error @+1 {{expected norms that have been summed over axis 'gpu', found one that is a sum over the parts along it}}
  %n, %o = bagua.update (%k, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %q norms %a, %b lr 0.1 : !p
  %h = bagua.all_gather %n over [gpu] : !p -> !t
  bagua.yield %h, %o : !t, !p
}

// -----

// A mean of the sums is not the sum.
!t = tensor<8xf32>
!p = tensor<8xf32, #bagua.layout<shard [gpu]>>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @mean on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %s "s" : !s) {
  %k = bagua.slice %w : !t -> !p
  %a = bagua.squared_norm %k : !p
  // expected-error @+1 {{expected kind sum for a sum over the parts along axis 'gpu', found mean}}
  %b = bagua.all_reduce mean %a over [gpu] : !s
  bagua.yield %w, %b : !t, !s
}

// -----

// One rank's sum does not pass for all ranks'.
!t = tensor<8xf32>
!p = tensor<8xf32, #bagua.layout<shard [gpu]>>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @kept on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %s "s" : !s) {
  %k = bagua.slice %w : !t -> !p
  // expected-note @+1 {{this value is partly summed over axis 'gpu'}}
  %a = bagua.squared_norm %k : !p
  // expected-error @+1 {{expected state 's' replicated over axis 'gpu', found partly summed}}
  bagua.yield %w, %a : !t, !s
}

// -----

// Where all ranks have the tensor, its norm needs no sum, and may have none.
!t = tensor<8xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @twice on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %s "s" : !s) {
  %a = bagua.squared_norm %w : !t
  // expected-error @+1 {{reduces over axis 'gpu', where its operand is already the same on all ranks}}
  %b = bagua.all_reduce sum %a over [gpu] : !s
  bagua.yield %w, %b : !t, !s
}
