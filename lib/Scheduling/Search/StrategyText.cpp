//===- StrategyText.cpp - Strategies as users ask for them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns rows into settings, settings into text, and text into settings.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/StrategyText.h"

#include <charconv>
#include <set>

using namespace bagua;

StrategySettings bagua::settingsOf(const Strategy &row) {
  StrategySettings settings;
  settings.buckets = row.buckets;
  // Defaults for a user who chooses another policy than the row's.
  if (row.buckets.policy != BucketPolicy::Ddp)
    settings.buckets.firstBytes = kDdpFirstBytes;
  if (row.buckets.policy != BucketPolicy::Cycle)
    settings.buckets.cycleNs = kHorovodCycleNs;
  settings.wire = row.wire;
  settings.isHalved = row.form == FormKind::Halves;
  settings.form = static_cast<FormChoice>(hierarchyOf(row.form));
  settings.servers = isServed(row.form) ? ServerUse::Spread : ServerUse::None;
  settings.schedule = row.schedule;
  settings.updates =
      row.isUpdatedByRuntime ? UpdatesBy::Runtime : UpdatesBy::Program;
  return settings;
}

static UpdatesBy updatesBy(bool isUpdatedByRuntime,
                           const UserChoices &choices) {
  if (isUpdatedByRuntime)
    return UpdatesBy::Runtime;
  return choices.allows(UpdatesBy::Late) ? UpdatesBy::Late : UpdatesBy::Program;
}

StrategySettings bagua::settingsOf(const Strategy &row,
                                   const UserChoices &choices) {
  StrategySettings settings = settingsOf(row);
  settings.wire = choices.wire;
  settings.updates = updatesBy(choices.updates == AllowedUpdates::Any
                                   ? row.isUpdatedByRuntime
                                   : choices.allows(UpdatesBy::Runtime),
                               choices);
  settings.memoryBytes = choices.memoryBytes;
  return settings;
}

/// Returns the result of `visit` for the value of a setting, whatever its type.
template <typename Settings, typename Visitor>
static auto withValue(Settings &settings, Setting setting, Visitor visit) {
  switch (setting) {
  case Setting::BucketPolicy:
    return visit(settings.buckets.policy);
  case Setting::FirstBytes:
    return visit(settings.buckets.firstBytes);
  case Setting::CapBytes:
    return visit(settings.buckets.capBytes);
  case Setting::CycleNs:
    return visit(settings.buckets.cycleNs);
  case Setting::PartitionBytes:
    return visit(settings.buckets.partitionBytes);
  case Setting::Buckets:
    return visit(settings.bucketList);
  case Setting::Others:
    return visit(settings.otherList);
  case Setting::WireType:
    return visit(settings.wire);
  case Setting::Form:
    return settings.isHalved ? visit(settings.halves) : visit(settings.form);
  case Setting::Servers:
    return visit(settings.servers);
  case Setting::ShardedUpdate:
    return visit(settings.updatedPart);
  case Setting::Schedule:
    return visit(settings.schedule.policy);
  case Setting::CreditBytes:
    return visit(settings.schedule.creditBytes);
  case Setting::UpdatesBy:
    return visit(settings.updates);
  case Setting::AllowedUpdates:
    return visit(settings.allowedUpdates);
  case Setting::MemoryBytes:
    return visit(settings.memoryBytes);
  case Setting::Evaluations:
    return visit(settings.evaluations);
  }
  return visit(settings.evaluations);
}

//===----------------------------------------------------------------------===//
// To text
//===----------------------------------------------------------------------===//

static std::string printValue(int64_t value) { return std::to_string(value); }
static std::string printValue(const std::string &value) { return value; }
static std::string printValue(const Encoding &value) {
  return encodingText(value);
}
template <typename Enum> static std::string printValue(Enum value) {
  return std::string(wordOf(value));
}

std::string bagua::print(const StrategySettings &settings, Setting setting) {
  return withValue(settings, setting,
                   [](const auto &value) { return printValue(value); });
}

/// Whether a text has to name the setting: its value is not the row's own, or
/// it belongs to a policy that is not the row's own.
static bool isSaid(const StrategySettings &own,
                   const StrategySettings &settings, Setting setting) {
  if (setting == Setting::CreditBytes &&
      settings.schedule.policy == SchedulePolicy::Priority &&
      own.schedule.policy != SchedulePolicy::Priority)
    return true;
  return print(settings, setting) != print(own, setting);
}

static std::string textOf(const Strategy &row,
                          const StrategySettings &settings) {
  const StrategySettings own = settingsOf(row);
  std::string changes;
  for (const StrategyOption &option : row.options)
    if (isSaid(own, settings, option.setting))
      changes += " " + std::string(option.name) + "=" +
                 print(settings, option.setting);
  std::string name(row.name);
  return changes.empty() ? name : name + "{" + changes.substr(1) + "}";
}

std::string bagua::textOf(const Strategy &row, const UserChoices &choices) {
  return ::textOf(row, settingsOf(row, choices));
}

std::string bagua::textOf(const CommunicationPlan &plan,
                          const UserChoices &choices) {
  StrategyList rows = getStrategies();
  const Strategy &row =
      *std::find_if(rows.begin(), rows.end(), [](const Strategy &entry) {
        return entry.use == Strategy::Use::Explicit;
      });
  StrategySettings settings = settingsOf(row);
  settings.wire =
      plan.others.empty() ? plan.otherWire : commonWire(plan.buckets);
  settings.bucketList = printBuckets(plan.buckets, settings.wire);
  settings.otherList = printBuckets(plan.others, settings.wire);
  settings.servers = plan.isBalanced ? ServerUse::Balanced : ServerUse::None;
  settings.updatedPart = plan.updatedPart;
  settings.schedule.policy = plan.scheduling.policy;
  if (plan.scheduling.policy == SchedulePolicy::Priority)
    settings.schedule.creditBytes = plan.scheduling.creditBytes;
  settings.updates = updatesBy(plan.isUpdatedByRuntime, choices);
  settings.memoryBytes = choices.memoryBytes;
  return ::textOf(row, settings);
}

//===----------------------------------------------------------------------===//
// From text
//===----------------------------------------------------------------------===//

/// Returns the error in `text`, or an empty string.
static std::string readValue(std::string_view text, int64_t &value) {
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end)
    return "";
  return "expected a whole number, found '" + std::string(text) + "'";
}

/// Any text is valid here: which buckets there can be depends on the step.
static std::string readValue(std::string_view text, std::string &value) {
  value = text;
  return "";
}

static std::string readValue(std::string_view text, Encoding &value) {
  ParsedEncoding parsed = parseWire(text);
  value = parsed.encoding;
  return parsed.error;
}

template <typename Enum>
static std::string readValue(std::string_view text, Enum &value) {
  std::optional<Enum> parsed = parseWord<Enum>(text);
  if (!parsed)
    return wrongWord<Enum>(text);
  value = *parsed;
  return "";
}

/// The names of a strategy's options.
static std::string optionNames(const Strategy &row) {
  std::vector<std::string_view> names;
  for (const StrategyOption &option : row.options)
    names.push_back(option.name);
  return names.empty() ? "none" : joinWords(names, ", ", ", ");
}

/// Reads `option=value`; returns what is wrong with it.
static std::string readOption(std::string_view word, ParsedStrategy &parsed) {
  const Strategy &row = *parsed.row;
  size_t equals = word.find('=');
  std::string_view name = word.substr(0, equals);
  std::string_view value =
      equals == std::string_view::npos ? "" : word.substr(equals + 1);
  const StrategyOption *option = std::find_if(
      row.options.begin(), row.options.end(),
      [&](const StrategyOption &entry) { return entry.name == name; });
  std::string strategy = "strategy '" + std::string(row.name) + "'";
  if (option == row.options.end())
    return strategy + " has no option '" + std::string(name) +
           "'; its options are " + optionNames(row);
  std::string wrong =
      withValue(parsed.settings, option->setting,
                [&](auto &setting) { return readValue(value, setting); });
  return wrong.empty() ? ""
                       : "option '" + std::string(name) + "' of " + strategy +
                             ": " + wrong;
}

/// Reads `option=value ...`; returns what is wrong with it.
static std::string readOptions(std::string_view text, ParsedStrategy &parsed) {
  std::set<std::string_view> seen;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty())
      continue;
    if (std::string wrong = readOption(word, parsed); !wrong.empty())
      return wrong;
    const std::string_view name = word.substr(0, word.find('='));
    if (!seen.insert(name).second)
      return "option '" + std::string(name) + "' of strategy '" +
             std::string(parsed.row->name) + "' stands twice";
  }
  const StrategySettings &settings = parsed.settings;
  if (settings.updatedPart == UpdatedPart::Shard &&
      settings.updates != UpdatesBy::Runtime)
    return "strategy '" + std::string(parsed.row->name) +
           "': expected updates=runtime with update=shard, for no program has "
           "the shards, found updates=" +
           std::string(wordOf(settings.updates));
  // A list says for each bucket who sums it, and how it is sent.
  if (settings.buckets.policy == BucketPolicy::List ||
      isReducible(settings.wire))
    return "";
  std::string found = "found wire=" + encodingText(settings.wire);
  if (settings.servers != ServerUse::None)
    return "strategy '" + std::string(parsed.row->name) +
           "': expected a wire whose values servers can sum (none, f16, "
           "bf16), " +
           found;
  if (settings.updatedPart == UpdatedPart::Shard)
    return "strategy '" + std::string(parsed.row->name) +
           "': expected a wire whose values ranks can sum (none, f16, bf16) "
           "with update=shard, " +
           found;
  return "";
}

static std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

ParsedStrategy bagua::parseStrategy(std::string_view text) {
  ParsedStrategy parsed;
  text = trim(text);
  size_t brace = std::min(text.find('{'), text.size());
  std::string_view name = trim(text.substr(0, brace));
  parsed.row = findStrategy(name);
  if (!parsed.row) {
    std::vector<std::string_view> names;
    for (const Strategy &row : getStrategies())
      names.push_back(row.name);
    parsed.error = "expected a strategy (" + joinWords(names, ", ", ", ") +
                   "), found '" + std::string(name) + "'";
    return parsed;
  }
  parsed.settings = settingsOf(*parsed.row);
  if (brace == text.size())
    return parsed;
  std::string_view options = text.substr(brace + 1);
  bool isClosed = !options.empty() && options.back() == '}';
  if (isClosed)
    options.remove_suffix(1);
  if (!isClosed || options.find_first_of("{}") != std::string_view::npos)
    parsed.error = "expected NAME or NAME{option=value ...}, found '" +
                   std::string(text) + "'";
  else
    parsed.error = readOptions(options, parsed);
  return parsed;
}
