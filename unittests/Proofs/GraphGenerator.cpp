//===- GraphGenerator.cpp - Random valid steps at graph level -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes text: a step reads as in the examples.
//
//===----------------------------------------------------------------------===//
#include "GraphGenerator.h"

#include <cstdint>

using namespace bagua::proofs;

namespace {
using Names = std::vector<std::string>;

std::string join(const Names &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string list(const Names &axes) { return "[" + join(axes) + "]"; }

struct Axis {
  std::string name;
  int64_t size;
};

struct Param {
  std::string name;
  int64_t count;
  std::string weight, gradient;
};

/// Writes one step, line by line.
class GraphWriter {
public:
  explicit GraphWriter(Random &random) : random(random) {}

  std::string write(bool isImported);

private:
  // The frame.
  void chooseCluster();
  void chooseParams();
  void writeForward();
  void writeBackward();
  std::string communicateActivation(std::string value);
  std::string frame(const std::string &attributes);
  int64_t groupSize(const Names &axes) const;

  // Reductions of one value; each returns the reduced whole value.
  std::string reduce(const std::string &value, int64_t count, int depth,
                     const std::string &element = "f32");
  std::string reduceInTurns(const std::string &value, const std::string &type);
  std::string reduceByRail(const std::string &value, int64_t count,
                           const std::string &element, bool throughServer);
  std::string reduceByLeader(const std::string &value, int64_t count,
                             const std::string &element);
  std::string reduceByLevels(const std::string &value, int64_t count,
                             const std::string &element);
  std::string reduceOnServer(const std::string &value, int64_t count,
                             const std::string &element);
  std::string reduceInParts(const std::string &value, int64_t count, int depth,
                            const std::string &element);
  std::string reduceCast(const std::string &value, int64_t count, int depth);
  std::string reduceEncoded(const std::string &value, int64_t count);
  std::string reduceTopk(const std::string &value, int64_t count);
  std::string reduceLowRank(const Param &param);
  std::string encodeWithFeedback(const std::string &value,
                                 const std::string &type,
                                 const std::string &encoded);

  // Whole methods.
  void reduceBuckets();
  void updateAll();
  void updateOne(const Param &param, const std::string &gradient);
  void updateSharded();
  void updateOnServers();
  void updateMixed();
  void updateAndAverage();

  std::string line(const std::string &text);
  void lines(const Names &results, const std::string &text);
  std::string fresh() { return "%v" + std::to_string(counter++); }
  std::string argument(const std::string &role, const std::string &name,
                       const std::string &type, bool varies);
  void next(const std::string &value, const std::string &type) {
    yields.push_back(value);
    yieldTypes.push_back(type);
  }

  static std::string tensor(int64_t count, const std::string &layout = "",
                            const std::string &element = "f32") {
    return "tensor<" + std::to_string(count) + "x" + element +
           (layout.empty() ? "" : ", #bagua.layout<" + layout + ">") + ">";
  }
  static std::string shard(const Names &axes) { return "shard " + list(axes); }

  Random &random;
  std::vector<Axis> axes;
  Names data;
  bool hasTp = false, hasServers = false;
  /// Every reduction is of encoded values.
  bool encodesAll = false;
  /// Servers apply each push when it comes.
  bool isAsynchronous = false;
  std::string servers, weightLayout;
  Names varies;
  std::vector<Param> params;
  std::vector<std::string> reduced;
  Names arguments, yields, yieldTypes;
  Names residuals, leftOver, residualTypes;
  std::string body;
  int counter = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

std::string GraphWriter::line(const std::string &text) {
  std::string result = fresh();
  lines({result}, text);
  return result;
}

void GraphWriter::lines(const Names &results, const std::string &text) {
  body += "  " + join(results) + " = bagua." + text + "\n";
}

int64_t GraphWriter::groupSize(const Names &over) const {
  int64_t size = 1;
  for (const std::string &name : over)
    for (const Axis &axis : axes)
      if (axis.name == name)
        size *= axis.size;
  return size;
}

void GraphWriter::chooseCluster() {
  static const std::vector<std::vector<Axis>> kClusters = {
      {{"node", 2}, {"gpu", 2}},
      {{"node", 2}, {"gpu", 3}},
      {{"gpu", 4}},
      {{"rack", 2}, {"node", 2}, {"gpu", 2}},
      {{"node", 2}, {"tp", 2}},
      {{"node", 2}, {"gpu", 2}, {"tp", 2}},
  };
  axes = random.pick(kClusters);
  for (const Axis &axis : axes) {
    hasTp |= axis.name == "tp";
    if (axis.name != "tp")
      data.push_back(axis.name);
  }
  hasServers = random.chance(40);
  if (hasServers)
    servers = random.chance(50) ? " servers 2"
                                : " servers_on " + list({axes[0].name});
}

std::string GraphWriter::argument(const std::string &role,
                                  const std::string &name,
                                  const std::string &type, bool isVarying) {
  std::string value = fresh();
  arguments.push_back(
      role + " " + value + " \"" + name + "\"" +
      (isVarying && !varies.empty() ? " varies " + list(varies) : "") + " : " +
      type);
  return value;
}

void GraphWriter::chooseParams() {
  static const std::vector<int64_t> kCounts = {4, 5, 6, 8};
  int64_t common = random.pick(kCounts);
  size_t count = random.between(1, 3);
  for (size_t i = 0; i < count; ++i) {
    Param param;
    param.name = "l" + std::to_string(i) + ".weight";
    param.count = random.chance(60) ? common : random.pick(kCounts);
    param.weight =
        argument("param", param.name, tensor(param.count, weightLayout), true);
    params.push_back(param);
  }
}

/// What tensor and expert parallelism do to activations; the axis is not a data
/// axis.
std::string GraphWriter::communicateActivation(std::string value) {
  if (!hasTp || varies.empty() || random.chance(40))
    return value;
  if (random.chance(50))
    return line("all_reduce sum " + value + " over [tp] : tensor<4x2xf32>");
  std::string sent = line("all_to_all " + value +
                          " over [tp] split 0 concat 1 : tensor<4x2xf32> -> "
                          "tensor<2x4xf32>");
  std::string expert = line("compute forward \"expert\"(" + sent +
                            ") : (tensor<2x4xf32>) -> (tensor<2x4xf32>)");
  return line("all_to_all " + expert +
              " over [tp] split 1 concat 0 : tensor<2x4xf32> -> "
              "tensor<4x2xf32>");
}

void GraphWriter::writeForward() {
  std::string value = "%x";
  for (const Param &param : params) {
    value = line("compute forward \"" + param.name + "\"(" + value + ", " +
                 param.weight + ") : (tensor<4x2xf32>, " + tensor(param.count) +
                 ") -> (tensor<4x2xf32>)");
    value = communicateActivation(value);
  }
  body += "  // The loss's gradient.\n";
  lines({"%d"}, "compute backward \"loss\"(" + value +
                    ", %x) cost_ns 1000 measured : (tensor<4x2xf32>, "
                    "tensor<4x2xf32>) -> (tensor<4x2xf32>)");
}

void GraphWriter::writeBackward() {
  std::string value = "%d";
  for (size_t i = params.size(); i-- > 0;) {
    Param &param = params[i];
    param.gradient = fresh();
    std::string down = fresh();
    lines({down, param.gradient},
          "compute backward \"" + param.name + "\"(" + value + ", %x, " +
              param.weight +
              ") cost_ns 2000 measured : (tensor<4x2xf32>, tensor<4x2xf32>, " +
              tensor(param.count) + ") -> (tensor<4x2xf32>, " +
              tensor(param.count) + " grad \"" + param.name + "\")");
    value = down;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::string GraphWriter::reduceInTurns(const std::string &value,
                                       const std::string &type) {
  Names first, rest;
  for (const std::string &axis : data)
    (random.chance(50) ? first : rest).push_back(axis);
  std::string result = value;
  for (const Names &over : {first, rest})
    if (!over.empty())
      result = line("all_reduce mean " + result + " over " + list(over) +
                    " : " + type);
  return result;
}

/// reduce_scatter inside, the parts outside, all_gather inside.
std::string GraphWriter::reduceByRail(const std::string &value, int64_t count,
                                      const std::string &element,
                                      bool throughServer) {
  Names inner{data.back()}, outer(data.begin(), data.end() - 1);
  std::string whole = tensor(count, "", element);
  std::string part = tensor(count, shard(inner), element);
  std::string result = line("reduce_scatter mean " + value + " over " +
                            list(inner) + " : " + whole + " -> " + part);
  if (!outer.empty() && throughServer) {
    std::string pushed = tensor(count, shard(inner) + ", server 0", element);
    result = line("push mean " + result + " over " + list(outer) + " : " +
                  part + " -> " + pushed);
    result = line("pull " + result + " over " + list(outer) + " : " + pushed +
                  " -> " + part);
  } else if (!outer.empty()) {
    result = line("all_reduce mean " + result + " over " + list(outer) + " : " +
                  part);
  }
  return line("all_gather " + result + " over " + list(inner) + " : " + part +
              " -> " + whole);
}

std::string GraphWriter::reduceByLeader(const std::string &value, int64_t count,
                                        const std::string &element) {
  Names inner{data.back()}, outer(data.begin(), data.end() - 1);
  std::string whole = tensor(count, "", element);
  std::string root = tensor(count, "root " + list(inner), element);
  std::string result = line("reduce mean " + value + " over " + list(inner) +
                            " : " + whole + " -> " + root);
  if (!outer.empty())
    result = line("all_reduce mean " + result + " over " + list(outer) + " : " +
                  root);
  return line("broadcast " + result + " over " + list(inner) + " : " + root +
              " -> " + whole);
}

/// BlueConnect: one axis after the other, from the inside out and back.
std::string GraphWriter::reduceByLevels(const std::string &value, int64_t count,
                                        const std::string &element) {
  std::string layout, result = value;
  Names types{tensor(count, "", element)};
  for (size_t i = data.size(); i-- > 0;) {
    layout += (layout.empty() ? "" : ", ") + shard({data[i]});
    types.push_back(tensor(count, layout, element));
    result = line("reduce_scatter mean " + result + " over [" + data[i] +
                  "] : " + types[types.size() - 2] + " -> " + types.back());
  }
  for (const std::string &axis : data) {
    std::string from = types.back();
    types.pop_back();
    result = line("all_gather " + result + " over [" + axis + "] : " + from +
                  " -> " + types.back());
  }
  return result;
}

std::string GraphWriter::reduceOnServer(const std::string &value, int64_t count,
                                        const std::string &element) {
  std::string whole = tensor(count, "", element);
  std::string pushed =
      tensor(count, random.chance(50) ? "server" : "server 1", element);
  std::string result = line("push mean " + value + " over " + list(data) +
                            " : " + whole + " -> " + pushed);
  return line("pull " + result + " over " + list(data) + " : " + pushed +
              " -> " + whole);
}

std::string GraphWriter::reduceInParts(const std::string &value, int64_t count,
                                       int depth, const std::string &element) {
  int64_t first = random.between(1, count - 1);
  std::string a = fresh(), b = fresh();
  std::string whole = tensor(count, "", element),
              left = tensor(first, "", element),
              right = tensor(count - first, "", element);
  lines({a, b},
        "split " + value + " : " + whole + " -> " + left + ", " + right);
  a = reduce(a, first, depth + 1, element);
  b = reduce(b, count - first, depth + 1, element);
  return line("concat " + a + ", " + b + " : " + left + ", " + right + " -> " +
              whole);
}

std::string GraphWriter::reduceCast(const std::string &value, int64_t count,
                                    int depth) {
  std::string narrow = line("cast " + value + " : " + tensor(count) + " -> " +
                            tensor(count, "", "bf16"));
  narrow = reduce(narrow, count, depth + 1, "bf16");
  return line("cast " + narrow + " : " + tensor(count, "", "bf16") + " -> " +
              tensor(count));
}

/// With a residual of its own.
std::string GraphWriter::encodeWithFeedback(const std::string &value,
                                            const std::string &type,
                                            const std::string &encoded) {
  std::string residual = fresh(), result = fresh(), next = fresh();
  residuals.push_back("residual " + residual + " \"e" +
                      std::to_string(residuals.size()) + "\" : " + type);
  lines({result, next}, "encode " + value + " feedback " + residual + " : (" +
                            type + ", " + type + ") -> (" + encoded + ", " +
                            type + ")");
  leftOver.push_back(next);
  residualTypes.push_back(type);
  return result;
}

/// SEMANTICS 4: parts to their owners, the mean of what they decode to, and
/// back; with the worker's and the owner's residual.
std::string GraphWriter::reduceEncoded(const std::string &value,
                                       int64_t count) {
  static const Names kCodecs = {"#bagua.onebit", "#bagua.efsignsgd",
                                "#bagua.minmax_uint8"};
  std::string codec = random.pick(kCodecs);
  std::string whole = tensor(count), part = tensor(count, shard(data));
  auto encoded = [&](const std::string &type, const std::string &form) {
    return "!bagua.encoded<" + type + ", " + codec +
           (form.empty() ? "" : ", " + form + " " + list(data)) + ">";
  };
  std::string parts = encoded(whole, "parts"), terms = encoded(part, "terms"),
              own = encoded(part, "");
  std::string result = encodeWithFeedback(value, whole, parts);
  result = line("all_to_all " + result + " over " + list(data) + " : " + parts +
                " -> " + terms);
  result = line("decode mean " + result + " : " + terms + " -> " + part);
  result = encodeWithFeedback(result, part, own);
  result = line("all_gather " + result + " over " + list(data) + " : " + own +
                " -> " + parts);
  return line("decode " + result + " : " + parts + " -> " + whole);
}

/// Every rank gets the terms of all.
std::string GraphWriter::reduceTopk(const std::string &value, int64_t count) {
  std::string whole = tensor(count),
              own = "!bagua.encoded<" + whole + ", #bagua.topk<count = 1>>",
              terms = "!bagua.encoded<" + whole +
                      ", #bagua.topk<count = 1>, terms " + list(data) + ">";
  std::string result = encodeWithFeedback(value, whole, own);
  result = line("all_gather " + result + " over " + list(data) + " : " + own +
                " -> " + terms);
  return line("decode mean " + result + " : " + terms + " -> " + whole);
}

std::string GraphWriter::reduce(const std::string &value, int64_t count,
                                int depth, const std::string &element) {
  std::string type = tensor(count, "", element);
  // server 1 exists only where there are two.
  bool hasTwo = hasServers;
  if (encodesAll && element == "f32")
    return random.chance(50) ? reduceEncoded(value, count)
                             : reduceTopk(value, count);
  switch (random.below(10)) {
  default:
    return line("all_reduce mean " + value + " over " + list(data) + " : " +
                type);
  case 1:
  case 2:
    return reduceInTurns(value, type);
  case 3:
    return reduceByRail(value, count, element, hasServers && random.chance(50));
  case 4:
    return reduceByLeader(value, count, element);
  case 5:
    return reduceByLevels(value, count, element);
  case 6:
    if (hasTwo)
      return reduceOnServer(value, count, element);
    return reduceByLevels(value, count, element);
  case 7:
    if (depth < 2 && count > 1)
      return reduceInParts(value, count, depth, element);
    return reduceInTurns(value, type);
  case 8:
    if (depth < 2 && element == "f32")
      return reduceCast(value, count, depth);
    return reduceByRail(value, count, element, false);
  }
}

/// PowerSGD of rank 1, with a residual: the factors of a matrix of two rows.
std::string GraphWriter::reduceLowRank(const Param &param) {
  std::string own = tensor(param.count), half = std::to_string(param.count / 2);
  std::string matrix = "tensor<2x" + half + "xf32>", column = "tensor<2x1xf32>",
              row = "tensor<" + half + "x1xf32>";
  std::string residual = fresh(), factor = fresh();
  residuals.push_back("residual " + residual + " \"" + param.name +
                      ".residual\" : " + matrix);
  residuals.push_back("optimizer " + factor + " \"" + param.name + ".factor\"" +
                      (varies.empty() ? "" : " varies " + list(varies)) +
                      " : " + row);
  auto mean = [&](const std::string &value, const std::string &type) {
    return line("all_reduce mean " + value + " over " + list(data) + " : " +
                type);
  };
  std::string sum =
      line("concat " + param.gradient + " : " + own + " -> " + matrix);
  sum = line("linear [1.0, 1.0] (" + sum + ", " + residual + ") : " + matrix);
  std::string left = line("matmul " + sum + ", " + factor + " : " + matrix +
                          ", " + row + " -> " + column);
  left = line("orthonormalize " + mean(left, column) + " : " + column);
  std::string right = mean(line("matmul transpose_lhs " + sum + ", " + left +
                                " : " + matrix + ", " + column + " -> " + row),
                           row);
  std::string sent = line("matmul transpose_rhs " + left + ", " + right +
                          " : " + column + ", " + row + " -> " + matrix);
  leftOver.push_back(
      line("linear [1.0, -1.0] (" + sum + ", " + sent + ") : " + matrix));
  leftOver.push_back(right);
  residualTypes.insert(residualTypes.end(), {matrix, row});
  return line("concat " + sent + " : " + matrix + " -> " + own);
}

/// DDP's buckets: gradients in reverse order, some together.
void GraphWriter::reduceBuckets() {
  reduced.assign(params.size(), "");
  size_t last = params.size();
  while (last > 0) {
    size_t first = random.below(last);
    Names inputs, types;
    int64_t count = 0;
    for (size_t i = last; i-- > first;) {
      inputs.push_back(params[i].gradient);
      types.push_back(tensor(params[i].count));
      count += params[i].count;
    }
    if (inputs.size() == 1) {
      reduced[first] = reduce(inputs[0], count, 0);
    } else {
      std::string bucket = line("concat " + join(inputs) + " : " + join(types) +
                                " -> " + tensor(count));
      bucket = reduce(bucket, count, 0);
      Names outputs;
      for (size_t i = last; i-- > first;)
        outputs.push_back(reduced[i] = fresh());
      lines(outputs,
            "split " + bucket + " : " + tensor(count) + " -> " + join(types));
    }
    last = first;
  }
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void GraphWriter::updateOne(const Param &param, const std::string &gradient) {
  std::string type = tensor(param.count);
  std::string states = type + ", tensor<f32>";
  switch (random.below(6)) {
  default:
    return next(line("sgd (" + param.weight + ") grad " + gradient +
                     " lr %lr : " + states),
                type);
  case 1: {
    std::string m = argument("optimizer", param.name + ".m", type, true);
    std::string w = fresh(), mNext = fresh();
    lines({w, mNext}, "sgd (" + param.weight + ", " + m +
                          ") momentum 0.9 grad " + gradient +
                          " lr 0.1 : " + type);
    next(w, type);
    return next(mNext, type);
  }
  case 2: {
    std::string m = argument("optimizer", param.name + ".m", type, true);
    std::string v = argument("optimizer", param.name + ".v", type, true);
    std::string w = fresh(), mNext = fresh(), vNext = fresh();
    lines({w, mNext, vNext}, "adam (" + param.weight + ", " + m + ", " + v +
                                 ") grad " + gradient + " lr %lr : " + states);
    next(w, type);
    next(mNext, type);
    return next(vNext, type);
  }
  case 3:
    return next(line("compute update \"" + param.name + "\"(" + param.weight +
                     ", " + gradient + ", %lr) : (" + type + ", " + type +
                     ", tensor<f32>) -> (" + type + ")"),
                type);
  case 4: {
    std::string m = argument("optimizer", param.name + ".m", type, true);
    std::string v = argument("optimizer", param.name + ".v", type, true);
    std::string mNext =
        line("linear [0.9, 0.1] (" + m + ", " + gradient + ") : " + type);
    next(line("adam_apply " + param.weight + ", " + mNext + ", " + v +
              " lr %lr : " + states),
         type);
    next(mNext, type);
    return next(v, type);
  }
  case 5: {
    // Lion: the gradient goes by one factor into the step, by another into the
    // moment. As exported, both boxes are called by the op they hold.
    std::string m = argument("optimizer", param.name + ".m", type, true);
    std::string scale = "compute update \"multiply\"(" + gradient + ") : (" +
                        type + ") -> (" + type + ")";
    std::string step = line(scale), moment = line(scale);
    next(line("compute update \"" + param.name + "\"(" + param.weight + ", " +
              m + ", " + step + ", %lr) : (" + type + ", " + type + ", " +
              type + ", tensor<f32>) -> (" + type + ")"),
         type);
    return next(
        line("linear [0.99, 1.0] (" + m + ", " + moment + ") : " + type), type);
  }
  }
}

void GraphWriter::updateAll() {
  // State arguments stand in the order in which they are yielded.
  Names weights(arguments.end() - params.size(), arguments.end());
  arguments.resize(arguments.size() - params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    arguments.push_back(weights[i]);
    updateOne(params[i], reduced[i]);
  }
}

/// ZeRO-1 in one striped bucket, with sgd on shards.
void GraphWriter::updateSharded() {
  std::string layout = shard(data), stripes = " striped <" + layout + ">";
  int64_t ranks = groupSize(data), total = 0;
  Names gradients, wholes, shards, scattered, updated, results;
  for (size_t i = params.size(); i-- > 0;) {
    gradients.push_back(params[i].gradient);
    wholes.push_back(tensor(params[i].count));
    shards.push_back(tensor(params[i].count, layout));
    total += (params[i].count + ranks - 1) / ranks * ranks;
    scattered.push_back(fresh());
    results.push_back(fresh());
  }
  std::string whole = tensor(total), part = tensor(total, layout);
  std::string bucket = line("concat " + join(gradients) + stripes + " : " +
                            join(wholes) + " -> " + whole);
  bucket = line("reduce_scatter mean " + bucket + " over " + list(data) +
                " : " + whole + " -> " + part);
  lines(scattered,
        "split " + bucket + stripes + " : " + part + " -> " + join(shards));
  for (size_t i = 0; i < params.size(); ++i) {
    const Param &param = params[params.size() - 1 - i];
    std::string own =
        line("slice " + param.weight + " : " + wholes[i] + " -> " + shards[i]);
    updated.push_back(line("sgd (" + own + ") grad " + scattered[i] +
                           " lr %lr : " + shards[i] + ", tensor<f32>"));
  }
  bucket = line("concat " + join(updated) + stripes + " : " + join(shards) +
                " -> " + part);
  bucket = line("all_gather " + bucket + " over " + list(data) + " : " + part +
                " -> " + whole);
  lines(results,
        "split " + bucket + stripes + " : " + whole + " -> " + join(wholes));
  for (size_t i = params.size(); i-- > 0;)
    next(results[i], wholes[i]);
}

/// Params live on servers: pull, push, update there. Not the axes beside data.
void GraphWriter::updateOnServers() {
  for (Param &param : params) {
    std::string type = tensor(param.count, weightLayout);
    std::string pushed =
        line("push " + std::string(isAsynchronous ? "sum " : "mean ") +
             param.gradient + " over " + list(data) + " : " +
             tensor(param.count) + " -> " + type);
    next(line("sgd (" + param.weight + "s) grad " + pushed +
              " lr %lr : " + type + ", tensor<f32>"),
         type);
  }
}

/// Decentralised: weights of neighbours are mixed, gradients stay.
void GraphWriter::updateMixed() {
  Names weights, types, mixed;
  int64_t count = 0;
  for (const Param &param : params) {
    weights.push_back(param.weight);
    types.push_back(tensor(param.count));
    mixed.push_back(fresh());
    count += param.count;
  }
  std::string type = tensor(count), result;
  std::string bucket =
      line("concat " + join(weights) + " : " + join(types) + " -> " + type);
  if (groupSize(data) % 2 == 0 && random.chance(50)) {
    std::string peer = line("exchange shift_one " + bucket + " over " +
                            list(data) + " : " + type + " -> " + type);
    result = line("linear [0.5, 0.5] (" + bucket + ", " + peer + ") : " + type);
  } else {
    std::string left = fresh(), right = fresh();
    lines({left, right}, "exchange ring " + bucket + " over " + list(data) +
                             " : " + type + " -> " + type + ", " + type);
    result = line("linear [0.5, 0.25, 0.25] (" + bucket + ", " + left + ", " +
                  right + ") : " + type);
  }
  lines(mixed, "split " + result + " : " + type + " -> " + join(types));
  for (size_t i = 0; i < params.size(); ++i)
    next(line("sgd (" + mixed[i] + ") grad " + params[i].gradient +
              " lr %lr : " + types[i] + ", tensor<f32>"),
         types[i]);
}

/// Local SGD's averaging step.
void GraphWriter::updateAndAverage() {
  for (const Param &param : params) {
    std::string type = tensor(param.count);
    std::string updated =
        line("sgd (" + param.weight + ") grad " + param.gradient +
             " lr %lr : " + type + ", tensor<f32>");
    next(random.chance(50) ? updated : reduce(updated, param.count, 0), type);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::string GraphWriter::frame(const std::string &extra) {
  arguments.insert(arguments.end(), residuals.begin(), residuals.end());
  yields.insert(yields.end(), leftOver.begin(), leftOver.end());
  yieldTypes.insert(yieldTypes.end(), residualTypes.begin(),
                    residualTypes.end());
  std::string text = "bagua.cluster @pod axes [";
  for (const Axis &axis : axes)
    text += std::string(&axis == &axes[0] ? "" : ", ") + "#bagua.axis<\"" +
            axis.name + "\", size = " + std::to_string(axis.size) +
            ", latency_ns = 1000, bytes_per_s = 1000000000>";
  text += "]" + servers + "\nbagua.step @train on @pod data " + list(data) +
          extra +
          " (batch %x \"batch\" : tensor<4x2xf32>, input %lr \"lr\" : "
          "tensor<f32>";
  for (const std::string &entry : arguments)
    text += ",\n    " + entry;
  return text + ") {\n" + body + "  bagua.yield " + join(yields) + " : " +
         join(yieldTypes) + "\n}\n";
}

std::string GraphWriter::write(bool isImported) {
  chooseCluster();
  size_t method = isImported ? 0 : random.below(13);
  encodesAll = method == 9 || method == 10;
  if (hasTp && random.chance(70))
    varies = {"tp"};
  bool isOnServers = (method == 6 || method == 12) && hasServers && !hasTp;
  if (isOnServers) {
    weightLayout = random.chance(50) ? "server" : "server 0";
    isAsynchronous = random.chance(60);
  }
  bool isLowRank = method == 11 && (!hasTp || !varies.empty());
  bool keepsOwn = method == 7 || method == 8;
  if (keepsOwn) {
    varies.insert(varies.begin(), data.begin(), data.end());
    if (hasTp && varies.size() == data.size())
      varies.push_back("tp");
  }
  chooseParams();
  if (isOnServers)
    for (Param &param : params) {
      // The body uses what was pulled; the update, what is on the servers.
      std::string pulled = param.weight;
      std::string &entry = arguments[&param - params.data()];
      entry.replace(entry.find(pulled), pulled.size(), pulled + "s");
      lines({pulled}, "pull " + pulled + "s over " + list(data) + " : " +
                          tensor(param.count, weightLayout) + " -> " +
                          tensor(param.count));
    }
  writeForward();
  writeBackward();
  if (isOnServers) {
    updateOnServers();
  } else if (method == 5) {
    updateSharded();
  } else if (method == 7) {
    updateMixed();
  } else if (method == 8) {
    updateAndAverage();
  } else {
    if (isImported || isLowRank)
      for (const Param &param : params)
        reduced.push_back(isImported ? param.gradient
                          : param.count % 2 == 0
                              ? reduceLowRank(param)
                              : reduce(param.gradient, param.count, 0));
    else
      reduceBuckets();
    updateAll();
  }
  return frame(isAsynchronous ? " consistency asp" : "");
}

std::string bagua::proofs::generateGraph(Random &random) {
  return GraphWriter(random).write(/*isImported=*/false);
}

std::string bagua::proofs::generateImported(Random &random) {
  return GraphWriter(random).write(/*isImported=*/true);
}
