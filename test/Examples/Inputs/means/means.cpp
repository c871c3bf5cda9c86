//===- means.cpp - A rank in C++, as means.c ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   means-cpp PLAN [HOST [INTERFACE]]
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Launch.h"
#include "bagua/Runtime/PlanTensor.h"
#include "bagua/Runtime/Session.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace bagua::runtime;

namespace {

constexpr int kSteps = 5;

void check(const absl::Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "means-cpp: %s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T> T get(absl::StatusOr<T> result) {
  check(result.status());
  return *std::move(result);
}

float valueOf(int rank, int64_t step, size_t tensor, size_t element) {
  return static_cast<float>(rank + step + tensor % 50 + element % 100);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "means-cpp: expected a plan\n");
    return 2;
  }
  ProcessOptions options;
  options.host = argc > 2 ? argv[2] : "";
  options.interface = argc > 3 ? argv[3] : "";
  std::shared_ptr<const Plan> plan = get(Plan::fromFile(argv[1]));
  std::optional<Launch> launch = get(findLaunch(std::getenv));
  if (!launch) {
    std::fprintf(stderr, "means-cpp: expected a launcher\n");
    return 2;
  }
  std::shared_ptr<World> world = get(connectLaunched(*launch, "", options));
  std::unique_ptr<Session> session = get(Session::create(plan, world, {}));

  const std::vector<PlanTensor> tensors = tensorsOf(*plan);
  std::map<size_t, std::vector<char>> memory;
  for (size_t i = 0; i < tensors.size(); ++i) {
    session->programUpdates(tensors[i].name);
    if (tensors[i].isGivenByProgram && tensors[i].role == TensorRole::Gradient)
      continue;
    auto bytes = static_cast<size_t>(session->localBytes(TensorId(i)));
    memory[i].resize(bytes);
    get(session->bindOrLocate(TensorId(i), memory[i].data(), bytes));
  }
  check(session->start());

  int64_t means = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::map<size_t, std::vector<float>> gradients;
    check(session->beginStep());
    for (size_t i = tensors.size(); i-- > 0;) {
      if (!tensors[i].isGivenByProgram)
        continue;
      if (memory.count(i)) {
        check(session->markReady(TensorId(i)));
        continue;
      }
      std::vector<float> &gradient = gradients[i];
      for (size_t j = 0; j < session->localBytes(TensorId(i)) / sizeof(float);
           ++j)
        gradient.push_back(valueOf(world->rank(), step, i, j));
      check(session->markReady(TensorId(i), gradient.data(),
                               gradient.size() * sizeof(float)));
    }
    for (size_t i = 0; i < tensors.size(); ++i)
      check(session->wait(TensorId(i)));
    for (const auto &[i, gradient] : gradients) {
      ++means;
      for (size_t j = 0; j < gradient.size(); ++j) {
        float expected =
            valueOf(0, step, i, j) + static_cast<float>(world->size() - 1) / 2;
        if (gradient[j] == expected)
          continue;
        std::fprintf(stderr, "means-cpp: rank %d: %s: expected %g, found %g\n",
                     world->rank(), tensors[i].name.c_str(), expected,
                     gradient[j]);
        return 1;
      }
    }
    check(session->endStep());
  }
  check(session->finish());
  if (world->rank() == 0)
    std::printf("%d ranks on %d hosts, %d gradients are means\n", world->size(),
                world->hostCount(), static_cast<int>(means));
  return 0;
}
