// Adam as optax has it: one count for both params. The first step trains b alone, and advances the count.
!x = tensor<8xf32>
!w = tensor<1001xf32>
!t = tensor<i32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @head on @pod data [gpu] (batch %x "x" : !x, optimizer %t "count" : !t, param %a "a" : !w, param %b "b" : !w, optimizer %m "b.m" counted "count" : !w,
    optimizer %v "b.v" counted "count" : !w) {
  %t1 = bagua.compute update "add"(%t) cost_ns 10 measured : (!t) -> (!t)
  %g = bagua.compute backward "b"(%x, %a, %b) cost_ns 1000 measured : (!x, !w, !w) -> (!w grad "b")
  %b1, %m1, %v1 = bagua.adam (%b, %m, %v) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %g lr 0.01 : !w
  bagua.yield %t1, %a, %b1, %m1, %v1 : !t, !w, !w, !w, !w
}
bagua.step @all on @pod data [gpu] (batch %x "x" : !x, optimizer %t "count" : !t, param %a "a" : !w, optimizer %am "a.m" counted "count" : !w, optimizer %av "a.v" counted "count" : !w,
    param %b "b" : !w, optimizer %m "b.m" counted "count" : !w, optimizer %v "b.v" counted "count" : !w) {
  %t1 = bagua.compute update "add"(%t) cost_ns 10 measured : (!t) -> (!t)
  %g, %ga = bagua.compute backward "b"(%x, %a, %b) cost_ns 1000 measured : (!x, !w, !w) -> (!w grad "b", !w grad "a")
  %b1, %m1, %v1 = bagua.adam (%b, %m, %v) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %g lr 0.01 : !w
  %a1, %am1, %av1 = bagua.adam (%a, %am, %av) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %ga lr 0.01 : !w
  bagua.yield %t1, %a1, %am1, %av1, %b1, %m1, %v1 : !t, !w, !w, !w, !w, !w, !w
}
bagua.training @job {
  bagua.phase @head until 6
  bagua.phase @all
}
