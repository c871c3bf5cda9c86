// SGD for three iterations, then with momentum. A buffer is halved before iteration 2.
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @plain on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %w1 = bagua.sgd (%w) grad %g lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.step @heavy on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w, optimizer %m "w.m" : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %w1, %m1 = bagua.sgd (%w, %m) momentum 0.9 grad %g lr 0.1 : !w
  bagua.yield %w1, %m1 : !w, !w
}
bagua.step @rest on @pod (buffer %b "b" : !w) {
  %r = bagua.linear [0.5] (%b) : !w
  bagua.yield %r : !w
}
bagua.training @job {
  bagua.phase @rest at 2
  bagua.phase @plain until 3
  bagua.phase @heavy
}
