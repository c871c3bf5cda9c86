// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Params live on servers; consistency ssp(3).
!a = tensor<32x512xf32>
!s = tensor<f32>
!w1 = tensor<1024xf32>
!w2 = tensor<2048xf32>
!w3 = tensor<4096xf32>
!b = tensor<7168xf32>
#srv = #bagua.layout<server>
!w1v = tensor<1024xf32, #srv>
!w2v = tensor<2048xf32, #srv>
!w3v = tensor<4096xf32, #srv>
bagua.cluster @farm axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>] servers 2
bagua.step @train on @farm data [node] consistency ssp(3) (batch %x "batch" : !a, input %lr "lr" : !s,
    param %v1 "l1.weight" : !w1v, param %v2 "l2.weight" : !w2v, param %v3 "l3.weight" : !w3v) {
  %w1 = bagua.pull %v1 over [node] : !w1v -> !w1
  %w2 = bagua.pull %v2 over [node] : !w2v -> !w2
  %w3 = bagua.pull %v3 over [node] : !w3v -> !w3
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %p3 = bagua.push sum %g3 over [node] : !w3 -> !w3v
  %p2 = bagua.push sum %g2 over [node] : !w2 -> !w2v
  %p1 = bagua.push sum %g1 over [node] : !w1 -> !w1v
  %v1n = bagua.sgd (%v1) grad %p1 lr %lr : !w1v, !s
  %v2n = bagua.sgd (%v2) grad %p2 lr %lr : !w2v, !s
  %v3n = bagua.sgd (%v3) grad %p3 lr %lr : !w3v, !s
  bagua.yield %v1n, %v2n, %v3n : !w1v, !w2v, !w3v
}
