// Adam, then its momentum alone is reduced and applied: of the second step there is no promise.
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @warmup on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w, optimizer %m "w.m" : !w, optimizer %v "w.v" : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %w1, %m1, %v1 = bagua.adam (%w, %m, %v) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %g lr 0.01 : !w
  bagua.yield %w1, %m1, %v1 : !w, !w, !w
}
bagua.step @main on @pod data [gpu] (batch %x "x" : !w, input %lr "lr" : tensor<f32>, param %w "w" : !w, optimizer %m "w.m" : !w, optimizer %v "w.v" : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %l = bagua.linear [0.9, 0.1] (%m, %g) : !w
  %m1 = bagua.all_reduce mean %l over [gpu] : !w
  %w1 = bagua.adam_apply %w, %m1, %v lr %lr : !w, tensor<f32>
  bagua.yield %w1, %m1, %v : !w, !w, !w
}
bagua.training @job {
  bagua.phase @warmup until 3
  bagua.phase @main
}
