//===- CustomCalls.cpp - How the importer reads custom calls --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of targets (docs/Import.md has it, too), and marks of
// communication.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/CustomCalls.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bagua::importer;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

namespace {
enum class CallKind {
  /// The result is the operand, with another sharding.
  Wrapper,
  /// A function of its operands that one device computes by itself, unless its
  /// attributes have a mark of communication or it has side effects.
  Compute,
  /// The call is kept for its side effect; its results are the rank's own.
  Effect,
  /// Other devices take part.
  Communication,
  Unknown,
};

struct Family {
  CallKind kind;
  /// Targets with blanks between them; `*` stands for any ending.
  llvm::StringLiteral targets;
};
} // namespace

// clang-format off: one family in each block, as in the docs.
constexpr Family kFamilies[] = {
    {CallKind::Wrapper, "Sharding SPMDFullToShardShape SPMDShardToFullShape"},
    // Linear algebra.
    {CallKind::Compute,
     "lapack_* blas_* cusolver_* cublas_* cusparse_* cuhybrid_* hipsolver_* "
     "hipblas_* hipsparse_* hiphybrid_* magma_* Eigh Qr LuDecomposition "
     "ProductOfElementaryHouseholderReflectors cu_cholesky_update* "
     "hip_cholesky_update* cu_lu_pivots_to_permutation* "
     "hip_lu_pivots_to_permutation* cu_tridiagonal_solve* "
     "hip_tridiagonal_solve* tridiagonal_solve_perturbed_ffi cpu_csr_sparse_*"},
    // Neural networks, random numbers, selection.
    {CallKind::Compute,
     "cudnn_rnn* hipdnn_rnn* cudnn* __cudnn$* __op$block_scaled_dot "
     "cu_threefry2x32* hip_threefry2x32* ApproxTopK TopK PartialReduce "
     "stablehlo.dynamic_approx_top_k stablehlo.dynamic_reduce_window "
     "stablehlo.dynamic_rng_bit_generator stablehlo.dynamic_top_k"},
    // Places and layouts.
    {CallKind::Compute,
     "annotate_device_placement LayoutConstraint AllocateBuffer CreateBuffer "
     "Pin Unpin fused xla.sdy.FuncResultSharding"},
    // Kernels that the user wrote.
    {CallKind::Compute,
     "tpu_custom_call mosaic_gpu* __gpu$xla.gpu.triton triton_kernel_call*"},
    // Functions of Python's.
    {CallKind::Compute,
     "xla_python_* xla_ffi_python_* xla_ffi_partitioned_python_* "
     "xla_buffer_python_*"},
    {CallKind::Effect,
     "InspectSharding shape_assertion dce_sink control_dep"},
    {CallKind::Communication,
     "ragged_all_to_all CustomSPMDPartitioning tf.call_tf_function"},
};
// clang-format on

static CallKind kindOf(StringRef target) {
  for (const Family &family : kFamilies)
    for (StringRef pattern : llvm::split(family.targets, ' '))
      if (pattern.consume_back("*") ? target.starts_with(pattern)
                                    : target == pattern)
        return family.kind;
  return CallKind::Unknown;
}

bool bagua::importer::isCustomCall(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name == "stablehlo.custom_call" || name == "mhlo.custom_call";
}

StringRef bagua::importer::targetOf(Operation *op) {
  auto target = isCustomCall(op)
                    ? op->getAttrOfType<StringAttr>("call_target_name")
                    : nullptr;
  return target ? target.getValue() : "";
}

bool bagua::importer::isKnownCustomCall(Operation *op) {
  return isCustomCall(op) && kindOf(targetOf(op)) != CallKind::Unknown;
}

bool bagua::importer::isShardingWrapper(Operation *op) {
  return kindOf(targetOf(op)) == CallKind::Wrapper &&
         op->getNumOperands() == 1 && op->getNumResults() == 1;
}

OpTraits bagua::importer::traitsOfCustomCall(Operation *op) {
  OpTraits opaque;
  CallKind kind = kindOf(targetOf(op));
  auto effect = op->getAttrOfType<BoolAttr>("has_side_effect");
  bool hasEffect = effect && effect.getValue();
  // An unknown side effect may be a message.
  opaque.isOtherCommunication =
      kind == CallKind::Communication || carriesCommunication(op) ||
      (hasEffect && kind != CallKind::Effect && op->getNumResults() > 0);
  bool isPure = kind == CallKind::Compute && !hasEffect;
  return isPure && !opaque.isOtherCommunication ? OpTraits{OpKind::Pure}
                                                : opaque;
}

//===----------------------------------------------------------------------===//
// Marks of communication
//===----------------------------------------------------------------------===//

/// Keys of attributes; they are also found within strings (JSON, or another
/// dialect's text).
constexpr llvm::StringLiteral kMarks[] = {
    "channel_handle",  "channel_id",          "replica_groups",
    "device_groups",   "collective_id",       "source_target_pairs",
    "xla_replica_ids", "multimem_parameters", "nvshmem"};

static bool isMark(StringRef key) {
  return key == "mesh" || key == "mesh_axes" || llvm::is_contained(kMarks, key);
}

static bool hasMark(StringRef text) {
  if (llvm::any_of(kMarks, [&](StringRef mark) { return text.contains(mark); }))
    return true;
  for (StringRef key : {"has_communication", "uses_xla_collective_metadata"})
    if (size_t at = text.find(key); at != StringRef::npos)
      if (text.drop_front(at + key.size()).ltrim("\": ").starts_with("true"))
        return true;
  return false;
}

static bool hasMark(NamedAttribute entry);

static bool hasMark(Attribute attribute) {
  if (auto dictionary = dyn_cast_if_present<DictionaryAttr>(attribute))
    return llvm::any_of(dictionary,
                        [](NamedAttribute entry) { return hasMark(entry); });
  if (auto array = dyn_cast_if_present<ArrayAttr>(attribute))
    return llvm::any_of(array,
                        [](Attribute element) { return hasMark(element); });
  if (auto text = dyn_cast_if_present<StringAttr>(attribute))
    return hasMark(text.getValue());
  auto other = dyn_cast_if_present<OpaqueAttr>(attribute);
  return other && hasMark(other.getAttrData());
}

static bool hasMark(NamedAttribute entry) {
  StringRef key = entry.getName().getValue();
  if (key == "uses_xla_collective_metadata" || key == "has_communication") {
    auto flag = dyn_cast<BoolAttr>(entry.getValue());
    return flag && flag.getValue();
  }
  return isMark(key) || hasMark(entry.getValue());
}

/// `all-reduce-start`, `ncclAllReduce`, `mpi_bcast`: names of collectives with
/// nothing between their words, and words of libraries.
static bool isNameOfCommunication(StringRef name) {
  std::string letters;
  for (char c : name)
    if (llvm::isAlnum(c))
      letters += llvm::toLower(c);
  for (StringRef collective :
       {"allreduce", "allgather", "alltoall", "reducescatter", "collective",
        "ppermute", "psum", "nccl", "rccl", "nvshmem", "crossreplica"})
    if (StringRef(letters).contains(collective))
      return true;
  bool isWord = false;
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(name, words, "._-$/:@");
  for (StringRef word : words)
    isWord |= llvm::is_contained({"mpi", "send", "recv", "sendrecv"},
                                 StringRef(word.lower()));
  return isWord;
}

bool bagua::importer::carriesCommunication(Operation *op) {
  StringRef name =
      isCustomCall(op) ? targetOf(op) : op->getName().getStringRef();
  return isNameOfCommunication(name) ||
         hasMark(op->getDiscardableAttrDictionary()) ||
         hasMark(op->getPropertiesAsAttribute());
}
