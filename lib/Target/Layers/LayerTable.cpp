//===- LayerTable.cpp - Layers with tensors and times ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads CSV and PipeDream profiles.
//
//===----------------------------------------------------------------------===//
#include "LayerTable.h"

#include "CsvReader.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace bagua::importer;

namespace {
class TableReader {
public:
  TableReader(MLIRContext *context, StringRef text, StringRef fileName)
      : context(context), text(text), fileName(fileName) {
    text.split(lines, '\n');
  }

  FailureOr<LayerTable> readCsv();
  FailureOr<LayerTable> readPipeDream();

private:
  struct Columns {
    llvm::StringMap<unsigned> index;
    StringRef get(ArrayRef<std::string> cells, StringRef name) const {
      auto found = index.find(name);
      return found == index.end() ? StringRef() : cells[found->second];
    }
  };
  struct Node {
    Layer layer;
    bool isInput;
  };

  Location locOf(size_t line) {
    return FileLineColLoc::get(context, fileName, line + 1, 1);
  }
  RankedTensorType floats(int64_t bytes) {
    return RankedTensorType::get({std::max<int64_t>(1, bytes / 4)},
                                 Float32Type::get(context));
  }
  LogicalResult readTensor(StringRef item, Layer &layer,
                           llvm::StringSet<> &names);
  LogicalResult readTensors(StringRef text, Layer &layer);
  FailureOr<Columns> readHeader(ArrayRef<std::string> cells, Location loc);
  LogicalResult readRow(const Columns &columns, ArrayRef<std::string> cells,
                        Layer &layer, std::optional<int64_t> &ready);
  FailureOr<Node> readNode(StringRef line, size_t number);
  LogicalResult readEdges(const llvm::DenseMap<int64_t, unsigned> &indexOf,
                          const std::map<int64_t, Node> &nodes,
                          LayerTable &table);

  MLIRContext *context;
  StringRef text, fileName;
  SmallVector<StringRef> lines;
};
} // namespace

//===----------------------------------------------------------------------===//
// CSV
//===----------------------------------------------------------------------===//

/// The first `separator` without a backslash in front; npos if there is none.
static size_t findUnescaped(StringRef text, char separator) {
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\\')
      ++at;
    else if (text[at] == separator)
      return at;
  return StringRef::npos;
}

/// A name without the blanks around it and without the backslashes of escaped
/// characters; nothing if the text ends with a single backslash.
static std::optional<std::string> unescape(StringRef text) {
  std::string name;
  size_t kept = 0; // up to the last character that is not blank
  text = text.ltrim();
  while (!text.empty()) {
    bool isEscaped = text.consume_front("\\");
    if (text.empty())
      return std::nullopt;
    name += text.front();
    if (isEscaped || !llvm::isSpace(text.front()))
      kept = name.size();
    text = text.drop_front();
  }
  name.resize(kept);
  return name;
}

/// Reads `64x3x7x7xf32` or `bias=64xf32`, a tensor type without its brackets.
LogicalResult TableReader::readTensor(StringRef item, Layer &layer,
                                      llvm::StringSet<> &names) {
  size_t equals = findUnescaped(item, '=');
  bool isNamed = equals != StringRef::npos;
  std::optional<std::string> name =
      isNamed ? unescape(item.take_front(equals)) : std::string();
  StringRef shape = isNamed ? item.drop_front(equals + 1) : item;
  RankedTensorType type;
  {
    // The parser's own message would name a type that isn't in the file.
    ScopedDiagnosticHandler quiet(context,
                                  [](Diagnostic &) { return success(); });
    type = dyn_cast_or_null<RankedTensorType>(
        parseType(("tensor<" + shape.trim() + ">").str(), context));
  }
  if (!name || (isNamed && name->empty()) || !type || !type.hasStaticShape() ||
      type.getEncoding())
    return emitError(layer.loc)
           << "expected tensors such as 64x3x7x7xf32 or weight=64x3x7x7xf32, "
              "found '"
           << item.trim() << "'";
  if (isNamed && !names.insert(*name).second)
    return emitError(layer.loc)
           << "expected tensors of different names, found '" << *name
           << "' twice";
  layer.params.push_back({type, std::move(*name)});
  return success();
}

/// Reads tensors with `;` between them.
LogicalResult TableReader::readTensors(StringRef text, Layer &layer) {
  llvm::StringSet<> names;
  while (!text.empty()) {
    size_t end = findUnescaped(text, ';');
    StringRef item = text.take_front(end);
    text = text.drop_front(std::min(text.size(), item.size() + 1));
    if (!item.trim().empty() && failed(readTensor(item, layer, names)))
      return failure();
  }
  return success();
}

LogicalResult TableReader::readRow(const Columns &columns,
                                   ArrayRef<std::string> cells, Layer &layer,
                                   std::optional<int64_t> &ready) {
  auto readNumber = [&](StringRef name, int64_t &number) -> LogicalResult {
    StringRef cell = columns.get(cells, name);
    if (cell.empty())
      return success();
    if (cell.getAsInteger(10, number) || number < 0)
      return emitError(layer.loc) << "expected a whole number of at least 0 as "
                                  << name << ", found '" << cell << "'";
    return success();
  };
  layer.name = columns.get(cells, "name").str();
  if (layer.name.empty())
    return emitError(layer.loc) << "expected a layer with a name";
  int64_t activationBytes = 4, order = -1;
  if (failed(readTensors(columns.get(cells, "tensors"), layer)) ||
      failed(readNumber("forward_ns", layer.forwardNs)) ||
      failed(readNumber("backward_ns", layer.backwardNs)) ||
      failed(readNumber("activation_bytes", activationBytes)) ||
      failed(readNumber("ready", order)))
    return failure();
  layer.activation = floats(activationBytes);
  if (order >= 0)
    ready = order;
  return success();
}

FailureOr<TableReader::Columns>
TableReader::readHeader(ArrayRef<std::string> cells, Location loc) {
  static constexpr StringRef kColumns[] = {"name",       "tensors",
                                           "forward_ns", "backward_ns",
                                           "ready",      "activation_bytes"};
  Columns columns;
  for (auto [index, cell] : llvm::enumerate(cells)) {
    if (!llvm::is_contained(kColumns, cell))
      return emitError(loc)
             << "expected columns among name, tensors, forward_ns, "
                "backward_ns, ready and activation_bytes, found '"
             << cell << "'";
    columns.index[cell] = index;
  }
  if (!columns.index.count("name") || !columns.index.count("tensors"))
    return emitError(loc) << "expected columns name and tensors";
  return columns;
}

FailureOr<LayerTable> TableReader::readCsv() {
  LayerTable table;
  std::optional<Columns> columns;
  std::vector<std::pair<int64_t, unsigned>> order;
  llvm::StringSet<> names;
  CsvReader records(text);
  SmallVector<std::string> cells;
  while (records.next(cells)) {
    Location loc = locOf(records.getLine() - 1);
    if (!columns) {
      FailureOr<Columns> header = readHeader(cells, loc);
      if (failed(header))
        return failure();
      columns = *header;
      continue;
    }
    if (cells.size() != columns->index.size())
      return emitError(loc) << "expected " << columns->index.size()
                            << " cells, found " << cells.size();
    Layer layer(loc);
    std::optional<int64_t> ready;
    if (failed(readRow(*columns, cells, layer, ready)))
      return failure();
    if (!names.insert(layer.name).second)
      return emitError(layer.loc)
             << "expected unique names, found '" << layer.name << "' again";
    unsigned index = table.layers.size();
    if (index > 0)
      layer.inputs.push_back(index - 1);
    // Without an order, gradients become ready from the last layer to the
    // first.
    order.emplace_back(ready.value_or(INT64_MAX - index), index);
    table.layers.push_back(std::move(layer));
  }
  if (!records.getError().empty())
    return emitError(locOf(records.getLine() - 1)) << records.getError();
  llvm::stable_sort(order);
  for (auto [key, index] : order) {
    if (!table.backwardOrder.empty())
      table.layers[index].backwardInputs.push_back(table.backwardOrder.back());
    table.backwardOrder.push_back(index);
  }
  return table;
}

//===----------------------------------------------------------------------===//
// PipeDream
//===----------------------------------------------------------------------===//

/// The number after `key=`; for a list `[a; b; c]`, the sum.
static std::optional<double> numberAfter(StringRef text, StringRef key) {
  size_t at = text.find((key + "=").str());
  if (at == StringRef::npos)
    return std::nullopt;
  StringRef rest = text.drop_front(at + key.size() + 1);
  SmallVector<StringRef> items;
  if (rest.consume_front("["))
    rest.split(']').first.split(items, ';');
  else
    items.push_back(rest.split(',').first);
  double sum = 0;
  for (StringRef item : items) {
    double number;
    if (item.trim().getAsDouble(number) || !(number >= 0))
      return std::nullopt;
    sum += number;
  }
  return sum;
}

/// Reads `nodeN -- Description -- forward_compute_time=..., ...`.
FailureOr<TableReader::Node> TableReader::readNode(StringRef line,
                                                   size_t number) {
  Layer layer(locOf(number));
  auto [node, rest] = line.split(" -- ");
  auto [description, figures] = rest.rsplit(" -- ");
  std::optional<double> forward = numberAfter(figures, "forward_compute_time");
  std::optional<double> backward =
      numberAfter(figures, "backward_compute_time");
  std::optional<double> activation = numberAfter(figures, "activation_size");
  std::optional<double> parameters = numberAfter(figures, "parameter_size");
  if (!forward || !backward || !activation || !parameters)
    return emitError(layer.loc)
           << "expected forward_compute_time, backward_compute_time, "
              "activation_size and parameter_size, found '"
           << figures << "'";
  // Descriptions may repeat; node names don't.
  layer.name = (node + "." + description.split('(').first.trim()).str();
  constexpr double kNsPerMs = 1e6;
  layer.forwardNs = std::llround(*forward * kNsPerMs);
  layer.backwardNs = std::llround(*backward * kNsPerMs);
  layer.activation = floats(static_cast<int64_t>(*activation));
  if (*parameters > 0)
    layer.params.push_back({floats(static_cast<int64_t>(*parameters)), ""});
  return Node{layer, description.starts_with("Input")};
}

LogicalResult
TableReader::readEdges(const llvm::DenseMap<int64_t, unsigned> &indexOf,
                       const std::map<int64_t, Node> &nodes,
                       LayerTable &table) {
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (!line.starts_with("\t"))
      continue;
    auto [from, to] = line.trim().split(" -- ");
    int64_t source, target;
    bool isEdge = from.consume_front("node") && to.consume_front("node") &&
                  !from.getAsInteger(10, source) &&
                  !to.getAsInteger(10, target);
    if (!isEdge || !nodes.count(source) || !nodes.count(target) ||
        source >= target)
      return emitError(locOf(number))
             << "expected an edge from a node to a later one, found '"
             << line.trim() << "'";
    auto first = indexOf.find(source), second = indexOf.find(target);
    if (first == indexOf.end() || second == indexOf.end())
      continue; // from an input
    table.layers[second->second].inputs.push_back(first->second);
    table.layers[first->second].backwardInputs.push_back(second->second);
  }
  return success();
}

FailureOr<LayerTable> TableReader::readPipeDream() {
  // Nodes by number, which is a topological order.
  std::map<int64_t, Node> nodes;
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty() || line.starts_with("\t"))
      continue;
    int64_t id;
    StringRef name = line.split(" -- ").first;
    if (!name.consume_front("node") || name.getAsInteger(10, id))
      return emitError(locOf(number))
             << "expected 'nodeN -- description -- times', found '" << line
             << "'";
    FailureOr<Node> node = readNode(line, number);
    if (failed(node))
      return failure();
    if (!nodes.try_emplace(id, *node).second)
      return emitError(locOf(number)) << "expected node " << id << " once";
  }
  LayerTable table;
  llvm::DenseMap<int64_t, unsigned> indexOf;
  for (auto &[id, node] : nodes)
    if (!node.isInput) {
      indexOf[id] = table.layers.size();
      table.layers.push_back(node.layer);
    }
  if (failed(readEdges(indexOf, nodes, table)))
    return failure();
  for (unsigned i = table.layers.size(); i-- > 0;)
    table.backwardOrder.push_back(i);
  return table;
}

FailureOr<LayerTable> bagua::importer::readLayerTable(MLIRContext *context,
                                                      StringRef text,
                                                      StringRef fileName) {
  TableReader reader(context, text, fileName);
  FailureOr<LayerTable> table = text.contains("forward_compute_time=")
                                    ? reader.readPipeDream()
                                    : reader.readCsv();
  if (failed(table))
    return failure();
  bool hasParams = llvm::any_of(
      table->layers, [](const Layer &layer) { return !layer.params.empty(); });
  if (!hasParams)
    return emitError(FileLineColLoc::get(context, fileName, 1, 1))
           << "expected a layer with tensors, found none";
  return table;
}
