//===- two-models.cpp - A program written by the docs alone ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two models on four ranks that are threads: a small network in two
// micro-batches a step, and a line beside it, each with momentum of the
// program's own. Training stops in the middle, is saved, and goes on in new
// sessions. One process without Bagua does the same, and every bit must agree,
// whatever the plans' strategy.
//
//   two-models NETWORK.bagua LINE.bagua RUNS
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Session.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace bagua::runtime;

namespace {
constexpr int kRanks = 4, kInputs = 16, kHidden = 24, kSamples = 8;
constexpr int kMicroBatches = 2, kStepsToStop = 6, kSteps = 12;
constexpr float kMomentum = 0.9f, kRate = 0.05f;

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "two-models: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

void check(const absl::Status &status) {
  if (!status.ok())
    fail(status.ToString());
}

template <typename T> T check(absl::StatusOr<T> value) {
  check(value.status());
  return *std::move(value);
}

/// Tensors by the names that the plan has, in the order in which backward makes
/// their gradients.
struct Tensors {
  std::vector<std::string> names;
  std::vector<std::vector<float>> values;
};

Tensors makeNetwork() {
  std::mt19937 random(1);
  Tensors network{{"out.0", "out.1", "hidden.0", "hidden.1"},
                  {std::vector<float>(kHidden), std::vector<float>(1),
                   std::vector<float>(kHidden * kInputs),
                   std::vector<float>(kHidden)}};
  for (std::vector<float> &values : network.values)
    for (float &value : values)
      value = static_cast<float>(random() % 2001) / 4000 - 0.25f;
  return network;
}

Tensors makeLine() {
  return {{"line.0", "line.1"},
          {std::vector<float>(kInputs), std::vector<float>(1)}};
}

struct Sample {
  float x[kInputs], y;
};

std::vector<Sample> samplesOf(int rank, int64_t step, int batch) {
  std::mt19937 random(static_cast<unsigned>(step * 100 + rank * 10 + batch));
  std::vector<Sample> samples(kSamples);
  for (Sample &sample : samples) {
    sample.y = 0;
    for (int i = 0; i < kInputs; ++i) {
      sample.x[i] = static_cast<float>(random() % 2001) / 1000 - 1;
      sample.y += sample.x[i] * static_cast<float>(i % 3) / 10;
    }
  }
  return samples;
}

/// Where each gradient is; `made` is called when one is done.
using Gradients = std::vector<float *>;
using Made = std::function<void(size_t)>;
using AddGradients = void (*)(const Tensors &, const std::vector<Sample> &,
                              const Gradients &, const Made &);

void addOfNetwork(const Tensors &network, const std::vector<Sample> &samples,
                  const Gradients &gradients, const Made &made) {
  const float *v = network.values[0].data(), *w = network.values[2].data();
  std::vector<float> errors(samples.size());
  std::vector<float> hidden(samples.size() * kHidden);
  for (size_t s = 0; s < samples.size(); ++s) {
    float y = network.values[1][0];
    for (int h = 0; h < kHidden; ++h) {
      float sum = network.values[3][h];
      for (int i = 0; i < kInputs; ++i)
        sum += w[h * kInputs + i] * samples[s].x[i];
      hidden[s * kHidden + h] = std::tanh(sum);
      y += v[h] * hidden[s * kHidden + h];
    }
    errors[s] = (y - samples[s].y) / kSamples;
    for (int h = 0; h < kHidden; ++h)
      gradients[0][h] += errors[s] * hidden[s * kHidden + h];
    gradients[1][0] += errors[s];
  }
  made(0);
  made(1);
  for (size_t s = 0; s < samples.size(); ++s)
    for (int h = 0; h < kHidden; ++h) {
      float value = hidden[s * kHidden + h];
      float slope = errors[s] * v[h] * (1 - value * value);
      for (int i = 0; i < kInputs; ++i)
        gradients[2][h * kInputs + i] += slope * samples[s].x[i];
      gradients[3][h] += slope;
    }
  made(2);
  made(3);
}

void addOfLine(const Tensors &line, const std::vector<Sample> &samples,
               const Gradients &gradients, const Made &made) {
  for (const Sample &sample : samples) {
    float y = line.values[1][0];
    for (int i = 0; i < kInputs; ++i)
      y += line.values[0][i] * sample.x[i];
    float error = (y - sample.y) / kSamples;
    for (int i = 0; i < kInputs; ++i)
      gradients[0][i] += error * sample.x[i];
    gradients[1][0] += error;
  }
  made(0);
  made(1);
}

/// Params and momenta, and how their gradients come about.
struct Model {
  AddGradients add;
  int microBatches;
  Tensors params;
  std::vector<std::vector<float>> momenta;

  Model(AddGradients add, int microBatches, Tensors initial)
      : add(add), microBatches(microBatches), params(std::move(initial)) {
    for (const std::vector<float> &values : params.values)
      momenta.emplace_back(values.size());
  }

  /// Of all micro-batches; `made` is for the last of them.
  void addAll(int rank, int64_t step, const Gradients &gradients,
              const Made &made) const {
    for (size_t tensor = 0; tensor < gradients.size(); ++tensor)
      std::fill_n(gradients[tensor], params.values[tensor].size(), 0.0f);
    for (int batch = 0; batch < microBatches; ++batch)
      add(
          params, samplesOf(rank, step, batch), gradients,
          batch + 1 == microBatches ? made : [](size_t) {});
  }

  void update(size_t tensor, const float *gradient) {
    std::vector<float> &values = params.values[tensor];
    for (size_t i = 0; i < values.size(); ++i) {
      float &momentum = momenta[tensor][i];
      momentum = kMomentum * momentum + gradient[i];
      values[i] -= kRate * momentum;
    }
  }

  bool operator==(const Model &other) const {
    return params.values == other.params.values && momenta == other.momenta;
  }
};

std::vector<Model> makeModels() {
  std::vector<Model> models;
  models.emplace_back(addOfNetwork, kMicroBatches, makeNetwork());
  models.emplace_back(addOfLine, 1, makeLine());
  return models;
}

//===----------------------------------------------------------------------===//
// On four ranks
//===----------------------------------------------------------------------===//

/// When the program updates: at the end of a step, or before the forward of the
/// next one.
enum class Updates { InTime, Late };

/// A model in training: its session, and where the plan has its gradients.
class Training {
public:
  Training(std::unique_ptr<Session> opened, Model &model, Updates updates)
      : session(std::move(opened)), model(model), updates(updates) {
    for (size_t i = 0; i < model.params.names.size(); ++i) {
      const std::string &name = model.params.names[i];
      if (!session->programUpdates(name))
        fail(name + " is the plan's to update");
      TensorId id = check(session->find(name + ".grad"));
      std::vector<float> &own =
          memory.emplace_back(model.params.values[i].size());
      size_t bytes = own.size() * sizeof(float);
      absl::Status bound = session->bind(id, own.data(), bytes);
      if (!absl::IsFailedPrecondition(bound))
        check(bound);
      gradients.push_back(
          static_cast<float *>(check(session->address(id, bytes))));
      ids.push_back(id);
    }
  }

  Session &get() { return *session; }

  /// Backward, each gradient on its way as soon as it is made.
  void begin() {
    check(session->beginStep());
    catchUp();
    model.addAll(
        session->rank(), session->step(), gradients,
        [&](size_t tensor) { check(session->markReady(ids[tensor])); });
    owesUpdates = true;
  }

  void end() {
    if (updates == Updates::InTime)
      catchUp();
    check(session->endStep());
  }

  void finish() {
    check(session->finish());
    catchUp();
  }

private:
  void catchUp() {
    for (size_t tensor = 0; owesUpdates && tensor < ids.size(); ++tensor) {
      check(session->wait(ids[tensor]));
      model.update(tensor, gradients[tensor]);
    }
    owesUpdates = false;
  }

  std::unique_ptr<Session> session;
  Model &model;
  const Updates updates;
  bool owesUpdates = false;
  std::vector<std::vector<float>> memory;
  std::vector<TensorId> ids;
  Gradients gradients;
};

using Plans = std::vector<std::shared_ptr<const Plan>>;
using Worlds = std::vector<std::vector<std::unique_ptr<World>>>;

/// Trains a rank up to a step, from what `states` has of its sessions to what
/// it then has.
void trainRank(const Plans &plans, Updates updates, Worlds &worlds, int rank,
               int64_t end, std::vector<Model> &models,
               std::vector<std::string> &states) {
  std::vector<std::unique_ptr<Training>> trainings;
  for (size_t i = 0; i < plans.size(); ++i) {
    auto session =
        check(Session::create(plans[i], std::move(worlds[i][rank]), {}));
    if (!states[i].empty())
      check(session->loadState(states[i]));
    trainings.push_back(
        std::make_unique<Training>(std::move(session), models[i], updates));
    check(trainings.back()->get().start());
  }
  for (int64_t step = trainings[0]->get().step(); step < end; ++step) {
    for (auto &training : trainings)
      training->begin();
    for (auto &training : trainings)
      training->end();
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    trainings[i]->finish();
    states[i] = check(trainings[i]->get().saveState());
  }
}

/// By rank.
std::vector<std::vector<Model>> trainOnRanks(const Plans &plans,
                                             Updates updates) {
  std::vector<std::vector<Model>> models(kRanks, makeModels());
  std::vector<std::vector<std::string>> states(
      kRanks, std::vector<std::string>(plans.size()));
  for (int64_t end : {kStepsToStop, kSteps}) {
    Worlds worlds;
    for (size_t i = 0; i < plans.size(); ++i)
      worlds.push_back(createInProcessWorlds(kRanks));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&, rank, end] {
        trainRank(plans, updates, worlds, rank, end, models[rank],
                  states[rank]);
      });
    for (std::thread &rank : ranks)
      rank.join();
  }
  return models;
}

//===----------------------------------------------------------------------===//
// Alone
//===----------------------------------------------------------------------===//

std::vector<Model> trainAlone() {
  std::vector<Model> models = makeModels();
  for (Model &model : models)
    for (int64_t step = 0; step < kSteps; ++step) {
      std::vector<std::vector<std::vector<float>>> ofRanks(kRanks,
                                                           model.params.values);
      for (int rank = 0; rank < kRanks; ++rank) {
        Gradients gradients;
        for (std::vector<float> &values : ofRanks[rank])
          gradients.push_back(values.data());
        model.addAll(rank, step, gradients, [](size_t) {});
      }
      for (size_t tensor = 0; tensor < model.params.values.size(); ++tensor) {
        std::vector<float> &mean = ofRanks[0][tensor];
        for (size_t i = 0; i < mean.size(); ++i) {
          for (int rank = 1; rank < kRanks; ++rank)
            mean[i] += ofRanks[rank][tensor][i];
          mean[i] /= kRanks;
        }
        model.update(tensor, mean.data());
      }
    }
  return models;
}
} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage: two-models NETWORK.bagua LINE.bagua RUNS");
  Plans plans{check(Plan::fromFile(argv[1])), check(Plan::fromFile(argv[2]))};
  int runs = std::atoi(argv[3]);
  std::vector<Model> alone = trainAlone();
  for (int run = 0; run < runs; ++run)
    for (Updates updates : {Updates::InTime, Updates::Late})
      for (const std::vector<Model> &models : trainOnRanks(plans, updates))
        if (models != alone)
          fail("run " + std::to_string(run) + ": a rank differs");
  std::printf("%d runs, equal to one process\n", runs);
}
