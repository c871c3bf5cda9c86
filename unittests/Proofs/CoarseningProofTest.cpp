//===- CoarseningProofTest.cpp - Coarsening against the graph proof -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that the graph proof accepts must be accepted when it is coarsened,
// and one that it refuses must be refused. The generator makes steps of many
// small ops that differ, beside each other, in the axes along which ranks agree
// about their results: data, tensor and sequence parallelism in one step,
// params that vary along some axes, collectives over one axis or two,
// statistics of a batch.
//
//===----------------------------------------------------------------------===//
#include "ProofReport.h"
#include "Random.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Dialect/Bagua/GraphProof.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"

#include <optional>
#include <string>

using namespace mlir;
using namespace bagua::proofs;

namespace {
struct Made {
  std::string name;
  /// One bit for each axis along which ranks differ.
  unsigned varies;
};

/// Writes one imported step.
class FineSteps {
public:
  explicit FineSteps(Random &random) : random(random) {}

  std::string write();

private:
  std::string listOf(unsigned axes) const;
  /// One of the last values, or any; of those that vary along no axis besides
  /// `most`.
  const Made *pick(unsigned most);
  void compute(const std::string &phase);
  void reduceActivation();
  void addParam(unsigned index);
  void addStatistic();

  Random &random;
  std::vector<std::string> axes;
  unsigned dataAxes = 0, allAxes = 0;
  std::vector<Made> values;
  std::vector<std::pair<std::string, unsigned>> params;
  std::vector<std::string> arguments, nexts;
  std::string body, updates;
};
} // namespace

std::string FineSteps::listOf(unsigned mask) const {
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i)
    if (mask >> i & 1)
      text += (text.empty() ? "" : ", ") + axes[i];
  return "[" + text + "]";
}

const Made *FineSteps::pick(unsigned most) {
  size_t window =
      random.chance(70) ? std::min<size_t>(4, values.size()) : values.size();
  const Made &value = values[values.size() - 1 - random.below(window)];
  return value.varies & ~most ? nullptr : &value;
}

void FineSteps::compute(const std::string &phase) {
  // Mostly of values that agree alike, or every value would soon vary.
  unsigned most = random.chance(60) ? dataAxes : allAxes;
  const Made *first = pick(most), *second = pick(most);
  if (!first || !second)
    return;
  Made result{"%v" + std::to_string(values.size()),
              first->varies | second->varies};
  body += "  " + result.name + " = bagua.compute " + phase + " \"op\"(" +
          first->name + ", " + second->name + ") : (!t, !t) -> (!t)\n";
  values.push_back(result);
}

void FineSteps::reduceActivation() {
  const Made *operand = pick(allAxes);
  unsigned over = random.below(allAxes + 1) & ~dataAxes;
  if (!over || (operand->varies & over) != over)
    return;
  Made result{"%v" + std::to_string(values.size()), operand->varies & ~over};
  body += "  " + result.name + " = bagua.all_reduce sum " + operand->name +
          " over " + listOf(over) + " : !t\n";
  values.push_back(result);
}

/// The gradient of a param, of one or two ops.
void FineSteps::addParam(unsigned index) {
  auto [param, varies] = params[index];
  // Sometimes ranks disagree where they must not.
  unsigned most = random.chance(5) ? allAxes : dataAxes | varies;
  const Made *first = nullptr, *second = nullptr;
  for (int i = 0; i < 20 && !(first && second); ++i) {
    first = first ? first : pick(most);
    second = second ? second : pick(most);
  }
  if (!first || !second)
    first = second = &values.front();
  std::string number = std::to_string(index);
  body += "  %d" + number + ", %g" + number +
          " = bagua.compute backward \"grad\"(" + first->name + ", " +
          second->name + ") : (!t, !t) -> (!t, !t grad \"" + param + "\")\n";
  values.push_back({"%d" + number, first->varies | second->varies});
  updates += "  %n" + number + " = bagua.sgd (%" + param + ") grad %g" +
             number + " lr 0.1 : !t\n";
  nexts.push_back("%n" + number);
}

/// A buffer whose next value is the mean of a statistic of the batch, computed
/// in small ops beside what each rank computes by itself.
void FineSteps::addStatistic() {
  const Made *operand = nullptr;
  for (int i = 0; i < 20 && !operand; ++i)
    if (operand = pick(dataAxes); operand && operand->varies != dataAxes)
      operand = nullptr;
  if (!operand)
    return;
  arguments.push_back("buffer %s \"s\" : !t");
  body += "  %m = bagua.all_reduce mean " + operand->name + " over " +
          listOf(dataAxes) + " : !t\n";
  body += "  %s1 = bagua.compute forward \"scale\"(%m, %s) : (!t, !t) -> "
          "(!t)\n";
  compute("forward");
  body += "  %s2 = bagua.compute forward \"add\"(%s1) : (!t) -> (!t)\n";
  nexts.push_back("%s2");
}

std::string FineSteps::write() {
  static const std::vector<std::vector<std::string>> kAxes = {
      {"node", "gpu"},
      {"data", "tp"},
      {"data", "tp", "sp"},
      {"node", "gpu", "tp"}};
  axes = random.pick(kAxes);
  std::string cluster;
  for (size_t i = 0; i < axes.size(); ++i) {
    allAxes |= 1u << i;
    if (axes[i] != "tp" && axes[i] != "sp")
      dataAxes |= 1u << i;
    cluster += (i ? ", " : "") + ("#bagua.axis<\"" + axes[i]) +
               "\", size = 2, latency_ns = 0, bytes_per_s = 1>";
  }
  arguments.push_back("batch %x \"x\" : !t");
  values.push_back({"%x", dataAxes});
  for (int64_t i = random.between(1, 4); i > 0; --i) {
    std::string name = "w" + std::to_string(params.size());
    unsigned varies =
        random.chance(50) ? allAxes & ~dataAxes & random.below(allAxes + 1) : 0;
    arguments.push_back("param %" + name + " \"" + name + "\"" +
                        (varies ? " varies " + listOf(varies) : "") + " : !t");
    params.push_back({name, varies});
    values.push_back({"%" + name, varies});
  }
  for (int64_t i = random.between(2, 12); i > 0; --i)
    random.chance(20) ? reduceActivation() : compute("forward");
  bool hasStatistic = random.chance(40);
  if (hasStatistic)
    addStatistic();
  // In the order of the arguments; the buffer comes last.
  std::vector<std::string> buffer(std::move(nexts));
  nexts.clear();
  for (unsigned index = 0; index < params.size(); ++index) {
    for (int64_t i = random.between(0, 5); i > 0; --i)
      random.chance(20) ? reduceActivation() : compute("backward");
    addParam(index);
  }
  nexts.insert(nexts.end(), buffer.begin(), buffer.end());
  std::string head, tail, types;
  for (const std::string &argument : arguments)
    head += (head.empty() ? "" : ", ") + argument;
  for (const std::string &next : nexts) {
    tail += (tail.empty() ? "" : ", ") + next;
    types += types.empty() ? "!t" : ", !t";
  }
  return "!t = tensor<4xf32>\nbagua.cluster @c axes [" + cluster +
         "]\nbagua.step @step on @c data " + listOf(dataAxes) + " (" + head +
         ") {\n" + body + updates + "  bagua.yield " + tail + " : " + types +
         "\n}\n";
}

/// The first error of the passes and the graph proof behind them.
static std::optional<std::string> prove(ModuleOp module, StringRef passes) {
  std::string first;
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (first.empty())
                                      first = diagnostic.str();
                                    return success();
                                  });
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  std::string pipeline = ("bagua.step(" + passes + ")").str();
  if (failed(parsePassPipeline(pipeline, manager, llvm::errs())) ||
      failed(manager.run(module)) || failed(bagua::verifyGraph(module)))
    return first;
  return std::nullopt;
}

TEST(CoarseningProofTest, AgreesBeforeAndAfter) {
  static const bool isRegistered = (bagua::registerBaguaPasses(), true);
  ASSERT_TRUE(isRegistered);
  MLIRContext context{MLIRContext::Threading::DISABLED};
  context.loadDialect<bagua::BaguaDialect>();
  Random random(seedBase() + 38);
  int accepted = 0, refused = 0, merged = 0;
  const int count = std::getenv("BAGUA_FULL_TESTS") ? 40'000 : 4'000;
  for (int i = 0; i < count; ++i) {
    std::string text = FineSteps(random).write();
    auto fine = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(fine) << text;
    OwningOpRef<ModuleOp> coarse = fine->clone();
    auto error = prove(*fine, "bagua-relax");
    auto coarseError = prove(*coarse, "bagua-coarsen,bagua-relax");
    ASSERT_EQ(error.has_value(), coarseError.has_value())
        << text << "fine: " << error.value_or("accepted")
        << "\ncoarse: " << coarseError.value_or("accepted");
    ++(error ? refused : accepted);
    auto sizeOf = [](ModuleOp module) {
      int64_t ops = 0;
      module.walk([&](Operation *) { ++ops; });
      return ops;
    };
    merged += sizeOf(*coarse) < sizeOf(*fine);
  }
  EXPECT_GT(accepted, count / 2);
  EXPECT_GT(refused, count / 100);
  EXPECT_GT(merged, count / 4);
  std::cout << accepted << " accepted, " << refused << " refused, " << merged
            << " with fewer ops\n";
}
