// Updates by a rank's own gradient, of which there is no promise, and a row that halves the momentum behind them.
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @local on @pod data [gpu] (batch %x "x" : !w, input %lr "lr" : tensor<f32>, param %w "w" varies [gpu] : !w, optimizer %m "w.m" varies [gpu] : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %w1, %m1 = bagua.sgd (%w, %m) momentum 0.9 grad %g lr %lr : !w, tensor<f32>
  bagua.yield %w1, %m1 : !w, !w
}
bagua.step @half on @pod (optimizer %m "w.m" varies [gpu] : !w) {
  %m1 = bagua.linear [0.5] (%m) : !w
  bagua.yield %m1 : !w
}
bagua.training @job {
  bagua.phase @half at 5
  bagua.phase @local
}
