// A synchronised buffer, which the program takes back, and a row that begins with the first rank's values, as DDP does.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 100000000000>]
bagua.step @first on @pod (param %w "w" : !t, buffer %b "mean" : !t) {
  %o = bagua.slice %w : !t -> tensor<1000xf32, #bagua.layout<root [gpu]>>
  %w1 = bagua.broadcast %o over [gpu] : tensor<1000xf32, #bagua.layout<root [gpu]>> -> !t
  %p = bagua.slice %b : !t -> tensor<1000xf32, #bagua.layout<root [gpu]>>
  %b1 = bagua.broadcast %p over [gpu] : tensor<1000xf32, #bagua.layout<root [gpu]>> -> !t
  bagua.yield %w1, %b1 : !t, !t
}
bagua.step @train on @pod data [gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %mean "mean" : !t) {
  %a, %m = bagua.compute forward "l"(%x, %w, %mean) cost_ns 10000 measured : (!t, !t, !t) -> (!t, !t)
  %g = bagua.compute backward "l"(%a, %x) cost_ns 10000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %m over [gpu] : !t
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %r : !t, !t
}
bagua.training @job {
  bagua.phase @first at 0
  bagua.phase @train
}
