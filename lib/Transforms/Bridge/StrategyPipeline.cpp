//===- StrategyPipeline.cpp - Rows of decisions as passes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages in their order, and the settings that each of them gets.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/StrategyPipeline.h"

#include "bagua/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

#include <utility>
#include <vector>

using namespace mlir;
using namespace bagua;

namespace {
/// Builds the text of one strategy's pipeline.
class PipelineBuilder {
public:
  explicit PipelineBuilder(const ParsedStrategy &strategy)
      : row(*strategy.row), settings(strategy.settings) {}

  void addPreparation();
  void addDecisions();
  void addGraphLevel();
  void addScheduledLevel();
  bool searches() const { return row.use == Strategy::Use::Search; }
  /// The stages since the last call, as the pipeline of a module.
  std::string takeForModule();
  /// The same as the pipeline of a step; all of them must be of steps.
  std::string takeForStep();

private:
  /// An option of a pass: its name, and the setting whose value it gets.
  using PassOption = std::pair<StringRef, Setting>;

  void addToStep(StringRef pass, ArrayRef<PassOption> options = {});
  void addToModule(StringRef pass, ArrayRef<PassOption> options = {});
  std::string describe(StringRef pass, ArrayRef<PassOption> options) const;
  void addBucketize();
  void addCommunication();

  const Strategy &row;
  const StrategySettings &settings;
  struct Stage {
    std::string pass;
    bool isOfStep;
  };
  std::vector<Stage> stages;
};
} // namespace

std::string PipelineBuilder::describe(StringRef pass,
                                      ArrayRef<PassOption> options) const {
  SmallVector<std::string> words;
  for (auto [name, setting] : options)
    words.push_back((name + "=" + print(settings, setting)).str());
  std::string stage = ("bagua-" + pass).str();
  return words.empty() ? stage : stage + "{" + llvm::join(words, " ") + "}";
}

void PipelineBuilder::addToStep(StringRef pass, ArrayRef<PassOption> options) {
  stages.push_back({describe(pass, options), /*isOfStep=*/true});
}

void PipelineBuilder::addToModule(StringRef pass,
                                  ArrayRef<PassOption> options) {
  stages.push_back({describe(pass, options), /*isOfStep=*/false});
}

std::string PipelineBuilder::takeForModule() {
  SmallVector<std::string> texts;
  for (const Stage &stage : std::exchange(stages, {}))
    texts.push_back(stage.isOfStep ? "bagua.step(" + stage.pass + ")"
                                   : stage.pass);
  return llvm::join(texts, ",");
}

std::string PipelineBuilder::takeForStep() {
  SmallVector<std::string> texts;
  for (const Stage &stage : std::exchange(stages, {})) {
    assert(stage.isOfStep && "expected no stage of a module");
    texts.push_back(stage.pass);
  }
  return llvm::join(texts, ",");
}

void PipelineBuilder::addPreparation() {
  // Ops that move must not have become parts of others.
  addToStep("prefetch");
  // Few large ops cost less to plan. Ops stay apart where communication may
  // start or must end.
  addToStep("coarsen");
  // Passes that decide by time need durations of the coarse ops.
  addToStep("annotate-costs");
  // The algorithm decides what is reduced, and promises it, before any pass
  // decides how.
  stages.push_back(
      {"bagua-relax{algorithm=" + std::string(row.relaxation) + "}", true});
}

/// Adds only the options that the policy reads.
void PipelineBuilder::addBucketize() {
  SmallVector<PassOption> options{{"policy", Setting::BucketPolicy}};
  switch (settings.buckets.policy) {
  case BucketPolicy::Ddp:
    options.push_back({"first-bytes", Setting::FirstBytes});
    [[fallthrough]];
  case BucketPolicy::Size:
    options.push_back({"cap-bytes", Setting::CapBytes});
    break;
  case BucketPolicy::Cycle:
    options.push_back({"cap-bytes", Setting::CapBytes});
    options.push_back({"cycle-ns", Setting::CycleNs});
    [[fallthrough]];
  case BucketPolicy::MgWfbp:
  case BucketPolicy::Optimal:
    options.push_back({"form", Setting::Form});
    options.push_back({"wire", Setting::WireType});
    break;
  case BucketPolicy::List:
    options.push_back({"buckets", Setting::Buckets});
    if (!settings.otherList.empty())
      options.push_back({"others", Setting::Others});
    options.push_back({"wire", Setting::WireType});
    break;
  case BucketPolicy::None:
    break;
  }
  if (row.buckets.partitionBytes > 0)
    options.push_back({"partition-bytes", Setting::PartitionBytes});
  addToStep("bucketize", options);
}

/// Adds the passes that decide how a bucket's all_reduce is made.
void PipelineBuilder::addCommunication() {
  bool isShard = settings.updatedPart == UpdatedPart::Shard;
  if (settings.isHalved || isShard)
    addToStep("decouple",
              {{"update", Setting::ShardedUpdate}, {"form", Setting::Form}});
  if (settings.isHalved)
    return;
  SmallVector<PassOption> options{{"form", Setting::Form}};
  if (settings.servers != ServerUse::None)
    options.push_back({"servers", Setting::Servers});
  addToStep("lower-hierarchy", options);
}

void PipelineBuilder::addGraphLevel() {
  // Buckets come first: hierarchy and element type are decided for whole
  // buckets.
  addBucketize();
  // The cast precedes the hierarchy, so that all levels send the narrow type.
  addToStep("cast-wire", {{"type", Setting::WireType}});
  addCommunication();
  // The all_reduces with a codec that no hierarchy has taken.
  addToStep("lower-compression");
}

void PipelineBuilder::addScheduledLevel() {
  addToStep("schedule", {{"policy", Setting::Schedule},
                         {"credit-bytes", Setting::CreditBytes},
                         {"updates", Setting::UpdatesBy}});
  // Places depend on the launch order.
  addToStep("place", {{"max-bytes", Setting::MemoryBytes}});
  // Every exported plan has been proved free of races.
  addToStep("verify-schedule");
}

void PipelineBuilder::addDecisions() {
  if (searches())
    // A search tries other strategies and compiles the step by the plan that it
    // finds.
    return addToModule(row.name, {{"evaluations", Setting::Evaluations},
                                  {"wire", Setting::WireType},
                                  {"updates", Setting::AllowedUpdates},
                                  {"memory", Setting::MemoryBytes}});
  addGraphLevel();
  // This is the last point at which the graph has the meaning that the
  // algorithm gave it: later, updates become the program's.
  stages.push_back({kProofAtGraphLevel.str(), false});
  addScheduledLevel();
  // Each step is placed by itself.
  stages.push_back({kProofOfStates.str(), false});
}

static llvm::Expected<ParsedStrategy> parse(StringRef text) {
  ParsedStrategy parsed = parseStrategy(std::string_view(text));
  if (!parsed.error.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   parsed.error);
  return parsed;
}

llvm::Expected<SmallVector<CompiledStep>>
bagua::expandStepList(StringRef text) {
  auto list = parseStepList(text);
  if (!list)
    return list.takeError();
  SmallVector<CompiledStep> steps;
  for (const StepStrategy &entry : *list) {
    auto fail = [&](const std::string &message) {
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "step '" + entry.step + "': " + message);
    };
    llvm::Expected<ParsedStrategy> parsed = parse(entry.strategy);
    if (!parsed)
      return fail(llvm::toString(parsed.takeError()));
    PipelineBuilder builder(*parsed);
    if (builder.searches())
      return fail("expected a strategy without a search, found '" +
                  entry.strategy + "'");
    builder.addPreparation();
    builder.addGraphLevel();
    CompiledStep step{entry, builder.takeForStep(), {}};
    builder.addScheduledLevel();
    step.scheduledLevel = builder.takeForStep();
    steps.push_back(std::move(step));
  }
  return steps;
}

llvm::Expected<std::string> bagua::expandStrategy(StringRef text) {
  if (isStepList(text)) {
    if (auto steps = expandStepList(text); !steps)
      return steps.takeError();
    return ("bagua-compile-steps{strategies={" + text.trim() + "}}").str();
  }
  llvm::Expected<ParsedStrategy> parsed = parse(text);
  if (!parsed)
    return parsed.takeError();
  PipelineBuilder builder(*parsed);
  builder.addPreparation();
  builder.addDecisions();
  return builder.takeForModule();
}

llvm::Expected<std::string> bagua::expandDecisions(StringRef text) {
  llvm::Expected<ParsedStrategy> parsed = parse(text);
  if (!parsed)
    return parsed.takeError();
  PipelineBuilder builder(*parsed);
  builder.addDecisions();
  return builder.takeForModule();
}

std::string bagua::preparationPipeline() {
  // A search and the bound are about data parallelism, among whose plans it
  // chooses.
  ParsedStrategy search = parseStrategy("auto");
  PipelineBuilder builder(search);
  builder.addPreparation();
  return builder.takeForModule();
}

void bagua::registerStrategyPipeline() {
  std::string description = "Compile by a strategy, NAME or NAME{option=value "
                            "...}, or each step by its own, @STEP=NAME ...; "
                            "with NAME one of";
  for (const Strategy &strategy : getStrategies())
    description += " " + std::string(strategy.name);
  // Registration keeps a reference to the text.
  static const std::string kDescription = description;
  registerPassPipeline(
      "bagua-strategy", kDescription,
      [](OpPassManager &manager, StringRef text,
         function_ref<LogicalResult(const Twine &)> emitError) {
        llvm::Expected<std::string> pipeline = expandStrategy(text);
        if (!pipeline)
          return emitError(llvm::toString(pipeline.takeError()));
        manager.addPass(createRecordStrategyPass({text.str()}));
        return parsePassPipeline(*pipeline, manager);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
