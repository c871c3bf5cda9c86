// Post-local Adam with one count: every step updates the moments, two of them by this rank's own gradient, and one of these on the ranks' mean of the moments.
!x = tensor<8xf32>
!w = tensor<100xf32>
!t = tensor<i32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @warm on @pod data [gpu] (batch %x "x" : !x, optimizer %t "count" : !t, param %w "w" varies [gpu] : !w,
    optimizer %m "w.m" varies [gpu] counted "count" : !w, optimizer %v "w.v" varies [gpu] counted "count" : !w) {
  %t1 = bagua.compute update "add"(%t) cost_ns 10 measured : (!t) -> (!t)
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %r = bagua.all_reduce mean %g over [gpu] : !w
  %w1, %m1, %v1 = bagua.adam (%w, %m, %v) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %r lr 0.01 : !w
  bagua.yield %t1, %w1, %m1, %v1 : !t, !w, !w, !w
}
bagua.step @local on @pod data [gpu] (batch %x "x" : !x, optimizer %t "count" : !t, param %w "w" varies [gpu] : !w,
    optimizer %m "w.m" varies [gpu] counted "count" : !w, optimizer %v "w.v" varies [gpu] counted "count" : !w) {
  %t1 = bagua.compute update "add"(%t) cost_ns 10 measured : (!t) -> (!t)
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %w1, %m1, %v1 = bagua.adam (%w, %m, %v) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %g lr 0.01 : !w
  bagua.yield %t1, %w1, %m1, %v1 : !t, !w, !w, !w
}
bagua.step @meet on @pod data [gpu] (batch %x "x" : !x, optimizer %t "count" : !t, param %w "w" varies [gpu] : !w,
    optimizer %m "w.m" varies [gpu] counted "count" : !w, optimizer %v "w.v" varies [gpu] counted "count" : !w) {
  %t1 = bagua.compute update "add"(%t) cost_ns 10 measured : (!t) -> (!t)
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %ma = bagua.all_reduce mean %m over [gpu] : !w
  %va = bagua.all_reduce mean %v over [gpu] : !w
  %w1, %m1, %v1 = bagua.adam (%w, %ma, %va) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %g lr 0.01 : !w
  bagua.yield %t1, %w1, %m1, %v1 : !t, !w, !w, !w
}
bagua.training @job {
  bagua.phase @warm until 3
  bagua.phase @meet every 2 offset 1
  bagua.phase @local
}
