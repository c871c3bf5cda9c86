//===- StateRecognition.cpp - Pairs of state, roles, and shapes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the result that is the next value of each argument, and each argument's
// role in training. Names decide where there are any; data flow decides the
// rest.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/StateRecognition.h"

#include "StableHLO/Reading/TreePath.h"
#include "StableHLO/Recognition/KeptAlike.h"
#include "StableHLO/Recognition/Naming.h"
#include "StableHLO/Recognition/Rewrites.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <set>
#include <utility>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

std::vector<ValueId> bagua::importer::elementwiseRegion(const Graph &graph,
                                                        ValueId root) {
  std::vector<ValueId> region = {root};
  llvm::DenseSet<ValueId> seen = {root};
  for (size_t next = 0; next < region.size(); ++next) {
    const FlatOp *def = graph.defOf(region[next]);
    if (!def || !Graph::isElementwise(def->kind))
      continue;
    for (ValueId operand : def->operands)
      if (graph.countOf(operand) == graph.countOf(root) &&
          !graph.values[operand].isStatic && seen.insert(operand).second)
        region.push_back(operand);
  }
  return region;
}

/// Finds an entry by position or by tree path; `what` is "an argument" or "a
/// result".
template <typename T>
static FailureOr<unsigned> findNamed(const Graph &graph, ArrayRef<T> entries,
                                     const Position &position, StringRef what) {
  if (const auto *index = std::get_if<int64_t>(&position)) {
    if (*index >= 0 && *index < static_cast<int64_t>(entries.size()))
      return static_cast<unsigned>(*index);
    return emitError(graph.loc)
           << "expected the mapping to name " << what << " below "
           << entries.size() << ", found " << *index;
  }
  const auto &path = std::get<std::string>(position);
  for (auto [index, entry] : llvm::enumerate(entries))
    if (entry.path == path)
      return static_cast<unsigned>(index);
  return emitError(graph.loc) << "expected the mapping to name " << what
                              << ", found '" << path << "'";
}

FailureOr<unsigned> bagua::importer::findOutput(const Graph &graph,
                                                const Position &position) {
  return findNamed(graph, ArrayRef(graph.outputs), position, "a result");
}

namespace {
class StateFinder {
public:
  StateFinder(Graph &graph, const Mapping &mapping, ImportedStep &model)
      : graph(graph), mapping(mapping), model(model),
        outputOf(graph.arguments.size(), kNone),
        argumentOf(graph.outputs.size(), kNone), roles(graph.arguments.size()),
        names(graph.arguments.size()), varies(graph.arguments.size(), 0) {}

  LogicalResult run();

private:
  LogicalResult applyMapping();
  FailureOr<unsigned> findArgument(const Position &position);
  LogicalResult pair(unsigned argument, unsigned output);
  void pairByPath();
  LogicalResult pairByAlias();
  LogicalResult pairByPosition();
  void pairWithoutDonors();
  std::vector<SmallVector<unsigned, 4>> findOldValues();
  void pairByDataFlow();
  LogicalResult checkAgainstPaths(ArrayRef<int32_t> byPath);
  LogicalResult checkPairs();
  void peelStacked();
  void findOwn(ArrayRef<std::optional<Role>> mapped);
  void inferRoles();
  std::vector<bool> findModel();
  std::vector<int32_t> findReachedStates();
  void inferRolesByDataFlow();
  bool canPair(unsigned argument, unsigned output) const;

  Graph &graph;
  const Mapping &mapping;
  ImportedStep &model;
  std::vector<int32_t> outputOf;
  std::vector<int32_t> argumentOf;
  std::vector<std::optional<Role>> roles;
  std::vector<std::string> names;
  /// Axes over which ranks disagree about a state.
  std::vector<AxisMask> varies;
  bool hasDonors = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

FailureOr<unsigned> StateFinder::findArgument(const Position &position) {
  return findNamed(graph, ArrayRef(graph.arguments), position, "an argument");
}

bool StateFinder::canPair(unsigned argument, unsigned output) const {
  return outputOf[argument] == kNone && argumentOf[output] == kNone &&
         graph.values[graph.arguments[argument].value].type ==
             graph.values[graph.outputs[output].value].type;
}

LogicalResult StateFinder::pair(unsigned argument, unsigned output) {
  const Argument &info = graph.arguments[argument];
  if (!canPair(argument, output))
    return emitError(info.loc)
           << "expected argument " << argument << " of type "
           << graph.values[info.value].type << " and result " << output
           << " of type " << graph.values[graph.outputs[output].value].type
           << " to be one state, in one pair and of one type";
  outputOf[argument] = static_cast<int32_t>(output);
  argumentOf[output] = static_cast<int32_t>(argument);
  return success();
}

LogicalResult StateFinder::applyMapping() {
  for (const Mapping::State &state : mapping.states) {
    FailureOr<unsigned> argument = findArgument(state.argument);
    FailureOr<unsigned> output = findOutput(graph, state.result);
    if (failed(argument) || failed(output) || failed(pair(*argument, *output)))
      return failure();
    roles[*argument] = state.role;
    names[*argument] = state.name;
  }
  for (const Mapping::Input &input : mapping.inputs) {
    FailureOr<unsigned> argument = findArgument(input.argument);
    if (failed(argument))
      return failure();
    roles[*argument] = input.role;
    names[*argument] = input.name;
  }
  return success();
}

/// The path without the part that differs between arguments and results: the
/// argument's name, or the result's position.
static std::string suffixOf(const std::string &path, bool isResult) {
  SmallVector<std::string, 4> components = parseTreePath(path);
  ArrayRef<std::string> rest = components;
  if (isResult && !rest.empty() && rest.front() == "result")
    rest = rest.drop_front();
  if (rest.empty())
    return "";
  return joinPath(rest.drop_front());
}

/// The first component: the argument's name, or the result's position.
static std::string groupOf(const std::string &path, bool isResult) {
  SmallVector<std::string, 4> components = parseTreePath(path);
  size_t first = isResult && components.size() > 1 && components[0] == "result";
  return components.size() > first ? components[first] : "";
}

/// Pairs arguments and results of equal type and tree path. If several results
/// have the path (two trees with the same names), the argument gets the one in
/// the tree that has its other paths.
void StateFinder::pairByPath() {
  llvm::StringMap<SmallVector<unsigned, 2>> outputs;
  for (auto [index, output] : llvm::enumerate(graph.outputs))
    if (std::string suffix = suffixOf(output.path, true); !suffix.empty())
      outputs[suffix].push_back(index);
  auto candidatesOf = [&](unsigned argument) {
    SmallVector<unsigned, 2> candidates;
    const Argument &info = graph.arguments[argument];
    std::string suffix = suffixOf(info.path, false);
    if (!suffix.empty() && (info.isDonated || !hasDonors))
      for (unsigned output : outputs.lookup(suffix))
        if (canPair(argument, output))
          candidates.push_back(output);
    return candidates;
  };
  llvm::StringMap<llvm::StringMap<unsigned>> votes;
  for (unsigned i = 0; i < graph.arguments.size(); ++i) {
    SmallVector<unsigned, 2> candidates = candidatesOf(i);
    if (candidates.size() == 1)
      ++votes[groupOf(graph.arguments[i].path, false)]
             [groupOf(graph.outputs[candidates[0]].path, true)];
  }
  for (unsigned i = 0; i < graph.arguments.size(); ++i) {
    SmallVector<unsigned, 2> candidates = candidatesOf(i);
    auto &group = votes[groupOf(graph.arguments[i].path, false)];
    auto votesOf = [&](unsigned output) {
      return group.lookup(groupOf(graph.outputs[output].path, true));
    };
    llvm::stable_sort(candidates, [&](unsigned a, unsigned b) {
      return votesOf(a) > votesOf(b);
    });
    bool isClear = candidates.size() == 1 ||
                   (candidates.size() > 1 &&
                    votesOf(candidates[0]) > votesOf(candidates[1]));
    if (isClear)
      (void)pair(i, candidates[0]);
  }
}

/// Pairs by aliasing. An alias only says which buffer is reused, so this comes
/// last, for arguments that nothing else pairs.
LogicalResult StateFinder::pairByAlias() {
  for (auto [index, argument] : llvm::enumerate(graph.arguments))
    if (argument.aliasedOutput != kNone && outputOf[index] == kNone &&
        argumentOf[argument.aliasedOutput] == kNone &&
        failed(pair(index, argument.aliasedOutput)))
      return failure();
  return success();
}

/// Pairs what is left: as many donated arguments as results of a type, in their
/// order, if each result depends on its argument. A random key without a name
/// is one. Since a program may mean something else, a remark says so.
LogicalResult StateFinder::pairByPosition() {
  llvm::MapVector<Type, std::pair<std::vector<unsigned>, std::vector<unsigned>>>
      left;
  for (auto [index, argument] : llvm::enumerate(graph.arguments))
    if (argument.isDonated && outputOf[index] == kNone && !roles[index])
      left[graph.values[argument.value].type].first.push_back(index);
  for (auto [index, output] : llvm::enumerate(graph.outputs))
    if (argumentOf[index] == kNone)
      left[graph.values[output.value].type].second.push_back(index);
  for (auto &[type, entries] : left) {
    auto &[arguments, outputs] = entries;
    if (arguments.size() != outputs.size())
      continue;
    auto isComputed = [&](auto entry) -> bool {
      auto [argument, output] = entry;
      return dependents(
          graph, graph.arguments[argument].value)[graph.outputs[output].value];
    };
    if (!llvm::all_of(llvm::zip_equal(arguments, outputs), isComputed))
      continue;
    for (auto [argument, output] : llvm::zip_equal(arguments, outputs)) {
      const Argument &info = graph.arguments[argument];
      emitRemark(info.loc)
          << "takes result " << output << " for the next value of argument "
          << argument << (info.path.empty() ? "" : " '" + info.path + "'")
          << ", by type and position: neither data flow nor paths tell; a "
             "mapping file can";
      if (failed(pair(argument, output)))
        return failure();
    }
  }
  return success();
}

/// Whether an op gives its operand another shape with as many elements.
static bool isSameElements(const Graph &graph, const FlatOp &op) {
  return (op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast) &&
         graph.countOf(op.operands[0]) == graph.countOf(op.results[0]);
}

/// Whether an op takes some of its operand's elements, as a rank takes its
/// part.
static bool isCut(const FlatOp &op) {
  StringRef name = op.source ? op.source->getName().stripDialect() : "";
  return name == "dynamic_slice" || name == "slice";
}

/// Whether both have a path, and the same path inside their trees.
static bool agree(const std::string &argument, const std::string &result) {
  std::string suffix = suffixOf(argument, false);
  return !suffix.empty() && suffix == suffixOf(result, true);
}

/// By output: the arguments of its type from which it is computed element by
/// element, or part by part on each rank, other than through another output
/// (the next params are computed from the next moments, but are no next value
/// of moments). If no argument is donated, any input may be an old value, so
/// paths must agree. An argument that is returned unchanged may be saved in
/// another argument's place if that one's next value is computed from it, too.
std::vector<SmallVector<unsigned, 4>> StateFinder::findOldValues() {
  std::vector<ValueId> inner;
  for (const Output &output : graph.outputs) {
    ValueId value = output.value;
    while (const FlatOp *def = graph.defOf(value)) {
      if (!isSameElements(graph, *def))
        break;
      value = def->operands[0];
    }
    inner.push_back(value);
  }
  llvm::DenseSet<ValueId> ends;
  for (ValueId value : inner)
    if (graph.defOf(value))
      ends.insert(value);
  std::vector<SmallVector<unsigned, 4>> found(graph.outputs.size());
  for (auto [index, output] : llvm::enumerate(graph.outputs)) {
    // Values, and whether each is the rank's part of a gathered value.
    using Visit = std::pair<ValueId, bool>;
    SmallVector<Visit> pending = {{inner[index], false}};
    std::set<Visit> seen(pending.begin(), pending.end());
    auto follow = [&](ValueId value, bool isPart) {
      if (!graph.values[value].isStatic && !ends.contains(value) &&
          seen.insert({value, isPart}).second)
        pending.push_back({value, isPart});
    };
    while (!pending.empty()) {
      auto [value, isPart] = pending.pop_back_val();
      bool mayBe =
          value < static_cast<ValueId>(graph.arguments.size()) &&
          (graph.arguments[value].isDonated ||
           (!hasDonors && agree(graph.arguments[value].path, output.path)));
      if (mayBe && graph.values[value].type == graph.values[output.value].type)
        found[index].push_back(value);
      const FlatOp *def = graph.defOf(value);
      if (def && def->kind == OpKind::AllGather)
        follow(def->operands[0], true);
      if (def && isPart && isCut(*def))
        follow(def->operands[0], false);
      if (!def ||
          !(Graph::isElementwise(def->kind) || isSameElements(graph, *def)))
        continue;
      for (ValueId operand : def->operands)
        if (graph.countOf(operand) == graph.countOf(value))
          follow(operand, isPart);
    }
    llvm::sort(found[index]);
  }
  for (auto [index, value] : llvm::enumerate(inner)) {
    bool isOthersToo = llvm::count_if(found, [&, v = value](const auto &list) {
                         return llvm::is_contained(list, v);
                       }) > 1;
    if (value < static_cast<ValueId>(graph.arguments.size()) && isOthersToo)
      found[index].clear();
  }
  return found;
}

/// Pairs each output with the old value from which it is computed. Outputs with
/// a single candidate come first, which leaves the others with fewer. An
/// argument that is the only candidate of several outputs goes to none of them.
void StateFinder::pairByDataFlow() {
  std::vector<SmallVector<unsigned, 4>> candidates = findOldValues();
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<unsigned> claims(graph.arguments.size(), 0);
    for (auto [index, list] : llvm::enumerate(candidates)) {
      llvm::erase_if(list, [&, i = static_cast<unsigned>(index)](unsigned a) {
        return !canPair(a, i);
      });
      if (list.size() == 1)
        ++claims[list[0]];
    }
    for (auto [index, list] : llvm::enumerate(candidates))
      if (list.size() == 1 && claims[list[0]] == 1)
        changed |= succeeded(pair(list[0], index));
  }
}

/// Pairs the first arguments with the first results, where nothing is donated
/// and nothing has a name: as many as have the same types and dependences, if
/// all further results are single numbers. A remark says so.
void StateFinder::pairWithoutDonors() {
  auto hasName = [](const Argument &argument) {
    return !argument.path.empty() && !isNumbered(argument.path);
  };
  auto isPaired = [](int32_t output) { return output != kNone; };
  if (hasDonors || llvm::any_of(graph.arguments, hasName) ||
      llvm::any_of(outputOf, isPaired))
    return;
  unsigned count = 0;
  size_t most = std::min(graph.arguments.size(), graph.outputs.size());
  while (count < most && !roles[count] && canPair(count, count) &&
         dependents(graph,
                    graph.arguments[count].value)[graph.outputs[count].value])
    ++count;
  bool areNumbers = llvm::all_of(
      ArrayRef(graph.outputs).drop_front(count),
      [&](const Output &output) { return graph.countOf(output.value) == 1; });
  if (count == 0 || !areNumbers)
    return;
  emitRemark(graph.loc) << "takes the first " << count
                        << " results for the next values of the first " << count
                        << " arguments, by their types, as no argument is "
                           "donated; a mapping file can name others";
  for (unsigned i = 0; i < count; ++i)
    (void)pair(i, i);
}

/// Checks that data flow and tree paths, each by itself, give no different
/// pairs.
LogicalResult StateFinder::checkAgainstPaths(ArrayRef<int32_t> byPath) {
  for (auto [index, output] : llvm::enumerate(byPath)) {
    if (output == kNone || outputOf[index] == kNone ||
        outputOf[index] == output)
      continue;
    const Argument &info = graph.arguments[index];
    return emitError(info.loc)
           << "expected one next value of argument " << index << " '"
           << info.path << "', found result " << outputOf[index]
           << ", which is computed from it, and result " << output << " '"
           << graph.outputs[output].path
           << "', which has its path; a mapping file can name it";
  }
  return success();
}

LogicalResult StateFinder::checkPairs() {
  for (auto [index, argument] : llvm::enumerate(graph.arguments))
    if (argument.isDonated && outputOf[index] == kNone &&
        !(roles[index] &&
          (*roles[index] == Role::Batch || *roles[index] == Role::Input)))
      return emitError(argument.loc)
             << "expected one result of type "
             << graph.values[argument.value].type
             << " as the next value of donated argument " << index
             << (argument.path.empty() ? "" : " '" + argument.path + "'")
             << ", found none or several; a mapping file can name it";
  if (llvm::all_of(outputOf, [](int32_t output) { return output == kNone; }))
    return emitError(graph.loc)
           << "expected state, by tf.aliasing_output, donated arguments or a "
              "mapping file, found none";
  return success();
}

//===----------------------------------------------------------------------===//
// Stacked steps
//===----------------------------------------------------------------------===//

static bool hasLeadingOne(RankedTensorType type) {
  return type.getRank() > 0 && type.getDimSize(0) == 1;
}

static bool isWithoutLeadingOne(RankedTensorType type, RankedTensorType full) {
  return hasLeadingOne(full) && type.getShape() == full.getShape().drop_front();
}

/// Removes the leading 1 of a stacked step. There each value has a leading 1
/// for its replica, which a reshape removes first and a broadcast restores
/// last. Without it, the same model has the same types in every exported form.
void StateFinder::peelStacked() {
  if (graph.deviceCount() == 1)
    return;
  auto isStacked = [&](ValueId value) {
    return hasLeadingOne(graph.values[value].type);
  };
  bool isAllStacked =
      llvm::all_of(graph.arguments,
                   [&](auto &info) { return isStacked(info.value); }) &&
      llvm::all_of(graph.outputs,
                   [&](auto &info) { return isStacked(info.value); });
  Uses uses = graph.computeUses();
  Replacements replacements(graph);
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    bool isState = outputOf[index] != kNone;
    RankedTensorType full = graph.values[argument.value].type;
    // A state is changed only if all states are stacked: a leading 1 may be the
    // model's own.
    if (isState && !isAllStacked)
      continue;
    ArrayRef<OpId> users = uses.of(argument.value);
    RankedTensorType peeled;
    for (OpId user : users) {
      const FlatOp &op = graph.ops[user];
      if (op.kind == OpKind::Reshape)
        peeled = graph.values[op.results[0]].type;
      if (op.kind != OpKind::Reshape || !isWithoutLeadingOne(peeled, full)) {
        peeled = nullptr;
        break;
      }
    }
    if (!peeled)
      continue;
    if (isState) {
      Output &output = graph.outputs[outputOf[index]];
      FlatOp *def = graph.defOf(output.value);
      bool restores =
          def &&
          (def->kind == OpKind::Reshape || def->kind == OpKind::Broadcast) &&
          graph.values[def->operands[0]].type == peeled;
      if (!restores)
        continue;
      output.value = def->operands[0];
    }
    graph.values[argument.value].type = peeled;
    if (isState || peeled.getRank() == 0)
      argument.own |= std::exchange(argument.sharded, 0);
    for (OpId user : users) {
      replacements.add(graph.ops[user].results[0], argument.value);
      graph.ops[user].isDead = true;
    }
  }
  replacements.apply(graph);
  graph.removeDeadOps();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Values that the model uses: those from which reduced values are computed or,
/// in a step that reduces nothing, those from which ops that mix elements of
/// the batch compute. O(ops).
std::vector<bool> StateFinder::findModel() {
  std::vector<ValueId> batch;
  for (auto [index, argument] : llvm::enumerate(graph.arguments))
    if (roles[index] == Role::Batch)
      batch.push_back(argument.value);
  std::vector<bool> dependsOnBatch = dependents(graph, batch);
  auto isReducing = [&](const FlatOp &op) {
    return !op.isDead && isReduction(op.kind) && dependsOnBatch[op.operands[0]];
  };
  bool reduces = llvm::any_of(graph.ops, isReducing);
  std::vector<bool> isModel(graph.values.size(), false);
  for (const FlatOp &op : llvm::reverse(graph.ops)) {
    if (op.isDead)
      continue;
    bool mixes =
        !reduces && (op.kind == OpKind::Pure || op.kind == OpKind::Opaque);
    bool isUsed =
        isReducing(op) || llvm::any_of(op.results, [&](ValueId result) {
          return isModel[result] || (mixes && dependsOnBatch[result]);
        });
    for (ValueId operand : op.operands)
      isModel[operand] = isModel[operand] || isUsed;
  }
  return isModel;
}

/// By value: the argument whose next value it reaches; kNone if it reaches
/// none, another negative number if several. O(ops).
std::vector<int32_t> StateFinder::findReachedStates() {
  std::vector<int32_t> reaches(graph.values.size(), kNone);
  constexpr int32_t kMany = -2;
  auto merge = [&](int32_t &known, int32_t state) {
    if (state != kNone)
      known = known == kNone || known == state ? state : kMany;
  };
  for (auto [index, output] : llvm::enumerate(graph.outputs))
    if (argumentOf[index] != kNone)
      merge(reaches[output.value], argumentOf[index]);
  for (const FlatOp &op : llvm::reverse(graph.ops)) {
    if (op.isDead)
      continue;
    int32_t reached = kNone;
    for (ValueId result : op.results)
      merge(reached, reaches[result]);
    for (ValueId operand : op.operands)
      merge(reaches[operand], reached);
  }
  return reaches;
}

/// Infers roles if names don't tell them. Params are used by the model and
/// updated from their old value, or from that of an optimizer's state, of which
/// they are copies. Optimizer state is used by updates only. Buffers influence
/// no other state.
void StateFinder::inferRolesByDataFlow() {
  std::vector<bool> isModel = findModel();
  std::vector<int32_t> reaches = findReachedStates();
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    if (roles[index])
      continue;
    ValueId next = graph.outputs[outputOf[index]].value;
    std::vector<ValueId> region = elementwiseRegion(graph, next);
    bool isUpdated = llvm::any_of(region, [&](ValueId value) {
      return value == argument.value ||
             (value < static_cast<ValueId>(graph.arguments.size()) &&
              outputOf[value] != kNone && !isModel[value]);
    });
    int32_t reached = reaches[argument.value];
    if (isModel[argument.value])
      roles[index] = isUpdated ? Role::Param : Role::Buffer;
    else if (reached == static_cast<int32_t>(index) || reached == kNone)
      roles[index] = Role::Buffer;
    else
      roles[index] = Role::Optimizer;
  }
}

/// Treats the copies of a pmap that the step keeps alike as one value. Other
/// inputs of which ranks have copies belong to the batch.
void StateFinder::findOwn(ArrayRef<std::optional<Role>> mapped) {
  std::vector<Copy> copies;
  for (unsigned i = 0; i < graph.arguments.size(); ++i)
    copies.push_back({outputOf[i], !roles[i] || *roles[i] != Role::Batch});
  std::vector<AxisMask> kept = findKeptAlike(graph, copies);
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    bool isState = outputOf[index] != kNone;
    AxisMask differing = argument.own & ~kept[index];
    if (isState)
      varies[index] = argument.sharded | differing;
    else if (differing && !mapped[index] && roles[index] == Role::Input)
      roles[index] = Role::Batch;
  }
}

void StateFinder::inferRoles() {
  std::vector<std::optional<Role>> mapped = roles;
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    if (roles[index])
      continue;
    if (outputOf[index] != kNone)
      roles[index] = roleByName(argument.path);
    else if (graph.values[argument.value].type.getRank() == 0 ||
             argument.isSame)
      roles[index] = Role::Input;
    else
      roles[index] =
          graph.isManual && argument.sharded == 0 ? Role::Input : Role::Batch;
  }
  findOwn(mapped);
  if (llvm::any_of(roles, [](auto &role) { return !role; }))
    inferRolesByDataFlow();
}

LogicalResult StateFinder::run() {
  hasDonors = llvm::any_of(graph.arguments,
                           [](auto &argument) { return argument.isDonated; });
  if (failed(applyMapping()))
    return failure();
  std::vector<int32_t> mappedOutputs = outputOf, mappedArguments = argumentOf;
  pairByPath();
  std::vector<int32_t> byPath = std::exchange(outputOf, mappedOutputs);
  argumentOf = mappedArguments;
  pairByDataFlow();
  if (failed(checkAgainstPaths(byPath)))
    return failure();
  pairByPath();
  if (failed(pairByAlias()) || failed(pairByPosition()))
    return failure();
  pairWithoutDonors();
  if (failed(checkPairs()))
    return failure();
  peelStacked();
  inferRoles();
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    StepArgument &info = model.arguments.emplace_back();
    info.argument = index;
    info.role = *roles[index];
    info.output = outputOf[index];
    info.name = names[index];
    bool isState = info.isState();
    if (isState == (info.role == Role::Batch || info.role == Role::Input))
      return emitError(argument.loc)
             << "expected " << (isState ? "a role of state" : "batch or input")
             << " for argument " << index << ", found "
             << stringifyRole(info.role);
    info.varies = varies[index];
    if (info.role == Role::Batch)
      model.dataAxes |= graph.isManual ? argument.sharded | argument.own
                                       : graph.mesh.allAxes();
  }
  nameArguments(graph, model.arguments);
  if (model.dataAxes == 0)
    return emitError(graph.loc)
           << "expected a batch argument that differs over the mesh "
           << graph.mesh.str() << ", found none";
  return success();
}

std::vector<bool>
bagua::importer::dependentsOfBatch(const Graph &graph,
                                   const ImportedStep &model) {
  std::vector<ValueId> batch;
  for (const StepArgument &argument : model.arguments)
    if (argument.role == Role::Batch)
      batch.push_back(graph.arguments[argument.argument].value);
  return dependents(graph, batch);
}

LogicalResult bagua::importer::findState(Graph &graph, const Mapping &mapping,
                                         ImportedStep &model) {
  return StateFinder(graph, mapping, model).run();
}
