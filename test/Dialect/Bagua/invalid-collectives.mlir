// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What collectives may not be: groups, names, kinds, then the layouts of each.

// A collective has a group.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected at least one axis to communicate over}}
  %r = bagua.all_reduce mean %x over [] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// There is one name for each result.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one name for each of 1 results, found 2}}
  %r = bagua.all_reduce mean %x over [gpu] : tensor<8xf32> as ["a", "b"]
  bagua.yield %w : tensor<8xf32>
}

// -----

// The same for an exchange, which may have two.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one name for each of 2 results, found 1}}
  %l, %r = bagua.exchange ring %x over [gpu] : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32> as "left"
  bagua.yield %w : tensor<8xf32>
}

// -----

// There are four kinds.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a reduction kind (sum, mean, min or max), found 'product'}}
  %r = bagua.all_reduce product %x over [gpu] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A mean of integers has no rounding that all machines share.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %i "i" : tensor<8xi32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected kind sum, min or max for elements of 'i32', found mean}}
  %r = bagua.all_reduce mean %i over [gpu] : tensor<8xi32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Residuals belong to a codec.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a codec with 'feedback'}}
  %r = bagua.all_reduce mean %x over [gpu] feedback : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A codec takes the elements it is asked for.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %i "i" : tensor<8xi32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{codec #bagua.signsgd doesn't support elements of 'i32'}}
  %r = bagua.all_reduce sum %i over [gpu] codec (#bagua.signsgd) : tensor<8xi32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What is encoded is not encoded again.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.randomk<count = 2>>)
  // expected-error @+1 {{expected no codec for a value that is encoded}}
  %r = bagua.all_reduce mean %q over [gpu] codec (#bagua.signsgd) : !bagua.encoded<tensor<8xf32>, #bagua.randomk<count = 2>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Encoded values have no order.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.randomk<count = 2>>)
  // expected-error @+1 {{expected kind sum or mean for encoded values, found min}}
  %r = bagua.all_reduce min %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.randomk<count = 2>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Signs neither add nor merge.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  // expected-error @+1 {{expected a codec whose encoded values add or merge, found #bagua.signsgd}}
  %r = bagua.all_reduce mean %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A reduce_scatter pushes its group as a shard.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<8xf32, #bagua.layout<shard [gpu]>>', found 'tensor<8xf32, #bagua.layout<shard [node]>>'}}
  %s = bagua.reduce_scatter mean %x over [gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [node]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// The logical shape stays: a shard is not written as a smaller tensor.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<8xf32, #bagua.layout<shard [gpu]>>', found 'tensor<2xf32>'}}
  %s = bagua.reduce_scatter mean %x over [gpu] : tensor<8xf32> -> tensor<2xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Integers have no mean, scattered either.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %i "i" : tensor<8xi8>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected kind sum, min or max for elements of 'i8', found mean}}
  %s = bagua.reduce_scatter mean %i over [gpu] : tensor<8xi8> -> tensor<8xi8, #bagua.layout<shard [gpu]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Only parts are gathered.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected an operand whose layout ends in shard [gpu], found 'tensor<8xf32>'}}
  %r = bagua.all_gather %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Levels of a hierarchy are left in the order opposite to that in which they were entered.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>>) {
  // expected-error @+1 {{expected an operand whose layout ends in shard [gpu], found 'tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>>'}}
  %r = bagua.all_gather %z over [gpu] : tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>> -> tensor<8xf32, #bagua.layout<shard [node]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>>
}

// -----

// A gathered tensor has one entry less.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu]>>) {
  // expected-error @+1 {{expected result 'tensor<8xf32>', found 'tensor<8xf32, #bagua.layout<shard [gpu]>>'}}
  %r = bagua.all_gather %z over [gpu] : tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<8xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<shard [gpu]>>
}

// -----

// A reduce pushes a root.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<8xf32, #bagua.layout<root [gpu]>>', found 'tensor<8xf32>'}}
  %r = bagua.reduce mean %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Integers have no mean at a root.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %i "i" : tensor<8xi64>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected kind sum, min or max for elements of 'i64', found mean}}
  %s = bagua.reduce mean %i over [gpu] : tensor<8xi64> -> tensor<8xi64, #bagua.layout<root [gpu]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What is broadcast lies on a root.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected an operand whose layout ends in root [gpu], found 'tensor<8xf32>'}}
  %r = bagua.broadcast %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A broadcast pops it.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<root [gpu]>>) {
  // expected-error @+1 {{expected result 'tensor<8xf32>', found 'tensor<8xf32, #bagua.layout<root [gpu]>>'}}
  %r = bagua.broadcast %z over [gpu] : tensor<8xf32, #bagua.layout<root [gpu]>> -> tensor<8xf32, #bagua.layout<root [gpu]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<root [gpu]>>
}

// -----

// Tensors are cut along one dimension and put together along one.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x6xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'split' and 'concat' for a tensor}}
  %r = bagua.all_to_all %x over [gpu] : tensor<8x6xf32> -> tensor<8x6xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Parts are not dispatched.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu]>>) {
  // expected-error @+1 {{expected a tensor without layout, found 'tensor<8xf32, #bagua.layout<shard [gpu]>>'}}
  %r = bagua.all_to_all %z over [gpu] split 0 concat 0 : tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<8xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<shard [gpu]>>
}

// -----

// The dimensions are the tensor's.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x6xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a dimension below 2, found 2}}
  %r = bagua.all_to_all %x over [gpu] split 0 concat 2 : tensor<8x6xf32> -> tensor<2x24xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Elements stay what they are.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x6xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a result of elements of 'f32', found 'tensor<2x24xbf16>'}}
  %r = bagua.all_to_all %x over [gpu] split 0 concat 1 : tensor<8x6xf32> -> tensor<2x24xbf16>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Each rank gets an equal piece.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x6xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected dimension 1 divisible by the group's size 4, found 6}}
  %r = bagua.all_to_all %x over [gpu] split 1 concat 0 : tensor<8x6xf32> -> tensor<32x1xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// One dimension shrinks by the group's size and the other grows.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x6xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<2x24xf32>' over a group of 4, found 'tensor<2x6xf32>'}}
  %r = bagua.all_to_all %x over [gpu] split 0 concat 1 : tensor<8x6xf32> -> tensor<2x6xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A ring has two neighbours.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 2 results for ring, found 1}}
  %r = bagua.exchange ring %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// shift_one has one peer.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 1 results for shift_one, found 2}}
  %r, %q = bagua.exchange shift_one %x over [gpu] : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Neighbours have values of the same type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %r = bagua.exchange shift_one %x over [gpu] : tensor<8xf32> -> tensor<4xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Pairs need an even number of ranks.
bagua.cluster @three axes [#bagua.axis<"node", size = 3, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @three data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a group of even size for shift_one, found 3}}
  %r = bagua.exchange shift_one %x over [node] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What is pushed lies on servers.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a result whose layout ends in server, found 'tensor<8xf32>'}}
  %s = bagua.push mean %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A push changes nothing else of the type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected result 'tensor<8xf32, #bagua.layout<server 1>>', found 'tensor<4xf32, #bagua.layout<server 1>>'}}
  %s = bagua.push mean %x over [gpu] : tensor<8xf32> -> tensor<4xf32, #bagua.layout<server 1>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Servers have no mean of integers either.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %i "i" : tensor<8xi32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected kind sum, min or max for elements of 'i32', found mean}}
  %s = bagua.push mean %i over [gpu] : tensor<8xi32> -> tensor<8xi32, #bagua.layout<server>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Under asp and ssp each push is applied by itself: a mean of one term would mislead.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] consistency asp (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected kind sum under consistency asp, where each push is applied alone}}
  %s = bagua.push mean %x over [gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<server>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Only what lies on servers is pulled.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected an operand whose layout ends in server, found 'tensor<8xf32>'}}
  %r = bagua.pull %x over [gpu] : tensor<8xf32> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A pull pops the server.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<server>>) {
  // expected-error @+1 {{expected result 'tensor<8xf32>', found 'tensor<8xf32, #bagua.layout<server>>'}}
  %r = bagua.pull %v over [gpu] : tensor<8xf32, #bagua.layout<server>> -> tensor<8xf32, #bagua.layout<server>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<server>>
}

// -----

// Ranks that store other elements have no common sum, whole
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %r = bagua.all_reduce mean %v over [gpu] : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// ... or in parts,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %r = bagua.reduce_scatter mean %v over [gpu] : tensor<8xf32, #bagua.layout<shard [node, gpu]>> -> tensor<8xf32, #bagua.layout<shard [node, gpu]>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// ... at a root
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %r = bagua.reduce mean %v over [gpu] : tensor<8xf32, #bagua.layout<shard [node, gpu]>> -> tensor<8xf32, #bagua.layout<shard [node, gpu]>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// ... or on servers;
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %r = bagua.push mean %v over [gpu] : tensor<8xf32, #bagua.layout<shard [node, gpu]>> -> tensor<8xf32, #bagua.layout<shard [node, gpu], server>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// ... those of a root have nothing at all.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<root [gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<root [gpu]>>'}}
  %r = bagua.all_reduce mean %v over [gpu] : tensor<8xf32, #bagua.layout<root [gpu]>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<root [gpu]>>
}

// -----

// Neighbours that swap get elements of another part.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %l, %r = bagua.exchange ring %v over [gpu] : tensor<8xf32, #bagua.layout<shard [node, gpu]>> -> tensor<8xf32, #bagua.layout<shard [node, gpu]>>, tensor<8xf32, #bagua.layout<shard [node, gpu]>>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// Terms add up, so they are of the same elements.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<shard [node, gpu]>>) {
  %q = bagua.encode %v : (tensor<8xf32, #bagua.layout<shard [node, gpu]>>) -> (!bagua.encoded<tensor<8xf32, #bagua.layout<shard [node, gpu]>>, #bagua.signsgd>)
  // expected-error @+1 {{expected an operand that is not cut over [gpu], found 'tensor<8xf32, #bagua.layout<shard [node, gpu]>>'}}
  %r = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32, #bagua.layout<shard [node, gpu]>>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32, #bagua.layout<shard [node, gpu]>>, #bagua.signsgd, terms [gpu]>
  bagua.yield %v : tensor<8xf32, #bagua.layout<shard [node, gpu]>>
}

// -----

// What a biased codec loses must be fed back.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'feedback' for codec #bagua.onebit, which does not converge without}}
  %r = bagua.all_reduce mean %x over [gpu] codec (#bagua.onebit) : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What lies on servers has left the ranks: workers don't reduce it,
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : !v) {
  // expected-error @+1 {{expected an operand that workers have, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %r = bagua.all_reduce mean %w over [gpu] : !v
  bagua.yield %r : !v
}

// -----

// ... nor exchange it,
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : !v) {
  // expected-error @+1 {{expected an operand that workers have, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %l, %r = bagua.exchange ring %w over [gpu] : !v -> !v, !v
  bagua.yield %w : !v
}

// -----

// ... nor gather it encoded.
!v = tensor<8xf32, #bagua.layout<server>>
!q = !bagua.encoded<!v, #bagua.signsgd>
!qt = !bagua.encoded<!v, #bagua.signsgd, terms [gpu]>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : !v) {
  %q = bagua.encode %w : (!v) -> (!q)
  // expected-error @+1 {{expected an operand that workers have, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %t = bagua.all_gather %q over [gpu] : !q -> !qt
  bagua.yield %w : !v
}

// -----

// Pieces are tensors of the ranks' own,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x4xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a tensor and a piece of it, without layouts, found 'tensor<8x4xf32>' and 'tensor<8x4xf32, #bagua.layout<shard [gpu]>>'}}
  %p = bagua.reduce_scatter sum %x over [gpu] split 0 : tensor<8x4xf32> -> tensor<8x4xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... along a dimension that they have
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x4xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a dimension below 2, found 2}}
  %p = bagua.all_gather %x over [gpu] concat 2 : tensor<8x4xf32> -> tensor<8x16xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... and of one size.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8x4xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'tensor<16x4xf32>' for pieces of 'tensor<4x4xf32>' of a group of 4, found 'tensor<8x4xf32>'}}
  %p = bagua.reduce_scatter sum %x over [gpu] split 0 : tensor<8x4xf32> -> tensor<4x4xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A place sends once, to one that nobody else sends to.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected places that send once, found 0 twice}}
  %p = bagua.permute %x over [gpu] pairs [0 -> 1, 0 -> 2] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected places that get something once, found 2 twice}}
  %p = bagua.permute %x over [gpu] pairs [0 -> 2, 1 -> 2] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected places below the group's size 4, found 4}}
  %p = bagua.permute %x over [gpu] pairs [0 -> 4] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected places from 0, found -1}}
  %p = bagua.permute %x over [gpu] pairs [0 -> -1] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected pairs of places, found 1 places}}
  %p = "bagua.permute"(%x) <{over = #bagua.axes<[gpu]>, pairs = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}
