//===- Strategies.cpp - Published systems as pipelines --------------------===//
//
// The table, and the substitution of options.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Strategies.h"

#include "bagua/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;

// What every strategy begins and ends with.
#define PREPARE "coarsen,annotate-costs,relax,"
#define FINISH ",place{max-bytes=${memory=0}},verify-schedule"
// What a bucket becomes: element type on the wire and hierarchy.
#define SEND(FORM)                                                             \
  "cast-wire{type=${wire=none}},lower-hierarchy{form=${form=" FORM             \
  "}},verify-graph"

#define PS(SERVERS)                                                            \
  "cast-wire{type=${wire=none}},select-architecture{servers=${"                \
  "servers=" SERVERS "}},verify-graph"

static constexpr Strategy kStrategies[] = {
    {"auto", "the best of all others and of their options, by simulation",
     "auto{evaluations=${evaluations=500} wire=${wire=none} "
     "memory=${memory=0}}"},
    {"bagua-allreduce", "Gan et al., BAGUA, VLDB 2021",
     "bucketize{policy=${fusion=size} cap-bytes=${cap-bytes=10485760}}," SEND(
         "leader") ",schedule{policy=${overlap=wfbp}}"},
    {"blueconnect", "Cho et al., BlueConnect, MLSys 2019",
     "bucketize{policy=none}," SEND("multilevel") ",schedule{policy=wfbp}"},
    {"bsp-a2a", "Valiant, CACM 1990: one all_reduce a gradient, after backward",
     "bucketize{policy=none}," SEND("flat") ",schedule{policy=bsp}"},
    {"bsp-ps", "Li et al., Parameter Server, OSDI 2014, without overlap",
     "bucketize{policy=none}," PS("spread") ",schedule{policy=bsp}"},
    {"byteps", "Jiang et al., BytePS, OSDI 2020",
     "bucketize{policy=none partition-bytes=${partition-bytes=4096000}},"
     "cast-wire{type=${wire=none}},lower-hierarchy{form=${form=rail}},"
     "select-architecture{servers=${servers=spread}},verify-graph,"
     "schedule{policy=priority credit-bytes=${credit-bytes=8192000}}"},
    {"bytescheduler-a2a", "Peng et al., ByteScheduler, SOSP 2019",
     "bucketize{policy=none partition-bytes=${partition-bytes=4096000}}," SEND(
         "flat") ",schedule{policy=priority "
                 "credit-bytes=${credit-bytes=8192000} updates=runtime}"},
    {"bytescheduler-ps",
     "Peng et al., ByteScheduler, SOSP 2019, with a parameter server",
     "bucketize{policy=none partition-bytes=${partition-bytes=4096000}}," PS(
         "spread") ",schedule{policy=priority "
                   "credit-bytes=${credit-bytes=8192000} updates=runtime}"},
    {"custom", "every bucket by itself: what auto finds",
     "bucketize{policy=list buckets=${buckets=}},"
     "cast-wire{type=${wire=none}},lower-hierarchy{form=flat},verify-graph,"
     "schedule{policy=${policy=wfbp} credit-bytes=${credit-bytes=0} "
     "updates=${updates=program}}",
     /*isPreset=*/false},
    {"ddp", "Li et al., PyTorch Distributed, VLDB 2020",
     "bucketize{policy=ddp first-bytes=${first-bytes=1048576} "
     "cap-bytes=${cap-bytes=26214400}}," SEND("flat") ",schedule{policy=wfbp}"},
    {"dear", "Zhang et al., DeAR, ICDCS 2023",
     "bucketize{policy=size cap-bytes=${cap-bytes=25000000}},"
     "cast-wire{type=${wire=none}},decouple{update=${update=whole} "
     "form=${form=flat}},verify-graph,schedule{policy=decoupled "
     "updates=runtime}"},
    {"horovod", "Sergeev and Del Balso, Horovod, 2018",
     "bucketize{policy=cycle cap-bytes=${buffer-bytes=134217728} "
     "cycle-ns=${cycle-ns=1000000}}," SEND("flat") ",schedule{policy=wfbp}"},
    {"mg-wfbp", "Shi et al., MG-WFBP, INFOCOM 2019",
     "bucketize{policy=mg-wfbp form=${form=flat} wire=${wire=none}}," SEND(
         "flat") ",schedule{policy=wfbp}"},
    {"p3", "Jayarajan et al., Priority-based Parameter Propagation, SysML 2019",
     "bucketize{policy=none partition-bytes=${partition-bytes=200000}}," PS(
         "spread") ",schedule{policy=priority "
                   "credit-bytes=${credit-bytes=0} updates=runtime}"},
    {"wfbp-a2a", "Zhang et al., Poseidon, ATC 2017",
     "bucketize{policy=none}," SEND("flat") ",schedule{policy=wfbp}"},
    {"wfbp-ps", "Zhang et al., Poseidon, ATC 2017, with a parameter server",
     "bucketize{policy=none}," PS("spread") ",schedule{policy=wfbp}"},
};

/// What is searched for brings its own end.
static bool isSearch(const Strategy &strategy) {
  return strategy.name == "auto";
}

/// The pipeline with its options still to be filled in, but for its begin.
static std::string textOf(const Strategy &strategy) {
  return (strategy.pipeline + (isSearch(strategy) ? "" : FINISH)).str();
}

ArrayRef<Strategy> bagua::getStrategies() { return kStrategies; }

static llvm::Error errorOf(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Replaces each `${option=default}` by the value given; an option may stand in
/// several passes. Adds what it found to `known`.
static std::string substitute(StringRef pipeline,
                              const llvm::StringMap<std::string> &given,
                              llvm::StringSet<> &known) {
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
    known.insert(name);
    pipeline = after;
  }
}

SmallVector<StrategyOption> bagua::optionsOf(const Strategy &strategy) {
  SmallVector<StrategyOption> options;
  std::string text = textOf(strategy);
  StringRef pipeline = text;
  while (true) {
    pipeline = pipeline.split("${").second;
    if (pipeline.empty())
      return options;
    auto [name, value] = pipeline.split('}').first.split('=');
    if (llvm::none_of(options, [&, name = name](const StrategyOption &option) {
          return option.name == name;
        }))
      options.push_back({name.str(), value.str()});
  }
}

/// The names of a strategy's options, for messages.
static std::string optionNames(const Strategy &strategy) {
  SmallVector<std::string> names;
  for (const StrategyOption &option : optionsOf(strategy))
    names.push_back(option.name);
  return names.empty() ? "none" : llvm::join(names, ", ");
}

/// Writes pass names in full and wraps what runs on steps.
static std::string completePipeline(StringRef text) {
  // Commas in braces are those of options.
  SmallVector<StringRef> passes;
  int depth = 0;
  size_t begin = 0;
  for (auto [index, c] : llvm::enumerate(text)) {
    depth += (c == '{') - (c == '}');
    if (c == ',' && depth == 0) {
      passes.push_back(text.slice(begin, index));
      begin = index + 1;
    }
  }
  if (begin < text.size())
    passes.push_back(text.substr(begin));
  std::string result;
  for (auto [index, pass] : llvm::enumerate(passes)) {
    if (index)
      result += ',';
    bool onModule = pass == "verify-graph" || pass.starts_with("auto{");
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
  llvm::StringSet<> known;
  std::string body = substitute(textOf(*strategy), given, known);
  for (StringRef option : order)
    if (!known.contains(option))
      return errorOf("strategy '" + name + "' has no option '" + option +
                     "'; its options are " + optionNames(*strategy));
  // What all begin with is done once before a search: on its own result it
  // changes nothing.
  return completePipeline(PREPARE + body);
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
