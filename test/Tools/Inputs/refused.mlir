// adam_apply has no betas to correct a bias with.
!t = tensor<8xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] (
    batch %x "x" : !t, input %lr "lr" : !s, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t)
    attributes {bagua.contract = []} {
  %n = bagua.adam_apply %w, %m, %v bias_correction moments lr %lr : !t, !s
  bagua.yield %n, %m, %v : !t, !t, !t
}
