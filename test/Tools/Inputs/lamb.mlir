// LAMB, whose norms carry an error of one element to all others.
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @train on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w, optimizer %m "w.m" : !w, optimizer %v "w.v" : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %d = bagua.direction (%w, %m, %v) by lamb [0.9, 0.98, 1.0e-06, 0.01] step_size grad %g : !w
  %a = bagua.squared_norm %w : !w
  %q = bagua.squared_norm %d : !w
  %w1, %m1, %v1 = bagua.update (%w, %m, %v) by lamb [0.9, 0.98, 1.0e-06, 0.01] step_size grad %g norms %a, %q lr 0.01 : !w
  bagua.yield %w1, %m1, %v1 : !w, !w, !w
}
