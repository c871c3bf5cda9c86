// RUN: bagua-opt %s --bagua-verify-graph --verify-diagnostics

// What bagua-verify-graph proves: for every rule of docs/Rationale.md, "What the
// verifier proves", a step that keeps it. A reduction tells facts apart: of what is
// the same it is an error, of what is pending only a mean is right, of what varies
// any kind is. facts-errors.mlir has the steps that are refused.
// The data axis is node; over tp ranks differ only where something says so.
!t = tensor<8xf32>
!m = tensor<8x8xf32>
!l = tensor<f32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
!r = tensor<8xf32, #bagua.layout<root [node]>>
!v = tensor<8xf32, #bagua.layout<server>>
!q = !bagua.encoded<!t, #bagua.signsgd>
!qp = !bagua.encoded<!t, #bagua.signsgd, parts [node]>
!qt = !bagua.encoded<!t, #bagua.signsgd, terms [node]>
!qs = !bagua.encoded<!z, #bagua.signsgd, terms [node]>
!q1 = !bagua.encoded<!z, #bagua.signsgd>
!qv = !bagua.encoded<!v, #bagua.signsgd, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2

// A batch varies over the data axes: any kind of reduction is right, and needed.
bagua.step @batch on @grid data [node] (batch %x "x" : !t, buffer %b "b" : !t) {
  %s = bagua.all_reduce max %x over [node] : !t
  bagua.yield %s : !t
}

// Over the other axes all ranks have the same batch.
bagua.step @batch_elsewhere on @grid data [node] (batch %x "x" : !t, buffer %b "b" varies [node] : !t) {
  bagua.yield %x : !t
}

// ... unless it says otherwise: parts of a sequence, say.
bagua.step @batch_varies on @grid data [node] (batch %x "x" varies [tp] : !t, buffer %b "b" : !t) {
  %s = bagua.all_reduce sum %x over [node, tp] : !t
  bagua.yield %s : !t
}

// Inputs and states are the same on all ranks,
bagua.step @agreed on @grid data [node] (input %i "i" : !t, param %w "w" : !t, optimizer %o "o" : !t, buffer %b "b" : !t) {
  %u = bagua.compute update "l"(%i, %w, %o, %b) : (!t, !t, !t, !t) -> (!t)
  bagua.yield %u, %u, %u : !t, !t, !t
}

// ... except where they say that they vary.
bagua.step @varies on @grid data [node] (param %w "w" varies [tp] : !t, optimizer %o "o" varies [tp] : !t) {
  %a = bagua.all_reduce sum %w over [tp] : !t
  %b = bagua.all_reduce max %o over [tp] : !t
  bagua.yield %a, %b : !t, !t
}

// Residuals and replicas vary over all axes; a replica may be anything next.
bagua.step @per_rank on @grid data [node] (batch %x "x" : !t, residual %e "e" : !t, replica %r "r" : !t) {
  %a = bagua.linear [1.0, 1.0] (%x, %e) : !t
  %b = bagua.all_reduce sum %a over [node, tp] : !t
  %c = bagua.all_reduce sum %r over [node, tp] : !t
  %d = bagua.linear [1.0, -1.0] (%a, %b) : !t
  %s = bagua.linear [1.0, 1.0] (%b, %c) : !t
  bagua.yield %d, %s : !t, !t
}

// A gradient is pending over the data axes: its mean is what is wanted.
bagua.step @gradient on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// Over a data axis over which its param varies it is a value of the rank's own.
bagua.step @gradient_of_varying on @grid data [node] (batch %x "x" : !t, param %w "w" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n : !t
}

// Any other result is the same where all operands are,
bagua.step @compute_of_same on @grid data [node] (input %lr "lr" : !l, param %w "w" : !t) {
  %n = bagua.compute update "l"(%w, %lr) : (!t, !l) -> (!t)
  bagua.yield %n : !t
}

// all_reduce makes a pending value the same, by its mean,
bagua.step @all_reduce_pending on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.all_reduce mean %g over [node] : !t
  %u = bagua.sgd (%w) grad %s lr 0.1 : !t
  bagua.yield %u : !t
}

// ... and a varying one by any kind.
bagua.step @all_reduce_varying on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %buffer "b" : !t) {
  %s = bagua.all_reduce max %x over [node] : !t
  bagua.yield %w, %s : !t, !t
}

// reduce_scatter makes a pending value the same, by its mean,
bagua.step @reduce_scatter_pending on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %n = bagua.all_gather %s over [node] : !z -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// ... and a varying one by any kind.
bagua.step @reduce_scatter_varying on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %buffer "b" : !t) {
  %s = bagua.reduce_scatter max %x over [node] : !t -> !z
  %n = bagua.all_gather %s over [node] : !z -> !t
  bagua.yield %w, %n : !t, !t
}

// reduce makes a pending value the same, by its mean,
bagua.step @reduce_pending on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce mean %g over [node] : !t -> !r
  %n = bagua.broadcast %s over [node] : !r -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// ... and a varying one by any kind.
bagua.step @reduce_varying on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %buffer "b" : !t) {
  %s = bagua.reduce max %x over [node] : !t -> !r
  %n = bagua.broadcast %s over [node] : !r -> !t
  bagua.yield %w, %n : !t, !t
}

// push makes a pending value the same, by its mean,
bagua.step @push_pending on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.push mean %g over [node] : !t -> !v
  %n = bagua.pull %s over [node] : !v -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// ... and a varying one by any kind.
bagua.step @push_varying on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %buffer "b" : !t) {
  %s = bagua.push max %x over [node] : !t -> !v
  %n = bagua.pull %s over [node] : !v -> !t
  bagua.yield %w, %n : !t, !t
}

// decode of terms is a reduction too,
bagua.step @decode_terms on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!q)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %n = bagua.decode mean %t : !qt -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// Encoded values that are pushed are terms on the servers; their decode reduces.
bagua.step @push_encoded on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!q)
  %t = bagua.push mean %q over [node] : !q -> !qv
  %s = bagua.decode mean %t : !qv -> !v
  %n = bagua.pull %s over [node] : !v -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// Under asp a server applies each push as it comes: of a gradient the sum of one term.
bagua.step @push_asp on @grid data [node] consistency asp (batch %x "x" : !t, param %w "w" : !v) {
  %p = bagua.pull %w over [node] : !v -> !t
  %g = bagua.compute backward "l"(%x, %p) : (!t, !t) -> (!t grad "w")
  %s = bagua.push sum %g over [node] : !t -> !v
  %n = bagua.sgd (%w) grad %s lr 0.1 : !v
  bagua.yield %n : !v
}

// What ranks pull then varies: each pulls at another time. Forward and backward may.
bagua.step @pull_ssp on @grid data [node] consistency ssp(2) (param %w "w" : !v) {
  %p = bagua.pull %w over [node] : !v -> !t
  %a = bagua.all_reduce max %p over [node] : !t
  bagua.yield %w : !v
}

// Under bsp all pull the same.
bagua.step @pull_bsp on @grid data [node] (buffer %v "v" : !v, buffer %b "b" : !t) {
  %p = bagua.pull %v over [node] : !v -> !t
  bagua.yield %v, %p : !v, !t
}

// slice and all_gather over another axis keeps what is pending, to be reduced later,
bagua.step @keep_slice on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %z = bagua.slice %g : !t -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %k = bagua.all_gather %z over [tp] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !t
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// split keeps what is pending, to be reduced later,
bagua.step @keep_split on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h, %j = bagua.split %g : !t -> tensor<4xf32>, tensor<4xf32>
  %k = bagua.concat %h, %j : tensor<4xf32>, tensor<4xf32> -> !t
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// cast keeps what is pending, to be reduced later,
bagua.step @keep_cast on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h = bagua.cast %g : !t -> tensor<8xbf16>
  %k = bagua.cast %h : tensor<8xbf16> -> !t
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// after keeps what is pending, to be reduced later,
bagua.step @keep_after on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %k = bagua.after %g [%x] : !t [!t]
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// encode and decode keeps what is pending, to be reduced later,
bagua.step @keep_encode on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!qp)
  %k = bagua.decode %q : !qp -> !t
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// broadcast over another axis keeps what is pending, to be reduced later,
bagua.step @keep_broadcast on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.slice %g : !t -> tensor<8xf32, #bagua.layout<root [tp]>>
  %k = bagua.broadcast %l over [tp] : tensor<8xf32, #bagua.layout<root [tp]>> -> !t
  %n = bagua.all_reduce mean %k over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// broadcast over an axis makes the value the same there: coordinate 0's.
bagua.step @broadcast on @grid data [node] (param %w "w" varies [node] : !t, buffer %b "b" : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n, %n : !t, !t
}

// Encoded parts that change places are terms of the same value: what they mean stays,
// so what is pending is reduced by their decode. (4.1: the second encode is of what is the
// same already, and is only gathered.)
bagua.step @all_to_all_encoded on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!qp)
  %t = bagua.all_to_all %q over [node] : !qp -> !qs
  %m = bagua.decode mean %t : !qs -> !z
  %o = bagua.encode %m : (!z) -> (!q1)
  %p = bagua.all_gather %o over [node] : !q1 -> !qp
  %n = bagua.decode %p : !qp -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// The residual that is fed back is ignored: that lossy methods converge is a promise.
bagua.step @feedback on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q, %en = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %n = bagua.decode mean %t : !qt -> !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u, %en : !t, !t
}

// A linear map of what is pending is pending: the mean of a sum is the sum of means.
bagua.step @linear on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%w, %g) : !t
  %n = bagua.all_reduce mean %l over [node] : !t
  %u = bagua.sgd (%w) grad %n lr 0.1 : !t
  bagua.yield %u : !t
}

// sgd is linear in its gradient: the update may run before the mean (gradients of one rank, then averaged weights).
bagua.step @sgd_pending on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u = bagua.sgd (%w) grad %g lr 0.1 : !t
  %n = bagua.all_reduce mean %u over [node] : !t
  bagua.yield %n : !t
}

// A product with what is the same is linear: PowerSGD reduces it.
bagua.step @matmul_pending on @grid data [node] (batch %x "x" : !t, param %a "a" : !m, param %b "b" : !m) {
  %g = bagua.compute backward "a"(%x) : (!t) -> (!m grad "a")
  %p = bagua.matmul %g, %b : !m, !m -> !m
  %r = bagua.all_reduce mean %p over [node] : !m
  %n = bagua.sgd (%a) grad %r lr 0.1 : !m
  bagua.yield %n, %b : !m, !m
}

// adam of a reduced gradient keeps agreement.
bagua.step @adam on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %a, %b = bagua.adam (%w, %m, %v) grad %r lr 0.1 : !t
  bagua.yield %n, %a, %b : !t, !t, !t
}

// adam_apply of agreed moments keeps agreement.
bagua.step @adam_apply on @grid data [node] (batch %x "x" : !t, input %lr "lr" : tensor<f32>, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %n = bagua.adam_apply %w, %m, %v lr %lr : !t, tensor<f32>
  bagua.yield %n, %m, %v : !t, !t, !t
}

// orthonormalize of what is the same is the same.
bagua.step @orthonormalize on @grid data [node] (batch %x "x" : !t, param %a "a" : !m, param %b "b" : !m) {
  %g = bagua.compute backward "a"(%x) : (!t) -> (!m grad "a")
  %r = bagua.all_reduce mean %g over [node] : !m
  %o = bagua.orthonormalize %r : !m
  %n = bagua.sgd (%a) grad %o lr 0.1 : !m
  bagua.yield %n, %b : !m, !m
}

// Neighbours have other values, so what an exchange brings varies, and mixing it is local.
bagua.step @exchange on @grid data [node] (param %w "w" varies [node] : !t) {
  %l, %r = bagua.exchange ring %w over [node] : !t -> !t, !t
  %n = bagua.linear [0.5, 0.25, 0.25] (%w, %l, %r) : !t
  bagua.yield %n : !t
}

// all_to_all brings each rank pieces of its own. Over the other axes it keeps what is.
bagua.step @all_to_all on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %buffer "b" : !t) {
  %a = bagua.all_to_all %x over [tp] split 0 concat 0 : !t -> !t
  %b = bagua.all_reduce sum %a over [tp] : !t
  %c = bagua.all_reduce sum %b over [node] : !t
  bagua.yield %w, %c : !t, !t
}

// A state may be yielded with more agreement than it declares,
bagua.step @yield_better on @grid data [node] (param %w "w" varies [node] : !t) {
  %n = bagua.all_reduce mean %w over [node] : !t
  bagua.yield %n : !t
}
