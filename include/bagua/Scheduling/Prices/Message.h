//===- Message.h - What an all_reduce is made of --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoding on the wire, the hierarchy of collectives, and the one list
// of steps that follows from both. Prices, simulated plans, sizes of arenas and
// the passes that write ops all read that list.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_MESSAGE_H
#define BAGUA_SCHEDULING_PRICES_MESSAGE_H

#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Support/Encodings.h"
#include "bagua/Support/Words.h"

namespace bagua {

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// How an all_reduce is made of collectives (docs/Semantics.md,
/// "Hierarchies").
enum class FormKind {
  /// One collective over all axes.
  Flat,
  /// reduce over the inner axes, all_reduce of the roots over the outer ones,
  /// broadcast (BAGUA).
  Leader,
  /// reduce_scatter over the inner axes, all_reduce of the parts over the outer
  /// ones, all_gather (Horovod's hierarchical all_reduce).
  Rail,
  /// reduce_scatter axis by axis from the innermost, all_gather back
  /// (BlueConnect, Cho et al., MLSys 2019).
  Multilevel,
  /// reduce_scatter and all_gather over all axes (DeAR, Zhang et al., ICDCS
  /// 2023).
  Halves,
  /// push to all servers and pull (Li et al., Parameter Server, OSDI 2014).
  Servers,
  /// reduce_scatter over the inner axes, push and pull of the parts, all_gather
  /// (BytePS, Jiang et al., OSDI 2020).
  RailServers,
};

inline constexpr int kFormKindCount = 7;

template <>
inline constexpr std::array<std::string_view, kFormKindCount>
    kWordsOf<FormKind> = {"flat",   "leader",  "rail",        "multilevel",
                          "halves", "servers", "rail-servers"};

/// How an all_reduce is divided into phases over axes.
enum class Hierarchy {
  /// No phases: all axes at once.
  Flat,
  /// The inner axes reduce to a root, which broadcasts the result.
  Leader,
  /// The inner axes scatter parts, and gather the results.
  Rail,
  /// Each axis in turn scatters parts, and gathers them in the reverse order.
  Multilevel,
};

/// The processes that sum the results of the inner phases.
enum class SummedBy { Ranks, Servers };

/// The decisions that a kind of form stands for.
struct FormShape {
  Hierarchy hierarchy = Hierarchy::Flat;
  SummedBy summedBy = SummedBy::Ranks;
  /// The ranks sum by reduce_scatter and all_gather, and an update may run
  /// between the two.
  bool isHalved = false;
};

/// The shape of each kind, by its number.
inline constexpr std::array<FormShape, kFormKindCount> kFormShapes = {{
    {Hierarchy::Flat, SummedBy::Ranks, false},
    {Hierarchy::Leader, SummedBy::Ranks, false},
    {Hierarchy::Rail, SummedBy::Ranks, false},
    {Hierarchy::Multilevel, SummedBy::Ranks, true},
    {Hierarchy::Flat, SummedBy::Ranks, true},
    {Hierarchy::Flat, SummedBy::Servers, false},
    {Hierarchy::Rail, SummedBy::Servers, false},
}};
constexpr FormShape shapeOf(FormKind form) {
  return kFormShapes[static_cast<size_t>(form)];
}

constexpr bool isServed(FormKind form) {
  return shapeOf(form).summedBy == SummedBy::Servers;
}

/// A set of forms, bit by bit.
using FormSet = uint32_t;
constexpr FormSet formBit(FormKind form) {
  return FormSet(1) << static_cast<int>(form);
}
/// The kinds of form whose shape passes the test.
template <typename Predicate> constexpr FormSet formsWhere(Predicate has) {
  FormSet forms = 0;
  for (int form = 0; form < kFormKindCount; ++form)
    if (has(kFormShapes[form]))
      forms |= FormSet(1) << form;
  return forms;
}
inline constexpr FormSet kServerForms = formsWhere(
    [](FormShape shape) { return shape.summedBy == SummedBy::Servers; });
/// The forms among ranks that are one collective or a hierarchy of collectives.
inline constexpr FormSet kHierarchyForms =
    formBit(FormKind::Flat) | formBit(FormKind::Leader) |
    formBit(FormKind::Rail) | formBit(FormKind::Multilevel);

/// The form of the same hierarchy without servers or halves.
FormKind hierarchyOf(FormKind form);
/// hierarchyOf for each form of a set.
FormSet hierarchiesOf(FormSet forms);

/// A form that a user may ask for: a kind under its own number, or the cheapest
/// of the hierarchies.
enum class FormChoice { Cheapest = kFormKindCount };

template <>
inline constexpr std::array<std::string_view, kFormKindCount + 1>
    kWordsOf<FormChoice> = [] {
      std::array<std::string_view, kFormKindCount + 1> words{};
      for (int form = 0; form < kFormKindCount; ++form)
        words[form] = kWordsOf<FormKind>[form];
      words.back() = "cheapest";
      return words;
    }();

/// The forms that a message may take.
struct AllowedForms {
  // NOLINTNEXTLINE(google-explicit-constructor): a set is the common case.
  constexpr AllowedForms(FormSet forms, FormKind otherwise = FormKind::Flat)
      : forms(forms), otherwise(otherwise) {}

  /// At least one.
  FormSet forms;
  /// The form to use if none of them applies.
  FormKind otherwise;
};

constexpr FormSet formsOf(FormChoice choice) {
  return choice == FormChoice::Cheapest
             ? kHierarchyForms
             : formBit(static_cast<FormKind>(choice));
}

/// The properties of a reduction by which its forms are chosen.
struct ReductionTraits {
  bool isGradient;
  /// All ranks have the whole tensor. Parts of tensors are never reduced in
  /// several phases.
  bool isWhole;
};
/// The forms that a user's choice allows a reduction. `areServed`: servers sum
/// gradients after the inner phases, but a leader sends its sum to no server. A
/// reduction of no gradient takes only the hierarchies of the choice.
AllowedForms formsFor(FormChoice choice, bool areServed,
                      ReductionTraits reduction);

/// How reduce_scatter and all_gather go if an all_reduce is made of these two:
/// over all axes at once, axis by axis, or the cheaper way.
enum class HalvesChoice { Flat, Multilevel, Cheapest };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<HalvesChoice> = {
    "flat", "multilevel", "cheapest"};

/// The forms of an all_reduce that is cut in halves that way.
AllowedForms halvedForms(HalvesChoice choice);

/// The forms of `allowed` that are left for values on `wire`. If collectives
/// can't reduce these values, an all_reduce in two halves becomes a flat one.
AllowedForms formsForWire(const AllowedForms &allowed, const Encoding &wire);

struct AllReduceForm {
  FormKind kind = FormKind::Flat;
  /// For leader and rails: the inner axes.
  AxisSet inner = 0;
};

/// Whether servers can sum tensors that are reduced over the axes: there are
/// servers, and all ranks push. A server that had to keep ranks along another
/// axis apart (tensor parallelism, experts) would need a slot for each of them.
bool canServe(const ClusterModel &cluster, AxisSet over);

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Elements that every rank of a group has and that are reduced over the group.
struct Message {
  AxisSet over = 0;
  int64_t count = 0;
  int64_t elementBytes = 1;
  /// None for all types but float32.
  Encoding wire = {};

  int64_t bytes() const { return count * elementBytes; }
  int64_t bytesOnWire() const {
    return encodedBytes(wire, count, elementBytes);
  }
};

struct MessageStage {
  enum class Kind {
    /// To the encoding on the wire.
    Encode,
    Collective,
    /// Back to the elements' own type.
    Decode,
  };
  Kind kind;
  /// For Collective.
  SizedCollective call = {};
  /// For Encode and Decode. An encoding whose values collectives can't reduce
  /// has as many parts as ranks on `parts`, or a term for each rank on `terms`.
  Encoding wire = {};
  AxisSet parts = 0;
  AxisSet terms = 0;
  /// For Encode and Decode: the bytes that a rank reads and writes.
  int64_t movedBytes = 0;
  /// The runtime's memory that the result takes on the rank or server that
  /// stores most. It holds parts and encoded copies, which have no other
  /// place.
  int64_t keptBytes = 0;
};

/// The bytes of a message that servers sum; 0 if ranks sum it.
int64_t servedBytes(const ClusterModel &cluster, const Message &message,
                    const AllReduceForm &form);

/// The stages of a message, in order. Parts consist of whole elements. `server`
/// is the server that sums the whole message if servers do; -1: each server
/// sums a part.
///
/// If collectives can't reduce the wire's values, each all_reduce of the form
/// is scatter-gather (docs/Semantics.md, "Encodings"): encode in parts,
/// all_to_all, decode and reduce the terms, encode, all_gather, decode. The
/// collectives around it send elements as they are. All axes at once are then
/// flat, axis by axis keeps the outermost axis for the all_reduce, and ranks
/// sum instead of servers.
std::vector<MessageStage> expandMessage(const ClusterModel &cluster,
                                        const Message &message,
                                        const AllReduceForm &form,
                                        int64_t server = -1);

struct PricedForm {
  AllReduceForm form;
  /// The time of one collective after the other, each with its launch, while
  /// nothing else uses the links.
  double ns = 0;
};

/// The allowed form that takes least time for `bytes`; ties go to the simpler
/// form. All passes that price a bucket use this price, so that their decisions
/// agree.
PricedForm cheapestForm(const ClusterModel &cluster, int64_t bytes,
                        AxisSet over, AllowedForms allowed);

/// The same for a message, in its encoding.
PricedForm cheapestForm(const ClusterModel &cluster, const Message &message,
                        AllowedForms allowed);

/// The form of one kind with its cheapest inner axes.
AllReduceForm formOfKind(const ClusterModel &cluster, int64_t bytes,
                         AxisSet over, FormKind kind);
AllReduceForm formOfKind(const ClusterModel &cluster, const Message &message,
                         FormKind kind);

/// The price of a message of `bytes` for rules that merge and cut. Launches are
/// included; encoding is not, because it runs beside other messages. Encoded
/// gradients are float32.
double messageNs(const ClusterModel &cluster, int64_t bytes, AxisSet over,
                 Encoding wire, AllowedForms allowed);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_MESSAGE_H
