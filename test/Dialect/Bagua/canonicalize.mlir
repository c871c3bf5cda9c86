// RUN: bagua-opt --canonicalize %s | FileCheck %s
// RUN: bagua-opt --cse %s | FileCheck %s --check-prefix=CSE

// What folds, what CSE merges, and beside each what looks like it and must stay.
// A compute named "use" keeps alive what is checked.
!t = tensor<8xf32>
!m = tensor<2x4xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]

// A bucket of one tensor in its own shape is that tensor.
// CHECK-LABEL: bagua.step @concat_of_one
// CHECK-NEXT: compute update "use"(%x)
bagua.step @concat_of_one on @pod data [node, gpu] (batch %x "x" : !t) {
  %b = bagua.concat %x : !t -> !t
  %u = bagua.compute update "use"(%b) : (!t) -> (!t)
}

// In another shape it is a reshape, and stays.
// CHECK-LABEL: bagua.step @reshape
// CHECK-NEXT: %[[M:.*]] = bagua.concat %x : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: compute update "use"(%[[M]])
bagua.step @reshape on @pod data [node, gpu] (batch %x "x" : !t) {
  %m = bagua.concat %x : !t -> !m
  %u = bagua.compute update "use"(%m) : (!m) -> (!m)
}

// Two reshapes are one.
// CHECK-LABEL: bagua.step @reshape_of_reshape
// CHECK-NEXT: %[[R:.*]] = bagua.concat %x : tensor<8xf32> -> tensor<4x2xf32>
// CHECK-NEXT: compute update "use"(%[[R]])
bagua.step @reshape_of_reshape on @pod data [node, gpu] (batch %x "x" : !t) {
  %m = bagua.concat %x : !t -> !m
  %r = bagua.concat %m : !m -> tensor<4x2xf32>
  %u = bagua.compute update "use"(%r) : (tensor<4x2xf32>) -> (!t)
}

// Put together again in order, pieces are what they were cut from.
// CHECK-LABEL: bagua.step @concat_of_split
// CHECK-NEXT: compute update "use"(%x)
bagua.step @concat_of_split on @pod data [node, gpu] (batch %x "x" : !t) {
  %a, %b = bagua.split %x : !t -> tensor<3xf32>, tensor<5xf32>
  %c = bagua.concat %a, %b : tensor<3xf32>, tensor<5xf32> -> !t
  %u = bagua.compute update "use"(%c) : (!t) -> (!t)
}

// In another order they are not.
// CHECK-LABEL: bagua.step @concat_of_split_permuted
// CHECK-NEXT: %[[P:.*]]:2 = bagua.split %x
// CHECK-NEXT: %[[C:.*]] = bagua.concat %[[P]]#1, %[[P]]#0
// CHECK-NEXT: compute update "use"(%[[C]])
bagua.step @concat_of_split_permuted on @pod data [node, gpu] (batch %x "x" : !t) {
  %a, %b = bagua.split %x : !t -> tensor<4xf32>, tensor<4xf32>
  %c = bagua.concat %b, %a : tensor<4xf32>, tensor<4xf32> -> !t
  %u = bagua.compute update "use"(%c) : (!t) -> (!t)
}

// A striped bucket has another order of elements than a plain split undoes.
// CHECK-LABEL: bagua.step @concat_of_split_striped
// CHECK-NEXT: bagua.split
// CHECK-NEXT: bagua.concat
bagua.step @concat_of_split_striped on @pod data [node, gpu] (batch %x "x" : !t) {
  %a, %b = bagua.split %x striped <shard [gpu]> : !t -> tensor<4xf32>, tensor<4xf32>
  %c = bagua.concat %a, %b : tensor<4xf32>, tensor<4xf32> -> !t
  %u = bagua.compute update "use"(%c) : (!t) -> (!t)
}

// A split into one piece of the same shape is nothing.
// CHECK-LABEL: bagua.step @split_into_one
// CHECK-NEXT: compute update "use"(%x)
bagua.step @split_into_one on @pod data [node, gpu] (batch %x "x" : !t) {
  %s = bagua.split %x : !t -> !t
  %u = bagua.compute update "use"(%s) : (!t) -> (!t)
}

// A bucket that is cut into its tensors at once was never needed.
// CHECK-LABEL: bagua.step @split_of_concat
// CHECK-NEXT: compute update "use"(%x, %y)
bagua.step @split_of_concat on @pod data [node, gpu] (batch %x "x" : !t, batch %y "y" : tensor<4xf32>) {
  %b = bagua.concat %x, %y : !t, tensor<4xf32> -> tensor<12xf32>
  %p, %q = bagua.split %b : tensor<12xf32> -> !t, tensor<4xf32>
  %u = bagua.compute update "use"(%p, %q) : (!t, tensor<4xf32>) -> (!t)
}

// Cut elsewhere, it was.
// CHECK-LABEL: bagua.step @split_of_concat_elsewhere
// CHECK-NEXT: bagua.concat %x, %y
// CHECK-NEXT: bagua.split
bagua.step @split_of_concat_elsewhere on @pod data [node, gpu] (batch %x "x" : !t, batch %y "y" : tensor<4xf32>) {
  %b = bagua.concat %x, %y : !t, tensor<4xf32> -> tensor<12xf32>
  %p, %q = bagua.split %b : tensor<12xf32> -> tensor<4xf32>, !t
  %u = bagua.compute update "use"(%p, %q) : (tensor<4xf32>, !t) -> (!t)
}

// What lies between the two is not looked through.
// CHECK-LABEL: bagua.step @bucket
// CHECK-NEXT: bagua.concat
// CHECK-NEXT: bagua.all_reduce
// CHECK-NEXT: bagua.split
bagua.step @bucket on @pod data [node, gpu] (batch %x "x" : !t, batch %y "y" : tensor<4xf32>) {
  %b = bagua.concat %x, %y : !t, tensor<4xf32> -> tensor<12xf32>
  %r = bagua.all_reduce mean %b over [node, gpu] : tensor<12xf32>
  %p, %q = bagua.split %r : tensor<12xf32> -> !t, tensor<4xf32>
  %u = bagua.compute update "use"(%p, %q) : (!t, tensor<4xf32>) -> (!t)
}

// A cast to the same type is nothing.
// CHECK-LABEL: bagua.step @cast_to_same
// CHECK-NEXT: compute update "use"(%x)
bagua.step @cast_to_same on @pod data [node, gpu] (batch %x "x" : !t) {
  %c = bagua.cast %x : !t -> !t
  %u = bagua.compute update "use"(%c) : (!t) -> (!t)
}

// There and back again is a rounding.
// CHECK-LABEL: bagua.step @cast_and_back
// CHECK-NEXT: %[[H:.*]] = bagua.cast %x
// CHECK-NEXT: bagua.cast %[[H]]
bagua.step @cast_and_back on @pod data [node, gpu] (batch %x "x" : !t) {
  %h = bagua.cast %x : !t -> tensor<8xbf16>
  %c = bagua.cast %h : tensor<8xbf16> -> !t
  %u = bagua.compute update "use"(%c) : (!t) -> (!t)
}

// After nothing is now.
// CHECK-LABEL: bagua.step @after_nothing
// CHECK-NEXT: compute update "use"(%x)
bagua.step @after_nothing on @pod data [node, gpu] (batch %x "x" : !t) {
  %f = bagua.after %x [] : !t
  %u = bagua.compute update "use"(%f) : (!t) -> (!t)
}

// After something is an order that values do not give.
// CHECK-LABEL: bagua.step @after_something
// CHECK-NEXT: bagua.after %x [%y]
bagua.step @after_something on @pod data [node, gpu] (batch %x "x" : !t, batch %y "y" : !t) {
  %f = bagua.after %x [%y] : !t [!t]
  %u = bagua.compute update "use"(%f) : (!t) -> (!t)
}

// One times a tensor is the tensor.
// CHECK-LABEL: bagua.step @linear_one
// CHECK-NEXT: compute update "use"(%x)
bagua.step @linear_one on @pod data [node, gpu] (batch %x "x" : !t) {
  %l = bagua.linear [1.0] (%x) : !t
  %u = bagua.compute update "use"(%l) : (!t) -> (!t)
}

// Half of it is not, and plus zero times another is not either: that may be NaN.
// CHECK-LABEL: bagua.step @linear_other
// CHECK-NEXT: bagua.linear [0.5] (%x)
// CHECK-NEXT: bagua.linear [1.0, 0.0] (%x, %y)
bagua.step @linear_other on @pod data [node, gpu] (batch %x "x" : !t, batch %y "y" : !t) {
  %l = bagua.linear [0.5] (%x) : !t
  %m = bagua.linear [1.0, 0.0] (%x, %y) : !t
  %u = bagua.compute update "use"(%l, %m) : (!t, !t) -> (!t)
}

// A collective whose result nobody uses is not run: on no rank, so nobody waits.
// CHECK-LABEL: bagua.step @unused_collective
// CHECK-NOT: all_reduce
// CHECK: compute update "use"
bagua.step @unused_collective on @pod data [node, gpu] (batch %x "x" : !t) {
  %r = bagua.all_reduce mean %x over [node, gpu] : !t
  %u = bagua.compute update "use"(%x) : (!t) -> (!t)
}

// Compute is the program's: used or not, it stays, and so do its equals.
// CHECK-LABEL: bagua.step @compute_stays
// CHECK-COUNT-2: bagua.compute forward "l"(%x)
// CSE-LABEL: bagua.step @compute_stays
// CSE-COUNT-2: bagua.compute forward "l"(%x)
bagua.step @compute_stays on @pod data [node, gpu] (batch %x "x" : !t) {
  %a = bagua.compute forward "l"(%x) : (!t) -> (!t)
  %b = bagua.compute forward "l"(%x) : (!t) -> (!t)
}

// The same reduction of the same value is done once.
// CSE-LABEL: bagua.step @reduce_once
// CSE-NEXT: %[[R:.*]] = bagua.all_reduce mean %x over [node, gpu]
// CSE-NEXT: compute update "use"(%[[R]], %[[R]])
bagua.step @reduce_once on @pod data [node, gpu] (batch %x "x" : !t) {
  %r = bagua.all_reduce mean %x over [node, gpu] : !t
  %s = bagua.all_reduce mean %x over [node, gpu] : !t
  %u = bagua.compute update "use"(%r, %s) : (!t, !t) -> (!t)
}

// Another kind, another group, or another name is another value.
// CSE-LABEL: bagua.step @reduce_differently
// CSE-COUNT-4: bagua.all_reduce
bagua.step @reduce_differently on @pod data [node, gpu] (batch %x "x" : !t) {
  %q = bagua.all_reduce mean %x over [node, gpu] : !t
  %r = bagua.all_reduce max %x over [node, gpu] : !t
  %s = bagua.all_reduce mean %x over [node] : !t
  %t = bagua.all_reduce mean %x over [node, gpu] : !t as "t"
  %u = bagua.compute update "use"(%q, %r, %s, %t) : (!t, !t, !t, !t) -> (!t)
}
