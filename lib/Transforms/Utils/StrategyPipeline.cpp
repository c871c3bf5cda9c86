//===- StrategyPipeline.cpp - Rows of decisions as passes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages, in their order, and what of a row each of them is told.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/StrategyPipeline.h"

#include "bagua/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bagua;

using GivenOptions = llvm::StringMap<std::string>;

namespace {
/// Builds the text of one strategy's pipeline.
class PipelineBuilder {
public:
  PipelineBuilder(const Strategy &row, const GivenOptions &given)
      : row(row), given(given) {}

  void addPreparation();
  void addDecisions();
  std::string take() { return std::move(text); }

private:
  /// An option of a pass: its name there, and the setting that it is.
  using PassOption = std::pair<StringRef, Setting>;

  std::string valueOf(Setting setting) const;
  void addToStep(StringRef pass, ArrayRef<PassOption> options = {});
  void addToModule(StringRef pass, ArrayRef<PassOption> options = {});
  std::string describe(StringRef pass, ArrayRef<PassOption> options) const;
  void append(const std::string &stage);
  void addBucketize();
  void addCommunication();

  const Strategy &row;
  const GivenOptions &given;
  std::string text;
};
} // namespace

/// What the user says, else the row.
std::string PipelineBuilder::valueOf(Setting setting) const {
  if (const StrategyOption *option = row.findOption(setting))
    if (auto found = given.find(option->name); found != given.end())
      return found->second;
  return row.defaultOf(setting);
}

std::string PipelineBuilder::describe(StringRef pass,
                                      ArrayRef<PassOption> options) const {
  SmallVector<std::string> words;
  for (auto [name, setting] : options)
    words.push_back((name + "=" + valueOf(setting)).str());
  std::string stage = ("bagua-" + pass).str();
  return words.empty() ? stage : stage + "{" + llvm::join(words, " ") + "}";
}

void PipelineBuilder::append(const std::string &stage) {
  text += text.empty() ? stage : "," + stage;
}

void PipelineBuilder::addToStep(StringRef pass, ArrayRef<PassOption> options) {
  append("bagua.step(" + describe(pass, options) + ")");
}

void PipelineBuilder::addToModule(StringRef pass,
                                  ArrayRef<PassOption> options) {
  append(describe(pass, options));
}

void PipelineBuilder::addPreparation() {
  // Few large ops cost less to plan; where communication may start or must end,
  // they stay apart.
  addToStep("coarsen");
  // Whatever decides by time needs durations, of the coarse ops.
  addToStep("annotate-costs");
  // The algorithm says what is reduced, and promises it, before anything
  // decides how.
  append("bagua.step(bagua-relax{algorithm=" + std::string(row.relaxation) +
         "})");
}

/// Only what the row's policy reads; another begins with the pass's defaults.
void PipelineBuilder::addBucketize() {
  SmallVector<PassOption> options{{"policy", Setting::BucketPolicy}};
  switch (row.buckets.policy) {
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
    options.push_back({"wire", Setting::WireType});
    break;
  case BucketPolicy::None:
    break;
  }
  if (row.buckets.partitionBytes > 0)
    options.push_back({"partition-bytes", Setting::PartitionBytes});
  addToStep("bucketize", options);
}

/// How a bucket's all_reduce is made, by the row's form.
void PipelineBuilder::addCommunication() {
  switch (row.form) {
  case FormKind::Flat:
  case FormKind::Leader:
  case FormKind::Rail:
  case FormKind::Multilevel:
    addToStep("lower-hierarchy", {{"form", Setting::Form}});
    return;
  case FormKind::RailServers:
    // Servers get what the ranks of a node have summed.
    addToStep("lower-hierarchy", {{"form", Setting::Form}});
    addToStep("select-architecture", {{"servers", Setting::Servers}});
    return;
  case FormKind::Servers:
    addToStep("select-architecture", {{"servers", Setting::Servers}});
    return;
  case FormKind::Halves:
    addToStep("decouple",
              {{"update", Setting::ShardedUpdate}, {"form", Setting::Form}});
    return;
  }
}

void PipelineBuilder::addDecisions() {
  if (row.use == Strategy::Use::Search)
    // Tries the others and ends as the one that it finds.
    return addToModule(row.name, {{"evaluations", Setting::Evaluations},
                                  {"wire", Setting::WireType},
                                  {"updates", Setting::AllowedUpdates},
                                  {"memory", Setting::MemoryBytes}});
  // Which gradients travel together comes first: hierarchy and element type are
  // decided for what travels.
  addBucketize();
  // Before the hierarchy, so that all of its levels send the narrow type.
  addToStep("cast-wire", {{"type", Setting::WireType}});
  addCommunication();
  // The last moment at which the graph means what the algorithm said: from here
  // on, updates become the program's.
  addToModule("verify-graph");
  addToStep("schedule", {{"policy", Setting::Schedule},
                         {"credit-bytes", Setting::CreditBytes},
                         {"updates", Setting::UpdatesBy}});
  // Needs the launch order, for what may lie in whose place.
  addToStep("place", {{"max-bytes", Setting::MemoryBytes}});
  // What is exported has been proved to be free of races.
  addToStep("verify-schedule");
}

static llvm::Error errorOf(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The names of a strategy's options, for messages.
static std::string optionNames(const Strategy &strategy) {
  SmallVector<StringRef> names;
  for (const StrategyOption &option : strategy.options)
    names.push_back(option.name);
  return names.empty() ? "none" : llvm::join(names, ", ");
}

template <typename Enum>
static std::optional<std::string> checkWord(StringRef value) {
  if (parseWord<Enum>(std::string_view(value)))
    return std::nullopt;
  return wrongWord<Enum>(std::string_view(value));
}

/// What is wrong with a value; nothing if the pass that gets it reads it.
static std::optional<std::string> checkValue(const Strategy &strategy,
                                             Setting setting, StringRef value) {
  switch (setting) {
  case Setting::BucketPolicy:
    return checkWord<BucketPolicy>(value);
  case Setting::WireType:
    return checkWord<WireType>(value);
  case Setting::Form:
    return strategy.form == FormKind::Halves ? checkWord<HalvesChoice>(value)
                                             : checkWord<FormChoice>(value);
  case Setting::Servers:
    return checkWord<ServerUse>(value);
  case Setting::ShardedUpdate:
    return checkWord<UpdatedPart>(value);
  case Setting::Schedule:
    return checkWord<SchedulePolicy>(value);
  case Setting::UpdatesBy:
    return checkWord<UpdatesBy>(value);
  case Setting::AllowedUpdates:
    return checkWord<AllowedUpdates>(value);
  case Setting::Buckets: // which bagua-bucketize holds against the gradients
    return std::nullopt;
  case Setting::FirstBytes:
  case Setting::CapBytes:
  case Setting::CycleNs:
  case Setting::PartitionBytes:
  case Setting::CreditBytes:
  case Setting::MemoryBytes:
  case Setting::Evaluations:
    int64_t number;
    if (value.getAsInteger(0, number))
      return ("expected a whole number, found '" + value + "'").str();
    return std::nullopt;
  }
  llvm_unreachable("all settings are handled");
}

/// `option=value ...`; the options are the strategy's.
static llvm::Expected<GivenOptions> parseOptions(const Strategy &strategy,
                                                 StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  GivenOptions given;
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    auto *option = llvm::find_if(strategy.options,
                                 [name = name](const StrategyOption &option) {
                                   return name == StringRef(option.name);
                                 });
    if (option == strategy.options.end())
      return errorOf("strategy '" + StringRef(strategy.name) +
                     "' has no option '" + name + "'; its options are " +
                     optionNames(strategy));
    if (std::optional<std::string> wrong =
            checkValue(strategy, option->setting, value))
      return errorOf("option '" + name + "' of strategy '" +
                     StringRef(strategy.name) + "': " + *wrong);
    given[name] = value.str();
  }
  std::string updates = given.lookup("updates");
  if (given.lookup("update") == wordOf(UpdatedPart::Shard) &&
      !updates.empty() && updates != wordOf(UpdatesBy::Runtime))
    return errorOf("strategy '" + StringRef(strategy.name) +
                   "': expected updates=runtime with update=shard, for no "
                   "program has the shards, found updates=" +
                   updates);
  return given;
}

/// The row that a text names, and what it changes.
static llvm::Expected<std::pair<const Strategy *, GivenOptions>>
parseStrategy(StringRef text) {
  auto [name, options] = text.trim().split('{');
  name = name.trim();
  const Strategy *strategy = findStrategy(name);
  if (!strategy) {
    SmallVector<StringRef> names;
    for (const Strategy &entry : getStrategies())
      names.push_back(entry.name);
    return errorOf("expected a strategy (" + llvm::join(names, ", ") +
                   "), found '" + name + "'");
  }
  bool hasBrace = text.contains('{');
  if (hasBrace && (!options.consume_back("}") ||
                   options.find_first_of("{}") != StringRef::npos))
    return errorOf("expected NAME or NAME{option=value ...}, found '" + text +
                   "'");
  llvm::Expected<GivenOptions> given = parseOptions(*strategy, options);
  if (!given)
    return given.takeError();
  return std::make_pair(strategy, std::move(*given));
}

llvm::Expected<std::string> bagua::expandStrategy(StringRef text) {
  auto parsed = parseStrategy(text);
  if (!parsed)
    return parsed.takeError();
  PipelineBuilder builder(*parsed->first, parsed->second);
  builder.addPreparation();
  builder.addDecisions();
  return builder.take();
}

llvm::Expected<std::string> bagua::expandDecisions(StringRef text) {
  auto parsed = parseStrategy(text);
  if (!parsed)
    return parsed.takeError();
  PipelineBuilder builder(*parsed->first, parsed->second);
  builder.addDecisions();
  return builder.take();
}

std::string bagua::preparationPipeline() {
  // A search and the bound are of what it chooses among: data parallelism.
  GivenOptions none;
  PipelineBuilder builder(*findStrategy("auto"), none);
  builder.addPreparation();
  return builder.take();
}

void bagua::registerStrategyPipeline() {
  std::string description = "Compile by a strategy: NAME or NAME{option=value "
                            "...}, with NAME one of";
  for (const Strategy &strategy : getStrategies())
    description += " " + std::string(strategy.name);
  // Registration keeps the reference.
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
