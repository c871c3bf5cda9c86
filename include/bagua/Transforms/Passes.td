//===- Passes.td - Passes of the bagua compiler ------------*- tablegen -*-===//
//
// Declares every pass with its options and a before/after.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_PASSES_TD
#define BAGUA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyGraphPass : Pass<"bagua-verify-graph", "::mlir::ModuleOp"> {
  let summary = "Proves that every state is yielded with the agreement it declares";
  let description = [{
    The fact analysis of docs/Rationale.md: per value and axis of the cluster,
    replicated, pending or varying. For gradients this is exactly-once reduction:
    one that is never reduced, reduced twice, over the wrong axes or by another
    kind than `mean` is refused, whatever buckets, parts, hierarchy and codecs
    lie between. Changes nothing.
  }];
}

def CoarsenPass : Pass<"bagua-coarsen", "::bagua::StepOp"> {
  let summary = "Merges runs of compute between points where communication can start or must end";
  let description = [{
    Neighbouring compute ops of one phase become one, unless the first makes a
    gradient (or another named result), or the second is the first to use a param,
    a collective's result or an optional value. Durations, flops and bytes add up; the name is that of
    the costliest member.

    ```
    %a = bagua.compute forward "dot"(%x, %w) flops 1000 bytes 64 : ...
    %b = bagua.compute forward "relu"(%a) bytes 32 : ...
    ```
    becomes
    ```
    %b = bagua.compute forward "dot"(%x, %w) flops 1000 bytes 96 : ...
    ```
  }];
}

def AnnotateCostsPass : Pass<"bagua-annotate-costs", "::bagua::StepOp"> {
  let summary = "Gives compute ops a duration";
  let description = [{
    `cost_ns` by the roofline of the cluster's device, from `flops` and `bytes`;
    durations that are there stay. With `overlay`, a CSV of `name,phase,ns`, measured
    times replace them: an op takes the time of the line with its name and phase,
    and a line that names no op is an error.
  }];
  let options = [
    Option<"overlay", "overlay", "std::string", "", "CSV of measured times: name,phase,ns">,
  ];
}

def RelaxPass : Pass<"bagua-relax", "::bagua::StepOp"> {
  let summary = "Puts the algorithm's communication on each gradient";
  let description = [{
    `all-reduce`: every gradient that is pending is reduced by a mean over the axes
    over which it is. Values that the step itself communicates get names, and the
    step its contract: what must hold of every tensor that the runtime gives back.

    ```
    %g = bagua.compute backward "l"(%x) : (...) -> (!w grad "w")
    %n = bagua.sgd (%w) grad %g lr %lr : !w, !s
    ```
    becomes
    ```
    %g = bagua.compute backward "l"(%x) : (...) -> (!w grad "w")
    %r = bagua.all_reduce mean %g over [node, gpu] : !w
    %n = bagua.sgd (%w) grad %r lr %lr : !w, !s
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", "\"all-reduce\"", "all-reduce">,
  ];
}

def BucketizePass : Pass<"bagua-bucketize", "::bagua::StepOp"> {
  let summary = "Decides which gradients travel together";
  let description = [{
    Gathers the all_reduces of gradients, in the order in which the gradients are
    predicted to be ready, into buckets: `none` (each alone), `size` (buckets of
    `cap-bytes`), `ddp` (the same with a first bucket of `first-bytes`), `cycle`
    (Horovod: what is ready at a tick of `cycle-ns`, up to `cap-bytes`). Only
    gradients of one element type, kind and group share a bucket.

    ```
    %r2 = bagua.all_reduce mean %g2 over [node] : tensor<2xf32>
    %r1 = bagua.all_reduce mean %g1 over [node] : tensor<3xf32>
    ```
    becomes
    ```
    %b = bagua.concat %g2, %g1 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
    %c = bagua.all_reduce mean %b over [node] : tensor<5xf32>
    %r2, %r1 = bagua.split %c : tensor<5xf32> -> tensor<2xf32>, tensor<3xf32>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"none\"", "none, size, ddp or cycle">,
    Option<"firstBytes", "first-bytes", "int64_t", "1048576", "cap of the first bucket (ddp)">,
    Option<"capBytes", "cap-bytes", "int64_t", "26214400", "cap of a bucket">,
    Option<"cycleNs", "cycle-ns", "int64_t", "1000000", "time between ticks (cycle)">,
  ];
}

def SchedulePass : Pass<"bagua-schedule", "::bagua::StepOp"> {
  let summary = "Gives every op a stream and a place in the launch order";
  let description = [{
    From graph level to scheduled level. Compute keeps its order on stream
    `compute`; updates and whatever else waits for reduced gradients come last, in
    the order in which these arrive. Communication that compute of the same step
    waits for (activations, expert dispatch) is on stream `activation`, at the place
    where it is needed; everything else on `comm`, by `policy`: `wfbp` as soon as
    its operands are predicted ready, `bsp` after all backward compute. Structured
    updates of whole tensors become compute: the program runs its optimizer.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"wfbp\"", "bsp or wfbp">,
  ];
}

def PlacePass : Pass<"bagua-place", "::bagua::StepOp"> {
  let summary = "Gives every value that the runtime touches a place in memory";
  let description = [{
    Buckets lie in an arena; the tensors of a bucket side by side in it, so that
    concat and split cost nothing; collectives work in place. A gradient that
    travels alone stays in the program's own tensor. Where a value is still needed
    after its bytes would be overwritten, it is copied. Values that cross between
    program and runtime without a name get one. `max-bytes` is a hard limit of the
    arenas' sum; 0 is none.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "0", "limit of the runtime's memory on a rank">,
  ];
}

def VerifySchedulePass : Pass<"bagua-verify-schedule", "::bagua::StepOp"> {
  let summary = "Proves that no two accesses to the same bytes race, on two unrolled steps";
  let description = [{
    Every op has a stream and every result a place; every two accesses to
    overlapping bytes, one of them a write, are ordered by dependencies and streams,
    within a step and from one step to the next; collectives are launched in block
    order, so that no circular wait is possible. Changes nothing.
  }];
}

def RecordStrategyPass : Pass<"bagua-record-strategy", "::mlir::ModuleOp"> {
  let summary = "Writes into the module by which strategy it is compiled";
  let description = [{
    Sets `bagua.strategy`, which the plan carries on, so that anyone can run the
    same again. A strategy begins with it.
  }];
  let options = [
    Option<"text", "text", "std::string", "", "NAME{option=value ...}">,
  ];
}

#endif // BAGUA_TRANSFORMS_PASSES_TD
