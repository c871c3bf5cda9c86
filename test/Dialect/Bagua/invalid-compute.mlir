// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What compute, concat, split, slice and cast may not be.

// Compute belongs to a part of the step.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected forward, backward or update, found 'loss'}}
  %a = bagua.compute loss "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A duration says whether anyone measured it.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected where the duration comes from (measured or roofline), found 'guessed'}}
  %a = bagua.compute forward "l"(%x) cost_ns 5 guessed : (tensor<8xf32>) -> (tensor<8xf32>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// The same in the generic form, where the source can be left out.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a duration and its source together}}
  %a = "bagua.compute"(%x) <{phase = #bagua<phase_kind forward>, name = "l", cost_ns = 5}> : (tensor<8xf32>) -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A result is named once.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'grad' or 'as', found both}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> grad "w" as "g")
  bagua.yield %w : tensor<8xf32>
}

// -----

// Only gradients may be left out.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected 'grad' with 'optional'}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> optional as "g")
  bagua.yield %w : tensor<8xf32>
}

// -----

// Results are described all or not at all.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one description for each of 1 results, found 0}}
  %a = "bagua.compute"(%x) <{phase = #bagua<phase_kind forward>, name = "l", result_info = []}> : (tensor<8xf32>) -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// The program has no value on servers, as an operand
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %v "v" : tensor<8xf32, #bagua.layout<server>>) {
  // expected-error @+1 {{runs in the training program, which has no value on servers, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %a = bagua.compute update "l"(%v) : (tensor<8xf32, #bagua.layout<server>>) -> (tensor<8xf32>)
  bagua.yield %v : tensor<8xf32, #bagua.layout<server>>
}

// -----

// ... or as a result.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{runs in the training program, which has no value on servers, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %a = bagua.compute update "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32, #bagua.layout<server>>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A bucket has a tensor.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected at least one operand}}
  %b = "bagua.concat"() : () -> tensor<0xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A split makes a tensor.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected at least one result}}
  "bagua.split"(%x) : (tensor<8xf32>) -> ()
  bagua.yield %w : tensor<8xf32>
}

// -----

// A bucket has one element type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, batch %h "h" : tensor<8xbf16>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one element type, found 'f32' and 'bf16'}}
  %b = bagua.concat %x, %h : tensor<8xf32>, tensor<8xbf16> -> tensor<16xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A bucket has one layout.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>, optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu]>>) {
  // expected-error @+1 {{expected one layout, found 'tensor<16xf32>' and 'tensor<8xf32, #bagua.layout<shard [gpu]>>'}}
  %b = bagua.concat %x, %z : tensor<8xf32>, tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<16xf32>
  bagua.yield %w, %z : tensor<8xf32>, tensor<8xf32, #bagua.layout<shard [gpu]>>
}

// -----

// Parts of several tensors are not a part of their bucket, unless it is striped.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu]>>) {
  // expected-error @+1 {{expected 'striped' for tensors that are stored in parts, found 'tensor<16xf32, #bagua.layout<shard [gpu]>>'}}
  %b = bagua.concat %z, %z : tensor<8xf32, #bagua.layout<shard [gpu]>>, tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<16xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<shard [gpu]>>
}

// -----

// What is striped is stored by that layout, or whole.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (optimizer %z "z" : tensor<8xf32, #bagua.layout<shard [gpu]>>) {
  // expected-error @+1 {{expected the layout of 'striped' #bagua.layout<shard [node]>, found #bagua.layout<shard [gpu]>}}
  %b = bagua.concat %z, %z striped <shard [node]> : tensor<8xf32, #bagua.layout<shard [gpu]>>, tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<16xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %z : tensor<8xf32, #bagua.layout<shard [gpu]>>
}

// -----

// No element is lost or made up, in a bucket
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected element counts that add up to 20, found 16}}
  %b = bagua.concat %x, %w : tensor<8xf32>, tensor<8xf32> -> tensor<20xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... or in a split.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected element counts that add up to 8, found 6}}
  %a, %b = bagua.split %x : tensor<8xf32> -> tensor<4xf32>, tensor<2xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// In a striped bucket each tensor is padded to equal parts: 5 elements take 8 among 4 ranks.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, batch %y "y" : tensor<5xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a bucket of 16 elements, each tensor padded to equal parts, found 13}}
  %b = bagua.concat %x, %y striped <shard [gpu]> : tensor<8xf32>, tensor<5xf32> -> tensor<13xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A split of a striped bucket takes as much.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %y "y" : tensor<5xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a bucket of 8 elements, each tensor padded to equal parts, found 5}}
  %a = bagua.split %y striped <shard [gpu]> : tensor<5xf32> -> tensor<5xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A slice adds one entry to the layout,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected the operand's type 'tensor<8xf32>' with one more entry in its layout, found 'tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>>'}}
  %z = bagua.slice %x : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [gpu], shard [node]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// ... and leaves the logical shape alone.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected the operand's type 'tensor<8xf32>' with one more entry in its layout, found 'tensor<2xf32, #bagua.layout<shard [gpu]>>'}}
  %z = bagua.slice %x : tensor<8xf32> -> tensor<2xf32, #bagua.layout<shard [gpu]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A cast changes the element type alone.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a change of element type alone, found 'tensor<8xf32>' and 'tensor<4xbf16>'}}
  %c = bagua.cast %x : tensor<8xf32> -> tensor<4xbf16>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What only a root has, only the root can compute with.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %r = bagua.slice %x : !t -> !r
  // expected-error @+1 {{expected results that only the root over [node] has, like operand 'tensor<8xf32, #bagua.layout<root [node]>>', found 'tensor<8xf32>'}}
  %g = bagua.compute backward "l"(%r, %w) : (!r, !t) -> (!t grad "w")
  bagua.yield %w : !t
}
