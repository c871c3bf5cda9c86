//===- train-mlp.cpp - Trains a classifier on four ranks ------------------===//
//
// Each rank is a thread with its own copy of the model and its own quarter of
// every batch. Gradients live where the plan puts them; a rank gives each
// layer's as backward makes them and takes them back for its update. Beside it
// one model trains alone on whole batches: the two losses must agree.
//
//   train-mlp mlp.bagua [trace.json]
//
//===----------------------------------------------------------------------===//
#include "Mlp.h"

#include "bagua/Runtime/Session.h"
#include "bagua/Support/TraceWriter.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

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

/// A layer's gradients: what they are called, and where the plan has them.
struct LayerGradients {
  TensorId weight, bias;
  LayerView view;
};

LayerGradients findGradients(Session &session, int layer) {
  std::string name = "layer" + std::to_string(layer + 1);
  // A tensor that travels alone is the program's to bind; one in a bucket has
  // its place in an arena. This example keeps memory for either case.
  auto locate = [&](const std::string &tensor) {
    TensorId id = check(session.find(tensor));
    if (!session.address(id).ok()) {
      size_t bytes = static_cast<size_t>(session.localBytes(id));
      check(session.bind(id, std::calloc(1, bytes), bytes)); // lives to the end
    }
    return id;
  };
  TensorId weight = locate(name + ".weight.grad");
  TensorId bias = locate(name + ".bias.grad");
  int rows = Mlp::kWidths[layer], columns = Mlp::kWidths[layer + 1];
  auto *weights = static_cast<float *>(check(session.address(weight)));
  auto *biases = static_cast<float *>(check(session.address(bias)));
  return {weight, bias, {{weights, rows, columns}, {biases, columns}}};
}

void trainRank(Session &session, Mlp &model, const Samples &data,
               std::vector<float> &losses) {
  std::vector<LayerGradients> gradients;
  for (int layer = 0; layer < kLayers; ++layer)
    gradients.push_back(findGradients(session, layer));
  check(session.start());
  for (int step = 0; step < kSteps; ++step) {
    Samples batch =
        batchOf(data, step, session.rank() * kSamplesPerRank, kSamplesPerRank);
    check(session.beginStep());
    losses.push_back(model.forward(batch));
    model.backward(
        batch, [&](int layer) { return gradients[layer].view; },
        [&](int layer) {
          check(session.markReady(gradients[layer].weight));
          check(session.markReady(gradients[layer].bias));
        });
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      check(session.wait(gradients[layer].weight));
      check(session.wait(gradients[layer].bias));
      model.update(layer, gradients[layer].view);
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
  std::vector<std::vector<float>> losses(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] {
      SessionOptions options;
      options.trace = argc == 3 ? &trace : nullptr;
      auto session =
          check(Session::create(plan, std::move(worlds[rank]), options));
      trainRank(*session, models[rank], data, losses[rank]);
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
