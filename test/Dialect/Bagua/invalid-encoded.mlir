// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What encode, decode, and collectives of encoded values may not be.

// The encoded tensor is the operand.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected an encoded 'tensor<8xf32>', found '!bagua.encoded<tensor<4xf32>, #bagua.signsgd>'}}
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<4xf32>, #bagua.signsgd>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// Only collectives bring terms of other ranks.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a result without terms, found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>'}}
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A residual is read and written.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a residual both as an operand and as a result, or neither}}
  %q = bagua.encode %x feedback %w : (tensor<8xf32>, tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A residual has the operand's type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, residual %e "e" : tensor<4xf32>) {
  // expected-error @+1 {{expected a residual of the operand's type 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %q, %n = bagua.encode %x feedback %e : (tensor<8xf32>, tensor<4xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>, tensor<4xf32>)
  bagua.yield %e : tensor<4xf32>
}

// -----

// Terms are added up or averaged: decode says which.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  %t = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>
  // expected-error @+1 {{expected a kind for a value of several terms, and only there, found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>'}}
  %d = bagua.decode %t : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// One term is not reduced.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  // expected-error @+1 {{expected a kind for a value of several terms, and only there, found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd>'}}
  %d = bagua.decode mean %q : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Terms have no order: there is no largest one.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  %t = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>
  // expected-error @+1 {{expected kind sum or mean for encoded values, found max}}
  %d = bagua.decode max %t : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]> -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Decoding gives the tensor that was encoded.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  // expected-error @+1 {{expected result 'tensor<8xf32>', found 'tensor<8xbf16>'}}
  %d = bagua.decode %q : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> tensor<8xbf16>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What is in parts already is not gathered.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]>)
  // expected-error @+1 {{expected an encoded value without parts and terms, found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]>'}}
  %r = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// An encoded whole tensor is gathered as terms,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  // expected-error @+1 {{expected result '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>', found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>'}}
  %r = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... an encoded shard as parts.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %z = bagua.slice %x : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [gpu]>>
  %q = bagua.encode %z : (tensor<8xf32, #bagua.layout<shard [gpu]>>) -> (!bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.signsgd>)
  // expected-error @+1 {{expected result '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>', found '!bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.signsgd, terms [gpu]>'}}
  %r = bagua.all_gather %q over [gpu] : !bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.signsgd, terms [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Encoded values have no dimensions to split.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>)
  // expected-error @+1 {{expected no 'split' for an encoded value}}
  %r = bagua.all_to_all %q over [gpu] split 0 concat 0 : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// There is a part for each rank of the group.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]>)
  // expected-error @+1 {{expected an encoded value in parts [gpu], found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]>'}}
  %r = bagua.all_to_all %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [node]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Parts that were exchanged are terms of the rank's own shard.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>)
  // expected-error @+1 {{expected result '!bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.signsgd, terms [gpu]>', found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>'}}
  %r = bagua.all_to_all %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]> -> !bagua.encoded<tensor<8xf32>, #bagua.signsgd, terms [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Servers take whole encoded values.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>)
  // expected-error @+1 {{expected an encoded value without parts and terms, found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]>'}}
  %r = bagua.push mean %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [gpu]> -> !bagua.encoded<tensor<8xf32, #bagua.layout<server>>, #bagua.signsgd, terms [gpu]>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What servers get of an encoded value is one term from each rank.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd>)
  // expected-error @+1 {{expected result '!bagua.encoded<tensor<8xf32, #bagua.layout<server>>, #bagua.signsgd, terms [gpu]>', found '!bagua.encoded<tensor<8xf32, #bagua.layout<server>>, #bagua.signsgd>'}}
  %r = bagua.push mean %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.signsgd> -> !bagua.encoded<tensor<8xf32, #bagua.layout<server>>, #bagua.signsgd>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What a biased codec loses must be fed back,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'feedback' for codec #bagua.topk<count = 2>, which does not converge without, or 'unchecked'}}
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.topk<count = 2>>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... unless the step says that it does without; there is no need to say so of others.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x unchecked : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.topk<count = 2>>)
  // expected-error @+1 {{expected 'unchecked' only for a codec that needs feedback and has none}}
  %q1 = bagua.encode %x unchecked : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A name is how the program gets a tensor, which an encoded value is not.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %q = bagua.encode %x : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [gpu]>)
  // expected-error @+1 {{expected no name for an encoded result, found "x.parts"}}
  %r = bagua.all_to_all %q over [gpu] : !bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [gpu]> -> !bagua.encoded<tensor<8xf32, #bagua.layout<shard [gpu]>>, #bagua.minmax_uint8, terms [gpu]> as "x.parts"
  bagua.yield %w : tensor<8xf32>
}
