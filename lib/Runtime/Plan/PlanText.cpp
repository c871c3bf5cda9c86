//===- PlanText.cpp - A plan for people -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligned tables of tensors, instructions, contract and program, and totals.
// For reading and for FileCheck; JSON is for programs.
//
//===----------------------------------------------------------------------===//
#include "Features.h"
#include "Opcodes.h"
#include "PhaseTable.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <string>
#include <vector>

namespace bagua::runtime {
namespace {

/// A cell that is wider moves what is behind it in its row alone: a bucket of a
/// thousand tensors would make every row as long as its own.
constexpr size_t kMaxWidth = 1000;

/// Rows of cells, printed with columns as wide as their widest cell.
class TextTable {
public:
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.size() <= 1; }

  void print(std::string &out) const {
    std::vector<size_t> widths;
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i) {
        widths.resize(std::max(widths.size(), i + 1));
        widths[i] = std::max(widths[i], std::min(row[i].size(), kMaxWidth));
      }
    for (const auto &row : rows) {
      std::string line = " ";
      for (size_t i = 0; i < row.size(); ++i)
        absl::StrAppendFormat(&line, " %-*s", static_cast<int>(widths[i]),
                              row[i]);
      absl::StripTrailingAsciiWhitespace(&line);
      absl::StrAppend(&out, line, "\n");
    }
  }

private:
  std::vector<std::vector<std::string>> rows;
};

absl::string_view view(std::string_view text) {
  return {text.data(), text.size()};
}

absl::string_view nameOf(const flatbuffers::String *name) {
  return name ? absl::string_view(name->data(), name->size())
              : absl::string_view();
}

std::string typeName(fb::DataType type) {
  return std::string(dataTypeName(static_cast<DataType>(type)));
}

class PlanPrinter {
public:
  explicit PlanPrinter(const Plan &plan) : plan(plan), root(plan.root()) {}
  std::string print();

private:
  void printHeader();
  void printPrediction(const fb::Step &step);
  void printTensors();
  void printPhases();
  void printStep(uint32_t number);
  void printInstructions(uint32_t step);
  void printContract(const fb::Step &step);
  std::string relationToString(const fb::Relation &relation) const;
  void printProgram(const fb::Step &step);
  void printTotals();
  std::string usersToString(uint32_t tensor) const;

  std::string axesToString(const flatbuffers::Vector<uint32_t> *axes) const;
  std::string layoutToString(
      const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *layout)
      const;
  std::string tensorNames(const flatbuffers::Vector<uint32_t> *list) const;
  std::string encodingToString(const fb::Value &value) const;
  std::string valueToString(uint32_t value) const;
  std::string describeWaits(const fb::Instruction &op, uint32_t first) const;
  bool combines(const fb::Instruction &op) const;
  int64_t maxBytes(const fb::Value &value) const;

  const Plan &plan;
  const fb::Plan &root;
  std::string out;
};

std::string
PlanPrinter::axesToString(const flatbuffers::Vector<uint32_t> *axes) const {
  std::vector<absl::string_view> names;
  if (axes)
    for (uint32_t axis : *axes)
      names.push_back(nameOf(root.cluster()->axes()->Get(axis)->name()));
  return absl::StrCat("[", absl::StrJoin(names, ", "), "]");
}

std::string PlanPrinter::layoutToString(
    const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *layout)
    const {
  std::vector<std::string> entries;
  if (layout)
    for (const fb::LayoutEntry *entry : *layout) {
      std::string text = snakeCase(fb::EnumNameLayoutKind(entry->kind()));
      if (entry->kind() != fb::LayoutKind::Server)
        absl::StrAppend(&text, " ", axesToString(entry->axes()));
      else if (entry->server() >= 0)
        absl::StrAppend(&text, " ", entry->server());
      entries.push_back(text);
    }
  return entries.empty()
             ? ""
             : absl::StrCat(" <", absl::StrJoin(entries, ", "), ">");
}

std::string
PlanPrinter::tensorNames(const flatbuffers::Vector<uint32_t> *list) const {
  std::vector<absl::string_view> names;
  if (list)
    for (uint32_t tensor : *list)
      names.push_back(nameOf(root.tensors()->Get(tensor)->name()));
  return absl::StrJoin(names, ", ");
}

int64_t PlanPrinter::maxBytes(const fb::Value &value) const {
  return maxLocalBytes(value, plan.cluster());
}

std::string PlanPrinter::valueToString(uint32_t number) const {
  const fb::Value &value = *root.values()->Get(number);
  std::string place =
      value.arena() >= 0
          ? absl::StrCat(nameOf(root.arenas()->Get(value.arena())->name()), ":",
                         value.offset())
          : absl::StrCat(
                "'", nameOf(root.tensors()->Get(value.tensor())->name()), "'",
                value.offset() ? absl::StrCat(":", value.offset()) : "");
  return absl::StrCat(place, layoutToString(value.layout()),
                      encodingToString(value));
}

/// ` minmax_uint8<eps=0> parts [node]`; nothing for elements as they are.
std::string PlanPrinter::encodingToString(const fb::Value &value) const {
  const fb::ValueEncoding *encoding = value.encoding();
  if (!encoding)
    return "";
  std::string text = absl::StrCat(
      " ", encodingText(readEncoding(value).encoding, /*saysAll=*/true));
  for (auto [word, axes] : {std::pair("parts", encoding->parts()),
                            std::pair("terms", encoding->terms())})
    if (axes && axes->size() > 0)
      absl::StrAppend(&text, " ", word, " ", axesToString(axes));
  return text;
}

void PlanPrinter::printHeader() {
  absl::StrAppendFormat(&out, "plan '%s'", nameOf(root.name()));
  if (std::string strategies = strategiesOf(root); !strategies.empty())
    absl::StrAppendFormat(&out, ", strategy %s", strategies);
  absl::StrAppendFormat(&out, ", version %d.%d, fingerprint %016x\n",
                        root.version(), root.minor_version(),
                        root.fingerprint());
  if (root.size_scale() != 1)
    absl::StrAppendFormat(&out, "sizes    scaled by %g\n", root.size_scale());
  if (root.steps()->size() == 1)
    printPrediction(*root.steps()->Get(0));
  std::vector<std::string> axes;
  for (const fb::Axis *axis : *root.cluster()->axes())
    axes.push_back(absl::StrCat(nameOf(axis->name()), "=", axis->size()));
  absl::StrAppendFormat(&out, "cluster  %s: %d ranks",
                        absl::StrJoin(axes, " x "), plan.topology().ranks());
  if (plan.cluster().serverCount() > 0)
    absl::StrAppendFormat(&out, ", %d servers (%d dedicated)",
                          plan.cluster().serverCount(),
                          plan.topology().servers());
  std::vector<absl::string_view> streams;
  for (const flatbuffers::String *stream : *root.streams())
    streams.push_back(nameOf(stream));
  absl::StrAppend(&out, "\nstreams  ", absl::StrJoin(streams, ", "), "\n");
  for (const fb::Arena *arena : *root.arenas())
    absl::StrAppendFormat(&out, "arena    %s: %d bytes\n",
                          nameOf(arena->name()), arena->bytes());
}

void PlanPrinter::printPrediction(const fb::Step &step) {
  if (const fb::Prediction *prediction = step.prediction())
    absl::StrAppendFormat(
        &out,
        "step     predicted: %.3f ms, %.3f ms of it exposed; %d bytes sent\n",
        static_cast<double>(prediction->step_ns()) / 1e6,
        static_cast<double>(prediction->exposed_ns()) / 1e6,
        prediction->bytes_sent());
}

/// The numbers of the instructions of all steps that touch a tensor.
std::string PlanPrinter::usersToString(uint32_t tensor) const {
  std::vector<uint32_t> users;
  for (uint32_t i = 0; i < root.steps()->size(); ++i)
    if (auto *found = usersOf(*root.steps()->Get(i), tensor))
      for (uint32_t user : *found)
        users.push_back(plan.firstInstructionOf(i) + user);
  return absl::StrJoin(users, " ");
}

void PlanPrinter::printTensors() {
  TextTable table;
  table.add({"#", "name", "role", "type", "shape", "place", "given", "users"});
  for (uint32_t i = 0; i < root.tensors()->size(); ++i) {
    const fb::Tensor &tensor = *root.tensors()->Get(i);
    std::vector<int64_t> shape;
    if (tensor.shape())
      shape.assign(tensor.shape()->begin(), tensor.shape()->end());
    std::string place =
        tensor.arena() < 0
            ? "bound"
            : absl::StrCat(nameOf(root.arenas()->Get(tensor.arena())->name()),
                           ":", tensor.offset());
    const char *given = !tensor.given_by_program() ? "-"
                        : tensor.optional()        ? "optional"
                                                   : "yes";
    table.add({absl::StrCat(i), absl::StrCat("'", nameOf(tensor.name()), "'"),
               snakeCase(fb::EnumNameRole(tensor.role())),
               typeName(tensor.type()),
               absl::StrCat("[", absl::StrJoin(shape, "x"), "]",
                            layoutToString(tensor.layout())),
               place, given, usersToString(i)});
  }
  absl::StrAppend(&out, "\ntensors\n");
  table.print(out);
}

/// `first` is the number of the step's first instruction.
std::string PlanPrinter::describeWaits(const fb::Instruction &op,
                                       uint32_t first) const {
  std::vector<std::string> waits;
  if (op.ready() && op.ready()->size() > 0)
    waits.push_back(absl::StrCat("ready ", tensorNames(op.ready())));
  auto numbers = [&](const flatbuffers::Vector<uint32_t> *list,
                     const char *what) {
    if (!list || list->size() == 0)
      return;
    waits.push_back(what);
    for (uint32_t number : *list)
      absl::StrAppend(&waits.back(), " ", first + number);
  };
  numbers(op.after(), "after");
  numbers(op.after_previous(), "after previous step's");
  return absl::StrJoin(waits, "; ");
}

/// Whether it has a kind of reduction: of ranks' values, or of encoded terms.
bool PlanPrinter::combines(const fb::Instruction &op) const {
  if (kindOf(op.opcode()) == InstructionKind::Decode) {
    const fb::Value &terms = *root.values()->Get(op.inputs()->Get(0));
    return !readEncoding(terms).terms.empty();
  }
  auto collective = collectiveOf(op);
  return collective && isReduction(*collective);
}

void PlanPrinter::printInstructions(uint32_t step) {
  const auto &instructions = *root.steps()->Get(step)->instructions();
  const uint32_t first = plan.firstInstructionOf(step);
  TextTable table;
  table.add({"#", "stream", "op", "bytes", "group", "values", "waits", "name"});
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const fb::Instruction &op = *instructions.Get(i);
    std::string name = snakeCase(fb::EnumNameOpcode(op.opcode()));
    if (const UpdateRow *row = updateOf(op); row && !row->hasOwnOp())
      absl::StrAppend(&name, " ", view(row->word));
    if (combines(op))
      absl::StrAppend(&name, " ",
                      view(reduceKindName(static_cast<ReduceKind>(op.kind()))));
    int64_t bytes = 0;
    std::vector<std::string> inputs, outputs;
    if (op.inputs())
      for (uint32_t value : *op.inputs()) {
        bytes += maxBytes(*root.values()->Get(value));
        inputs.push_back(valueToString(value));
      }
    if (op.outputs())
      for (uint32_t value : *op.outputs())
        outputs.push_back(valueToString(value));
    std::string group =
        op.axes() && op.axes()->size() > 0 ? axesToString(op.axes()) : "";
    table.add({absl::StrCat(first + i),
               std::string(nameOf(root.streams()->Get(op.stream()))), name,
               absl::StrCat(bytes), group,
               absl::StrCat(absl::StrJoin(inputs, ", "), " -> ",
                            absl::StrJoin(outputs, ", ")),
               describeWaits(op, first), std::string(nameOf(op.name()))});
  }
  absl::StrAppend(&out, "\ninstructions\n");
  table.print(out);
}

std::string PlanPrinter::relationToString(const fb::Relation &relation) const {
  absl::string_view of = nameOf(root.tensors()->Get(relation.of())->name());
  std::string what = absl::StrCat(
      view(reduceKindName(static_cast<ReduceKind>(relation.reduce()))), " of '",
      of, "'");
  switch (relation.relation()) {
  case fb::RelationKind::Reduced:
  case fb::RelationKind::Updated:
    break;
  case fb::RelationKind::AllToAll:
    what = absl::StrCat("all_to_all of '", of, "' split ", relation.split_dim(),
                        " concat ", relation.concat_dim());
    break;
  case fb::RelationKind::Scattered:
    absl::StrAppend(&what, " split ", relation.split_dim());
    break;
  case fb::RelationKind::Gathered:
    what =
        absl::StrCat("all_gather of '", of, "' concat ", relation.concat_dim());
    break;
  case fb::RelationKind::Permuted:
    what = absl::StrCat("permute of '", of, "'");
    break;
  case fb::RelationKind::Scaled:
    return absl::StrCat(relation.coefficient(), " * '", of, "'");
  case fb::RelationKind::Broadcast:
    what = absl::StrCat("broadcast of '", of, "'");
    break;
  }
  if (const fb::Update *update = relation.update())
    what = absl::StrCat(view(updateOf(*update)->word), " (",
                        tensorNames(update->states()), ") by ", what);
  return absl::StrCat(what, " over ", axesToString(relation.axes()));
}

void PlanPrinter::printContract(const fb::Step &step) {
  absl::StrAppend(&out, "\ncontract\n");
  for (const fb::Relation *relation : *step.contract())
    absl::StrAppendFormat(
        &out, "  '%s' = %s\n",
        nameOf(root.tensors()->Get(relation->tensor())->name()),
        relationToString(*relation));
}

void PlanPrinter::printProgram(const fb::Step &step) {
  if (!step.program() || step.program()->size() == 0)
    return;
  TextTable table;
  table.add({"phase", "ns", "op", "waits", "gives"});
  for (const fb::ProgramOp *op : *step.program())
    table.add({snakeCase(fb::EnumNameComputePhase(op->phase())) +
                   (op->late() ? " late" : ""),
               absl::StrCat(op->cost_ns()),
               absl::StrCat("'", nameOf(op->name()), "'"),
               tensorNames(op->waits()), tensorNames(op->gives())});
  absl::StrAppend(&out, "\nprogram\n");
  table.print(out);
}

void PlanPrinter::printTotals() {
  int64_t given = 0, givenBytes = 0, collectives = 0, bytes = 0, cost = 0;
  for (const fb::Tensor *tensor : *root.tensors()) {
    if (!tensor->given_by_program())
      continue;
    ++given;
    int64_t count = 1;
    if (tensor->shape())
      for (int64_t size : *tensor->shape())
        count *= size;
    givenBytes +=
        maxLocalCount(count, readLayout(tensor->layout()), plan.cluster()) *
        dataTypeBytes(static_cast<DataType>(tensor->type()));
  }
  for (uint32_t i = 0; i < plan.instructionCount(); ++i) {
    const fb::Instruction &op = plan.instruction(i);
    cost += op.cost_ns();
    if (!op.axes() || op.axes()->size() == 0)
      continue;
    ++collectives;
    for (uint32_t value : *op.inputs())
      bytes += maxBytes(*root.values()->Get(value));
  }
  absl::StrAppendFormat(&out,
                        "\ntotals   %d tensors given (%d bytes), %d "
                        "instructions, %d collectives of %d bytes",
                        given, givenBytes, plan.instructionCount(), collectives,
                        bytes);
  if (cost > 0)
    absl::StrAppendFormat(&out, ", predicted %d ns", cost);
  absl::StrAppend(&out, "\n");
}

void PlanPrinter::printPhases() {
  absl::StrAppend(&out, "\nphases\n");
  TextTable table;
  for (const fb::Phase *phase : *root.phases())
    table.add({absl::StrCat(
                   "'", nameOf(root.steps()->Get(phase->step())->name()), "'"),
               describePhase(*phase)});
  table.print(out);
}

/// The only step has no header: the plan has its name.
void PlanPrinter::printStep(uint32_t number) {
  const fb::Step &step = *root.steps()->Get(number);
  if (root.steps()->size() > 1) {
    absl::StrAppendFormat(&out, "\nstep '%s'\n", nameOf(step.name()));
    printPrediction(step);
  }
  printInstructions(number);
  printContract(step);
  printProgram(step);
}

std::string PlanPrinter::print() {
  printHeader();
  printTensors();
  if (root.steps()->size() > 1)
    printPhases();
  for (uint32_t i = 0; i < root.steps()->size(); ++i)
    printStep(i);
  printTotals();
  return std::move(out);
}

} // namespace

std::string planToText(const Plan &plan) { return PlanPrinter(plan).print(); }

} // namespace bagua::runtime
