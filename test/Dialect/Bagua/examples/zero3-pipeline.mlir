// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// A program's own ZeRO and pipeline, as they are imported: params in pieces along data,
// gathered where they are used; gradients come in pieces; activations and what goes
// back travel along stage. Who is last depends on the rank's own place.
!a = tensor<4x8xf32>
!w = tensor<8x8xf32>
!p = tensor<8x4xf32>
bagua.cluster @grid axes [#bagua.axis<"data", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>,
                          #bagua.axis<"stage", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @train on @grid data [data] (batch %x "x" : !a, param %w "w" varies [data, stage] : !p,
    buffer %s "mean" : !a) {
  %wg = bagua.compute forward "w"(%w) : (!p) -> (!p)
  %all = bagua.all_gather %wg over [data] concat 1 : !p -> !w
  %h = bagua.compute forward "l"(%x, %all) : (!a, !w) -> (!a)
  %r = bagua.permute %h over [stage] pairs [0 -> 1] : !a
  %o = bagua.compute forward "loss"(%r, %all) varies [stage] : (!a, !w) -> (!a)
  %d = bagua.compute backward "loss"(%o, %r, %all) varies [stage] : (!a, !a, !w) -> (!a)
  %b = bagua.permute %d over [stage] pairs [1 -> 0] : !a
  %g = bagua.compute backward "l"(%b, %d, %x, %all) varies [stage] : (!a, !a, !a, !w) -> (!w)
  %gs = bagua.reduce_scatter sum %g over [data] split 1 : !w -> !p
  %m = bagua.compute update "mean"(%gs) : (!p) -> (!p)
  %n = bagua.sgd (%w) grad %m lr 0.1 : !p
  %k = bagua.all_reduce mean %o over [data, stage] : !a
  bagua.yield %n, %k : !p, !a
}
