//===- Strategies.cpp - Published systems as pipelines --------------------===//
//
// The table, and the substitution of options.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Strategies.h"

#include "bagua/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bagua;

// What every strategy begins and ends with.
#define PREPARE "coarsen,annotate-costs,relax,"
#define FINISH ",place,verify-schedule"

static constexpr Strategy kStrategies[] = {
    {"bsp-a2a", "Valiant, CACM 1990: one all_reduce a gradient, after backward",
     "bucketize{policy=none},verify-graph,schedule{policy=bsp}"},
    {"ddp", "Li et al., PyTorch Distributed, VLDB 2020",
     "bucketize{policy=ddp first-bytes=${first-bytes=1048576} "
     "cap-bytes=${cap-bytes=26214400}},verify-graph,schedule{policy=wfbp}"},
    {"horovod", "Sergeev and Del Balso, Horovod, 2018",
     "bucketize{policy=cycle cap-bytes=${buffer-bytes=134217728} "
     "cycle-ns=${cycle-ns=1000000}},verify-graph,schedule{policy=wfbp}"},
    {"wfbp-a2a", "Zhang et al., Poseidon, ATC 2017",
     "bucketize{policy=none},verify-graph,schedule{policy=wfbp}"},
};

ArrayRef<Strategy> bagua::getStrategies() { return kStrategies; }

static llvm::Error errorOf(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Replaces each `${option=default}` by the value given, and takes that value
/// out of `given`.
static llvm::Expected<std::string>
substitute(StringRef pipeline, llvm::StringMap<std::string> &given) {
  std::string result;
  while (true) {
    auto [before, rest] = pipeline.split("${");
    result += before;
    if (rest.empty())
      return result;
    auto [option, after] = rest.split('}');
    auto [name, value] = option.split('=');
    auto found = given.find(name);
    result += found == given.end() ? value.str() : found->second;
    if (found != given.end())
      given.erase(found);
    pipeline = after;
  }
}

/// The options of a pipeline, for messages.
static std::string optionsOf(StringRef pipeline) {
  SmallVector<StringRef> names;
  while (true) {
    pipeline = pipeline.split("${").second;
    if (pipeline.empty())
      return names.empty() ? "none" : llvm::join(names, ", ");
    names.push_back(pipeline.split('=').first);
  }
}

/// Writes pass names in full and wraps what runs on steps.
static std::string completePipeline(StringRef text) {
  std::string result;
  SmallVector<StringRef> passes;
  text.split(passes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (auto [index, pass] : llvm::enumerate(passes)) {
    if (index)
      result += ',';
    bool onModule = pass == "verify-graph";
    result += (onModule ? Twine("bagua-") + pass
                        : Twine("bagua.step(bagua-") + pass + ")")
                  .str();
  }
  return result;
}

llvm::Expected<std::string> bagua::expandStrategy(StringRef text) {
  auto [name, options] = text.split('{');
  name = name.trim();
  const Strategy *strategy = llvm::find_if(
      kStrategies, [&](const Strategy &entry) { return entry.name == name; });
  if (strategy == std::end(kStrategies)) {
    SmallVector<StringRef> names;
    for (const Strategy &entry : kStrategies)
      names.push_back(entry.name);
    return errorOf("expected a strategy (" + llvm::join(names, ", ") +
                   "), found '" + name + "'");
  }
  options = options.trim();
  options.consume_back("}");
  llvm::StringMap<std::string> given;
  SmallVector<StringRef> words;
  options.split(words, ' ', -1, /*KeepEmpty=*/false);
  SmallVector<StringRef> order;
  for (StringRef word : words) {
    auto [option, value] = word.split('=');
    given[option] = value.str();
    order.push_back(option);
  }
  llvm::Expected<std::string> body = substitute(strategy->pipeline, given);
  if (!body)
    return body;
  for (StringRef option : order)
    if (given.count(option))
      return errorOf("strategy '" + name + "' has no option '" + option +
                     "'; its options are " + optionsOf(strategy->pipeline));
  return completePipeline(PREPARE + *body + FINISH);
}

std::string bagua::preparationPipeline() { return completePipeline(PREPARE); }

void bagua::registerStrategyPipeline() {
  std::string description = "Compile by a strategy: NAME or NAME{option=value "
                            "...}, with NAME one of";
  for (const Strategy &strategy : kStrategies)
    description += (" " + strategy.name).str();
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
