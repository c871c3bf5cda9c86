//===- ContractVerifier.cpp - Whether a step's contract means something ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies contracts: the conditions that tensors must meet when a step gives
// them back.
//
//===----------------------------------------------------------------------===//
#include "FieldChecks.h"
#include "Opcodes.h"
#include "PlanVerifier.h"
#include "Roles.h"

#include "bagua/Support/UpdateRules.h"
#include "bagua/Support/Words.h"

#include <cmath>
#include <optional>

namespace bagua::runtime {
namespace {

using absl::StrCat;

class ContractVerifier {
public:
  ContractVerifier(PlanVerifier &verifier, const fb::Plan &root,
                   const fb::Step &checked)
      : common(verifier), plan(root), step(checked),
        tensors(verifier.tensors()), isPromised(tensors.size(), false) {}

  absl::Status verify();

private:
  /// A tensor is promised once.
  absl::Status promise(uint32_t tensor);
  absl::Status verifyRelation(const fb::Relation &relation);
  absl::Status verifyUpdated(const fb::Relation &relation);
  absl::Status verifyReshaped(const fb::Relation &relation);
  absl::Status verifyRewritten(const fb::Relation &relation);

  PlanVerifier &common;
  const fb::Plan &plan;
  const fb::Step &step;
  const std::vector<VerifiedValue> &tensors;
  std::vector<bool> isPromised;
};

} // namespace

absl::Status ContractVerifier::promise(uint32_t tensor) {
  if (isPromised[tensor])
    return invalid(StrCat("tensor '",
                          nameOf(plan.tensors()->Get(tensor)->name()),
                          "' is in the contract already"));
  isPromised[tensor] = true;
  return absl::OkStatus();
}

/// A gradient of another floating-point type is cast.
absl::Status ContractVerifier::verifyUpdated(const fb::Relation &relation) {
  const fb::Update *update = relation.update();
  const UpdateRow *row = update ? updateOf(*update) : nullptr;
  if (!row || !row->isPromised ||
      kindOf(update->opcode()) != InstructionKind::Update)
    return invalid(StrCat("expected an update by ",
                          joinWords(promisedUpdates(), ", ", " or ")));
  absl::Status status =
      common.verifyIndices(update->states(), tensors.size(), "tensors");
  if (status.ok())
    status = verifyEnum(update->bias_correction(), fb::BiasCorrection::MAX,
                        "bias correction");
  if (!status.ok())
    return status;
  std::vector<float> constants;
  if (update->constants())
    constants.assign(update->constants()->begin(), update->constants()->end());
  std::string wrong =
      checkUpdate(*row, lengthOf(update->states()), constants,
                  static_cast<BiasCorrection>(update->bias_correction()));
  if (!wrong.empty())
    return invalid(wrong);
  if (update->states()->Get(0) != relation.tensor())
    return invalid("expected states of which the first is the tensor");
  auto isFloat = [](const VerifiedValue &value) {
    return value.type <= fb::DataType::Float64;
  };
  const VerifiedValue &from = tensors[relation.of()];
  const VerifiedValue &first = tensors[relation.tensor()];
  for (uint32_t state : *update->states()) {
    const VerifiedValue &info = tensors[state];
    if (!isFloat(info) || !isFloat(from) || info.count != from.count ||
        info.type != first.type || from.layout != 0 ||
        isOnServers(common.layoutOf(info)))
      return invalid("expected floating-point states of one type, not on "
                     "servers, and as many elements given whole");
    if (status = promise(state); !status.ok())
      return status;
  }
  int64_t rate = update->learning_rate_tensor();
  if (rate < -1 || rate >= static_cast<int64_t>(tensors.size()) ||
      (rate >= 0 && (!isFloat(tensors[rate]) || tensors[rate].count != 1 ||
                     plan.tensors()->Get(rate)->role() != fb::Role::Input ||
                     !plan.tensors()->Get(rate)->given_by_program())))
    return invalid("expected a learning rate that is an input of one "
                   "floating-point element");
  return absl::OkStatus();
}

absl::Status ContractVerifier::verifyRelation(const fb::Relation &relation) {
  size_t tensorCount = plan.tensors()->size();
  if (relation.tensor() >= tensorCount || relation.of() >= tensorCount)
    return invalid(StrCat("expected tensors below ", tensorCount, ", found ",
                          relation.tensor(), " and ", relation.of()));
  absl::Status status =
      verifyEnum(relation.relation(), fb::RelationKind::MAX, "relation");
  if (status.ok())
    status = verifyEnum(relation.reduce(), fb::ReduceKind::MAX, "reduce kind");
  if (status.ok())
    status = common.verifyAxes(relation.axes());
  if (!status.ok())
    return status;
  if (relation.relation() == fb::RelationKind::Updated)
    return verifyUpdated(relation);
  if (relation.update())
    return invalid("found an update, which only Updated has");
  status = promise(relation.tensor());
  if (!status.ok())
    return status;
  bool reduces = relation.relation() == fb::RelationKind::Reduced ||
                 relation.relation() == fb::RelationKind::Scattered;
  if (reduces && relation.reduce() == fb::ReduceKind::Mean &&
      isInteger(tensors[relation.of()].type))
    return invalid("a mean of integers is not defined");
  if (relation.relation() == fb::RelationKind::Scaled ||
      relation.relation() == fb::RelationKind::Broadcast)
    return verifyRewritten(relation);
  if (relation.relation() != fb::RelationKind::Reduced)
    return verifyReshaped(relation);
  const VerifiedValue &from = tensors[relation.of()];
  const VerifiedValue &to = tensors[relation.tensor()];
  if (from.type != to.type || from.count != to.count || from.layout != 0 ||
      isOnServers(common.layoutOf(to)))
    return invalid("expected tensors of one element type and count, the given "
                   "one whole on every rank, the other not on servers");
  return absl::OkStatus();
}

static std::vector<int64_t> shapeOf(const fb::Tensor &tensor) {
  return tensor.shape() ? std::vector<int64_t>(tensor.shape()->begin(),
                                               tensor.shape()->end())
                        : std::vector<int64_t>();
}

/// Tensors without layouts; the shape given back follows from the one given.
absl::Status ContractVerifier::verifyReshaped(const fb::Relation &relation) {
  const fb::Tensor &of = *plan.tensors()->Get(relation.of());
  const fb::Tensor &to = *plan.tensors()->Get(relation.tensor());
  bool isCut = cuts(relation.relation()), isJoined = joins(relation.relation());
  Layout group = {{LayoutPart::Kind::Shard, {}, -1}};
  if (relation.axes())
    group[0].axes.assign(relation.axes()->begin(), relation.axes()->end());
  int64_t size = partCount(group, common.cluster());
  std::vector<int64_t> expected = shapeOf(of);
  if ((isCut && (relation.split_dim() >= expected.size() ||
                 expected[relation.split_dim()] % size != 0)) ||
      (isJoined && relation.concat_dim() >= expected.size()))
    return invalid("expected dimensions of the tensor, the first divisible by "
                   "the group's size");
  if (isCut)
    expected[relation.split_dim()] /= size;
  if (isJoined && __builtin_mul_overflow(expected[relation.concat_dim()], size,
                                         &expected[relation.concat_dim()]))
    return invalid(StrCat("expected dimension ", relation.concat_dim(),
                          " of a size that can be counted on ", size,
                          " ranks"));
  if (of.type() != to.type() || shapeOf(to) != expected ||
      tensors[relation.of()].layout != 0 ||
      tensors[relation.tensor()].layout != 0)
    return invalid("expected tensors of one element type without layouts, the "
                   "one given back in the shape that the relation makes");
  return common.verifyPairs(
      relation.pairs(),
      relation.relation() == fb::RelationKind::Permuted ? size : 0);
}

/// Scaled and Broadcast: state, in terms of what the step found of it.
absl::Status ContractVerifier::verifyRewritten(const fb::Relation &relation) {
  const VerifiedValue &state = tensors[relation.tensor()];
  if (relation.of() != relation.tensor() ||
      !isState(plan.tensors()->Get(relation.tensor())->role()) ||
      isOnServers(common.layoutOf(state)))
    return invalid("expected state, not on servers, in terms of itself");
  if (relation.relation() == fb::RelationKind::Broadcast && state.layout != 0)
    return invalid("expected a broadcast of state that each rank has whole");
  if (relation.relation() == fb::RelationKind::Scaled &&
      (isInteger(state.type) || !std::isfinite(relation.coefficient())))
    return invalid("expected floating-point state and a finite coefficient");
  return absl::OkStatus();
}

absl::Status ContractVerifier::verify() {
  for (size_t i = 0; i < step.contract()->size(); ++i)
    if (absl::Status status = verifyRelation(*step.contract()->Get(i));
        !status.ok())
      return prefixed(StrCat("contract ", i), status);
  return absl::OkStatus();
}

absl::Status verifyContract(PlanVerifier &verifier, const fb::Plan &plan,
                            const fb::Step &step) {
  return ContractVerifier(verifier, plan, step).verify();
}

} // namespace bagua::runtime
