//===- train-mlp.cpp - Trains a classifier on four ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank is a thread with its own copy of the model and its own quarter of
// every batch. Gradients live where the plan puts them; a rank gives each
// layer's as backward makes them and takes them back for its update, unless the
// plan's instructions update: then forward waits for each layer's params.
// Beside it one model trains alone on whole batches: the two losses must agree.
//
//   train-mlp mlp.bagua [trace.json]
//
//===----------------------------------------------------------------------===//
#include "Mlp.h"

#include "bagua/Runtime/Session.h"
#include "bagua/Support/TraceWriter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

using namespace bagua::runtime;

namespace {
constexpr int kRanks = 4;
constexpr int kSamplesPerRank = 64;
constexpr int kSteps = 300;

/// Ends the program: an example has nothing better to do with an error.
void check(const absl::Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "train-mlp: %s\n", status.ToString().c_str());
  std::exit(EXIT_FAILURE);
}

template <typename T> T check(absl::StatusOr<T> value) {
  check(value.status());
  return *std::move(value);
}

Samples batchOf(const Samples &data, int step, int begin, int count) {
  int batches =
      static_cast<int>(data.labels.size()) / (kRanks * kSamplesPerRank);
  return sliceOf(data, (step % batches) * kRanks * kSamplesPerRank + begin,
                 count);
}

/// What of a layer the plan names, and where it is. The params and momenta that
/// the plan leaves to the program are in the model alone.
struct PlannedLayer {
  TensorId weightGradient, biasGradient;
  LayerView gradients;
  /// The params that the plan's instructions update.
  std::vector<TensorId> updated;
};

/// Memory that the program lends to the session, zero at first.
class Memory {
public:
  float *allocate(size_t count) {
    return blocks.emplace_back(std::make_unique<float[]>(count)).get();
  }

private:
  std::vector<std::unique_ptr<float[]>> blocks;
};

/// Where a tensor is from now on: in `memory`, or where the plan has a place
/// for it, with what is in `memory` now.
float *locate(Session &session, TensorId tensor, float *memory, size_t count) {
  return static_cast<float *>(
      check(session.bindOrLocate(tensor, memory, count * sizeof(float))));
}

/// Sets a view to where the plan has what it shows.
template <typename View>
void locate(Session &session, const std::string &name, View &view) {
  float *place = locate(session, check(session.find(name)), view.data(),
                        static_cast<size_t>(view.size()));
  new (&view) View(place, view.rows(), view.cols());
}

/// The same program runs on plans of all strategies: it asks who updates. Of
/// the momenta that the plan's instructions keep a rank may have just a part.
template <typename View>
void locateState(Session &session, const std::string &name, View &parameter,
                 PlannedLayer &layer, Memory &memory) {
  if (session.programUpdates(name))
    return;
  locate(session, name, parameter);
  layer.updated.push_back(check(session.find(name)));
  TensorId momentum = check(session.find(name + ".momentum"));
  size_t count = session.localBytes(momentum) / sizeof(float);
  locate(session, momentum, memory.allocate(count), count);
}

PlannedLayer locateLayer(Session &session, Mlp &model, int layer,
                         Memory &memory) {
  std::string name = "layer" + std::to_string(layer + 1);
  LayerView &parameters = model.parameters(layer);
  const auto &[weight, bias] = parameters;
  LayerView gradients = {
      {memory.allocate(weight.size()), weight.rows(), weight.cols()},
      {memory.allocate(bias.size()), bias.size()}};
  locate(session, name + ".weight.grad", gradients.weight);
  locate(session, name + ".bias.grad", gradients.bias);
  PlannedLayer planned = {check(session.find(name + ".weight.grad")),
                          check(session.find(name + ".bias.grad")),
                          gradients,
                          {}};
  locateState(session, name + ".weight", parameters.weight, planned, memory);
  locateState(session, name + ".bias", parameters.bias, planned, memory);
  return planned;
}

void trainRank(Session &session, Mlp &model, const Samples &data,
               std::vector<float> &losses) {
  Memory memory;
  std::vector<PlannedLayer> layers;
  for (int layer = 0; layer < kLayers; ++layer)
    layers.push_back(locateLayer(session, model, layer, memory));
  check(session.start());
  auto takeBack = [&](const PlannedLayer &layer) {
    check(session.wait(layer.weightGradient));
    check(session.wait(layer.biasGradient));
  };
  for (int step = 0; step < kSteps; ++step) {
    Samples batch =
        batchOf(data, step, session.rank() * kSamplesPerRank, kSamplesPerRank);
    check(session.beginStep());
    losses.push_back(model.forward(batch, [&](int layer) {
      for (TensorId parameter : layers[layer].updated)
        check(session.wait(parameter));
    }));
    model.backward(
        batch,
        [&](int layer) {
          takeBack(layers[layer]); // what an update still reads
          return layers[layer].gradients;
        },
        [&](int layer) {
          check(session.markReady(layers[layer].weightGradient));
          check(session.markReady(layers[layer].biasGradient));
        });
    for (int layer = kLayers - 1; layer >= 0; --layer)
      if (layers[layer].updated.empty()) {
        takeBack(layers[layer]);
        model.update(layer, layers[layer].gradients);
      }
    check(session.endStep());
  }
  check(session.finish());
}

/// The same training by one model on whole batches.
std::vector<float> trainAlone(const Samples &data) {
  Mlp model;
  std::vector<Matrix> weights;
  std::vector<Eigen::RowVectorXf> biases;
  for (int layer = 0; layer < kLayers; ++layer) {
    weights.emplace_back(Mlp::kWidths[layer], Mlp::kWidths[layer + 1]);
    biases.emplace_back(Mlp::kWidths[layer + 1]);
  }
  auto view = [&](int layer) {
    return LayerView{
        {weights[layer].data(), weights[layer].rows(), weights[layer].cols()},
        {biases[layer].data(), biases[layer].size()}};
  };
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    Samples batch = batchOf(data, step, 0, kRanks * kSamplesPerRank);
    losses.push_back(model.forward(batch));
    model.backward(batch, view, [](int) {});
    for (int layer = kLayers - 1; layer >= 0; --layer)
      model.update(layer, view(layer));
  }
  return losses;
}
} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: train-mlp mlp.bagua [trace.json]\n");
    return EXIT_FAILURE;
  }
  Samples data = makeSpirals(8 * kRanks * kSamplesPerRank, /*seed=*/7);
  auto plan = check(Plan::fromFile(argv[1]));
  bagua::TraceWriter trace;
  auto worlds = createInProcessWorlds(kRanks);
  std::vector<Mlp> models(kRanks);
  // To the end, for parameters may live in their arenas.
  std::vector<std::unique_ptr<Session>> sessions(kRanks);
  std::vector<std::vector<float>> losses(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] {
      SessionOptions options;
      options.trace = argc == 3 ? &trace : nullptr;
      sessions[rank] =
          check(Session::create(plan, std::move(worlds[rank]), options));
      trainRank(*sessions[rank], models[rank], data, losses[rank]);
    });
  for (std::thread &rank : ranks)
    rank.join();

  std::vector<float> alone = trainAlone(data);
  float worst = 0;
  for (int step = 0; step < kSteps; ++step) {
    float mean = 0;
    for (const auto &rank : losses)
      mean += rank[step] / kRanks;
    worst = std::max(worst, std::abs(mean - alone[step]));
    if (step % 50 == 0 || step + 1 == kSteps)
      std::printf("step %3d: loss %.6f on %d ranks, %.6f alone\n", step, mean,
                  kRanks, alone[step]);
  }
  bool identical = true;
  for (const Mlp &model : models)
    identical &= model.isIdenticalTo(models[0]);
  std::printf(
      "largest difference of the losses %.2e; ranks %s; accuracy %.3f\n", worst,
      identical ? "bit-identical" : "DIFFER", models[0].accuracy(data));
  if (argc == 3)
    std::ofstream(argv[2]) << trace.toJson();
  return identical && worst < 2e-3f ? EXIT_SUCCESS : EXIT_FAILURE;
}
