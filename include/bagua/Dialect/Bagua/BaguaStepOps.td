//===- BaguaStepOps.td - Clusters, steps and trainings -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that stand at module level, and the step's terminator.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_STEPOPS_TD
#define BAGUA_STEPOPS_TD

include "bagua/Dialect/Bagua/BaguaOpBase.td"
include "mlir/IR/RegionKindInterface.td"

def Bagua_AxisArray : TypedArrayAttrBase<Bagua_AxisAttr, "axes, outermost first">;

def Bagua_ClusterOp : Bagua_Op<"cluster", [Symbol]> {
  let summary = "the machines that a step is planned for";
  let description = [{
    Named axes from the outermost in, each with its size and links, and the
    device. `servers N`: that many dedicated ranks after the workers. `servers_on
    [axes]`: one co-located server for each coordinate on these axes. With both,
    the dedicated ones are numbered first. `rings_and_trees`: the ranks' collectives
    are made by these alone, as NCCL makes them; without it a small message may
    go to all others at once. `host`: the cores that carry a rank's messages also
    do the runtime's own work there; without it the device does that, in the time
    of its memory, and the program's compute shares the device. `message_ns`: what
    a system takes for each collective before it begins, besides a launch. `wake_ns`:
    what a stream that stood still takes to go on, as a thread does that went to
    sleep; the program is one, too.

    ```
    bagua.cluster @farm axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>] servers 2
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Bagua_AxisArray:$axes, OptionalAttr<Bagua_DeviceAttr>:$device,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$servers,
                       OptionalAttr<Bagua_AxesAttr>:$servers_on, UnitAttr:$rings_and_trees,
                       OptionalAttr<Bagua_HostAttr>:$host,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$message_ns,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$wake_ns);
  let assemblyFormat = [{
    $sym_name `axes` $axes (`device` qualified($device)^)? (`host` qualified($host)^)? (`message_ns` $message_ns^)?
    (`wake_ns` $wake_ns^)? (`servers` $servers^)? (`servers_on` custom<Axes>($servers_on)^)? (`rings_and_trees` $rings_and_trees^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$axes), [{
    build($_builder, $_state, $_builder.getStringAttr(name), axes, /*device=*/nullptr, /*servers=*/nullptr,
          /*servers_on=*/nullptr, /*rings_and_trees=*/nullptr, /*host=*/nullptr, /*message_ns=*/nullptr,
          /*wake_ns=*/nullptr);
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Index of the axis of this name; nothing if there is none.
    std::optional<unsigned> findAxis(::llvm::StringRef name);
    ::bagua::AxisAttr getAxis(unsigned index);
    unsigned getAxisCount() { return getAxes().size(); }
    /// Product of the sizes of `axes`, which must exist.
    int64_t getGroupSize(::bagua::AxesAttr axes);
    /// Number of workers: the product of all sizes.
    int64_t getWorkerCount();
    /// Dedicated and co-located servers.
    int64_t getServerCount();
    /// All axes, as a group.
    ::bagua::AxesAttr getAllAxes();
    /// Cuts axes into parts of these sizes, outermost first, for each axis: `gpu`
    /// into `gpu.0` and `gpu.1`, which has the links of `gpu.0`. An axis of one
    /// part stays, and so it does beside parts of one rank, which are axes of their
    /// own. Measured times are of whole axes, so a remark says that those of a cut
    /// one are left out.
    void cutAxes(::llvm::ArrayRef<::llvm::SmallVector<int64_t>> sizes);
  }];
}

def Bagua_StepOp : Bagua_Op<"step", [Symbol, IsolatedFromAbove, SingleBlockImplicitTerminator<"::bagua::YieldOp">,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one iteration of training, run by every rank";
  let description = [{
    Arguments are what the program binds each step (`batch`, which differs over
    the `data` axes, and `input`, which does not), or state, by name; the
    terminator yields the next state in the order of the state arguments. So the
    dependence from one iteration to the next is in the IR, and there is no
    barrier between them. `varies [axes]` says over which axes ranks may
    legitimately disagree about a state. `counted "t"` says of a moment which
    state the program's own update is corrected by.

    `consistency` is of servers: `bsp` (the default), `asp`, or `ssp(s)` with at
    most `s` steps between the fastest and the slowest worker. `streams` names
    the streams of a scheduled step.

    ```
    bagua.step @train on @farm data [node] consistency ssp(3) (batch %x "x" : tensor<32xf32>, param %w "w" : tensor<32xf32>) {
      %g = bagua.compute backward "all"(%x, %w) : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node] : tensor<32xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<32xf32>
      bagua.yield %n : tensor<32xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$cluster, Bagua_AxesAttr:$data_axes,
                       ArrayAttr:$arguments, OptionalAttr<Bagua_ConsistencyAttr>:$consistency,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$staleness,
                       OptionalAttr<Bagua_NameArray>:$streams);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$cluster, "::bagua::AxesAttr":$dataAxes,
                                 "::mlir::ArrayAttr":$arguments), [{
    build($_builder, $_state, name, cluster, dataAxes, arguments, /*consistency=*/nullptr, /*staleness=*/nullptr,
          /*streams=*/nullptr);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::bagua::ArgumentAttr getArgument(unsigned index);
    /// O(arguments).
    void setArgument(unsigned index, ::bagua::ArgumentAttr argument);
    /// Indices of the arguments, by name.
    ::llvm::DenseMap<::mlir::StringAttr, unsigned> numberArguments();
    /// Indices of the state arguments, in the order in which they are yielded.
    ::llvm::SmallVector<unsigned> getStateArguments();
    /// The cluster, or null where the symbol does not resolve to one.
    ::bagua::ClusterOp lookupCluster();
    ::bagua::YieldOp getYield();
    /// Whether results of pushes are applied as they arrive (asp, ssp).
    bool isAsynchronous();
    /// Whether the step only changes state, as those of `at` rows do: it has no
    /// batch, input and compute, and does not commit by adding. O(ops).
    bool runsBetweenIterations();
    /// Whether ops have streams.
    bool isScheduled() { return getStreamsAttr() != nullptr; }
  }];
}

def Bagua_YieldOp : Bagua_Op<"yield", [Terminator, Pure, HasParent<"::bagua::StepOp">]> {
  let summary = "the next state";
  let description = [{
    One value for each state argument, of its type. In a background step `add`
    commits by adding to the state as it then is.

    ```
    bagua.yield %w, %m, %v, %e, %p : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Variadic<Bagua_Value>:$values, UnitAttr:$add);
  let assemblyFormat = "(`add` $add^)? ($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

def Bagua_TrainingOp : Bagua_Op<"training", [Symbol, NoTerminator, SingleBlock, NoRegionArguments,
                                             DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "which step runs when";
  let description = [{
    A table of phases; for each iteration the first matching row runs.

    ```
    bagua.training @job {
      bagua.phase @warmup until 1000
      bagua.phase @compressed
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Bagua_PhaseOp : Bagua_Op<"phase", [HasParent<"::bagua::TrainingOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one row of a training's phase table";
  let description = [{
    `at K` rows run once, before iteration K, in the order of the table, and are
    not counted; `at_start` is `at 0`. Their steps change state: they have no
    batch, no input and no compute. `until N` matches iterations below N, `every
    K offset O` those with `i mod K == O`; a row without either always matches
    and must be the last in the foreground. `background_ns` rows run beside the
    others at that interval, while the current step has no collective.

    ```
    bagua.phase @init at_start
    bagua.phase @freeze at 1000
    bagua.phase @warmup until 1000
    bagua.phase @average every 8 offset 7
    bagua.phase @local
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$step, UnitAttr:$at_start,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$at,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$until,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$every,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$offset,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$background_ns);
  let assemblyFormat = [{
    $step (`at_start` $at_start^)? (`at` $at^)? (`until` $until^)? (`every` $every^ `offset` $offset)?
    (`background_ns` $background_ns^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isBackground() { return getBackgroundNsAttr() != nullptr; }
    /// Runs in every iteration that no row before it took.
    /// The iteration before which an `at` row runs, 0 for `at_start`; nothing for
    /// other rows.
    std::optional<int64_t> getIteration();
    bool matchesAlways() { return !getIteration() && !getUntilAttr() && !getEveryAttr() && !isBackground(); }
    ::bagua::StepOp lookupStep();
  }];
}

#endif // BAGUA_STEPOPS_TD
