// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Tensor-parallel activations and expert dispatch over another axis.
!a = tensor<32x512xf32>
!s = tensor<f32>
!w1 = tensor<1024xf32>
!w2 = tensor<2048xf32>
!w3 = tensor<4096xf32>
!b = tensor<7168xf32>
!e = tensor<4x4096xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>, #bagua.axis<"tp", size = 8, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @train on @grid data [node] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "mlp.weight" varies [tp] : !w1, param %w2 "expert.weight" varies [tp] : !w2) {
  %h = bagua.compute forward "mlp"(%x, %w1) : (!a, !w1) -> (!a)
  %f = bagua.all_reduce sum %h over [tp] : !a
  %i = bagua.all_to_all %f over [tp] split 0 concat 1 : !a -> !e
  %e = bagua.compute forward "expert"(%i, %w2) : (!e, !w2) -> (!e)
  %o = bagua.all_to_all %e over [tp] split 1 concat 0 : !e -> !a
  %do, %g1 = bagua.compute backward "mlp"(%o, %x, %w1) : (!a, !a, !w1) -> (!a, !w1 grad "mlp.weight")
  %j = bagua.all_to_all %do over [tp] split 0 concat 1 : !a -> !e
  %g2 = bagua.compute backward "expert"(%j, %i, %w2) : (!e, !e, !w2) -> (!w2 grad "expert.weight")
  %r2 = bagua.all_reduce mean %g2 over [node] : !w2
  %r1 = bagua.all_reduce mean %g1 over [node] : !w1
  %w1n = bagua.sgd (%w1) grad %r1 lr %lr : !w1, !s
  %w2n = bagua.sgd (%w2) grad %r2 lr %lr : !w2, !s
  bagua.yield %w1n, %w2n : !w1, !w2
}
