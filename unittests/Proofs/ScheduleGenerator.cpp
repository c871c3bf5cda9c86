//===- ScheduleGenerator.cpp - Random steps scheduled by hand -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer by layer: backward in two ops (one reads the weight, one makes the
// gradient, sometimes of the mean of the layer behind), then the layer's
// communication and its update.
//
//===----------------------------------------------------------------------===//
#include "ScheduleGenerator.h"

using namespace bagua::proofs;

namespace {
class ScheduleWriter {
public:
  explicit ScheduleWriter(Random &random)
      : random(random), layers(random.between(2, 4)),
        commStreams(random.chance(60) ? 1 : 2) {}

  std::string write();

private:
  void writeForward();
  void writeBackward(int layer);
  void writeLayer(int layer);
  void writeShardedLayer(int layer);
  std::string writeStaged(int layer, std::string value);
  std::string inOrder(const std::string &value, const std::string &place,
                      const std::string &type, const std::string &needed,
                      bool isImplied = false);

  void line(const std::string &text) { body += "  " + text + "\n"; }
  static std::string number(int value) { return std::to_string(value); }
  std::string type(int layer) const {
    return "tensor<" + number(counts[layer]) + "xf32>";
  }
  std::string weight(int layer) const { return "\"l" + number(layer) + "\""; }
  /// Where a layer's gradient lies.
  std::string gradient(int layer) const {
    return "grads:" + number(offsets[layer]);
  }
  /// The same bytes, also by the gradient's name.
  std::string reduced(int layer) {
    return random.chance(80) ? gradient(layer)
                             : "\"l" + number(layer) + ".grad\"";
  }
  std::string comm() { return "comm" + number(random.below(commStreams)); }
  std::string fresh() { return "%t" + number(counter++); }

  Random &random;
  int layers, commStreams, counter = 0;
  std::vector<int> counts, offsets;
  std::string body, lastStaged, lastStagedType;
  std::vector<std::string> next;
  /// By layer: its reduced gradient; empty before it is written, and where no
  /// rank has all of it.
  std::vector<std::string> means;
};
} // namespace

void ScheduleWriter::writeForward() {
  std::string value = "%x";
  for (int i = 0; i < layers; ++i) {
    std::string result = "%a" + number(i);
    line(result + " = bagua.compute forward \"f" + number(i) + "\"(" + value +
         ", %w" + number(i) + ") on compute at [program] : (tensor<4xf32>, " +
         type(i) + ") -> (tensor<4xf32>)");
    value = result;
  }
}

void ScheduleWriter::writeBackward(int layer) {
  std::string i = number(layer), up = "%d" + number(layer + 1);
  std::string input = layer ? "%a" + number(layer - 1) : "%x";
  std::string mean, meanType;
  if (layer + 1 < layers && !means[layer + 1].empty() && random.chance(60)) {
    mean = ", " + means[layer + 1];
    meanType = ", " + type(layer + 1);
  }
  std::string makesGradient =
      "%g" + i + " = bagua.compute backward \"wgrad" + i + "\"(" + up + ", " +
      input + mean + ") on compute at [" + gradient(layer) +
      "] : (tensor<4xf32>, tensor<4xf32>" + meanType + ") -> (" + type(layer) +
      " grad " + weight(layer) + ")";
  std::string readsWeight = "%d" + i + " = bagua.compute backward \"dgrad" + i +
                            "\"(" + up + ", %w" + i +
                            ") on compute at [program] : (tensor<4xf32>, " +
                            type(layer) + ") -> (tensor<4xf32>)";
  bool readsFirst = random.chance(50);
  line(readsFirst ? readsWeight : makesGradient);
  line(readsFirst ? makesGradient : readsWeight);
}

/// The value, behind what must have ended; sometimes that is forgotten.
std::string ScheduleWriter::inOrder(const std::string &value,
                                    const std::string &place,
                                    const std::string &type,
                                    const std::string &needed, bool isImplied) {
  if (needed.empty() || random.chance(isImplied ? 80 : 8))
    return value;
  std::string result = fresh();
  line(result + " = bagua.after " + value + " [" + needed + "] on " + comm() +
       " at [" + place + "] : " + type + " [" +
       (needed[1] == 'd' ? "tensor<4xf32>" : lastStagedType) + "]");
  return result;
}

/// Through staging memory that all layers share: a copy in, the collective, a
/// copy out.
std::string ScheduleWriter::writeStaged(int layer, std::string value) {
  value = inOrder(value, gradient(layer), type(layer), lastStaged,
                  /*isImplied=*/commStreams == 1);
  std::string staged = fresh(), result = fresh(), back = fresh();
  line(staged + " = bagua.concat " + value + " on " + comm() +
       " at [staging:0] : " + type(layer) + " -> " + type(layer));
  line(result + " = bagua.all_reduce mean " + staged + " over [gpu] on " +
       comm() + " at [staging:0] : " + type(layer));
  line(back + " = bagua.concat " + result + " on " + comm() + " at [" +
       reduced(layer) + "] : " + type(layer) + " -> " + type(layer));
  lastStaged = back;
  lastStagedType = type(layer);
  return back;
}

void ScheduleWriter::writeLayer(int layer) {
  std::string i = number(layer), value = "%g" + i;
  if (random.chance(75)) {
    value = writeStaged(layer, value);
  } else {
    std::string result = fresh();
    line(result + " = bagua.all_reduce mean " + value + " over [gpu] on " +
         comm() + " at [" + reduced(layer) + "] : " + type(layer));
    value = result;
  }
  means[layer] = value;
  // The update overwrites what `dgrad` reads.
  value = inOrder(value, gradient(layer), type(layer), "%d" + i);
  std::string updated = "%n" + i;
  line(updated + " = bagua.sgd (%w" + i + ") grad " + value +
       " lr 0.1 on update at [" + weight(layer) + "] : " + type(layer));
  next[layer] = updated;
}

/// DeAR: the update on the shard, in memory of its own; the gather over the
/// weight.
void ScheduleWriter::writeShardedLayer(int layer) {
  std::string i = number(layer);
  std::string shard =
      "tensor<" + number(counts[layer]) + "xf32, #bagua.layout<shard [gpu]>>";
  std::string part = "shards:" + number(offsets[layer]);
  std::string own = "own:" + number(offsets[layer]);
  std::string scattered = fresh(), slice = fresh(), updated = fresh();
  line(scattered + " = bagua.reduce_scatter mean %g" + i + " over [gpu] on " +
       comm() + " at [" + part + "] : " + type(layer) + " -> " + shard);
  line(slice + " = bagua.slice %w" + i + " on update at [" + own +
       "] : " + type(layer) + " -> " + shard);
  line(updated + " = bagua.sgd (" + slice + ") grad " + scattered +
       " lr 0.1 on update at [" + own + "] : " + shard);
  updated = inOrder(updated, own, shard, "%d" + i);
  line("%n" + i + " = bagua.all_gather " + updated + " over [gpu] on " +
       comm() + " at [" + weight(layer) + "] : " + shard + " -> " +
       type(layer));
  next[layer] = "%n" + i;
}

std::string ScheduleWriter::write() {
  static const std::vector<int> kCounts = {2, 3, 4, 6};
  int offset = 0;
  for (int i = 0; i < layers; ++i) {
    counts.push_back(random.pick(kCounts));
    offsets.push_back(offset);
    offset += 4 * counts.back() + (random.chance(30) ? 8 : 0);
  }
  next.resize(layers);
  means.resize(layers);
  writeForward();
  line("%d" + number(layers) + " = bagua.compute backward \"loss\"(%a" +
       number(layers - 1) +
       ") on compute at [program] : (tensor<4xf32>) -> (tensor<4xf32>)");
  bool isSharded = random.chance(20);
  // Layer by layer, or all of backward first.
  bool isBsp = random.chance(50);
  for (int i = layers; isBsp && i-- > 0;)
    writeBackward(i);
  for (int i = layers; i-- > 0;) {
    if (!isBsp)
      writeBackward(i);
    if (isSharded)
      writeShardedLayer(i);
    else
      writeLayer(i);
  }
  std::string text =
      "bagua.cluster @pod axes [#bagua.axis<\"gpu\", size = 2, latency_ns = "
      "1000, bytes_per_s = 1000000000>]\nbagua.step @train on @pod data [gpu] "
      "streams [compute, comm0, comm1, update] (batch %x \"batch\" : "
      "tensor<4xf32>";
  std::string yields, types;
  for (int i = 0; i < layers; ++i) {
    text += ",\n    param %w" + number(i) + " " + weight(i) + " : " + type(i);
    yields += (i ? ", " : "") + next[i];
    types += (i ? ", " : "") + type(i);
  }
  return text + ") {\n" + body + "  bagua.yield " + yields + " : " + types +
         "\n}\n";
}

std::string bagua::proofs::generateSchedule(Random &random) {
  return ScheduleWriter(random).write();
}
