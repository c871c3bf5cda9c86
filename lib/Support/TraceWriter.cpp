//===- TraceWriter.cpp - Chrome traces ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON by hand: this library uses nothing but the standard one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/TraceWriter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <tuple>

namespace bagua {
namespace {

/// `text` in quotes. Bytes above 127 pass: names are UTF-8.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// The format counts in microseconds.
std::string microseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                std::llabs(ns / 1000), std::llabs(ns % 1000));
  return text;
}

std::string metadata(const char *what, int process, int thread,
                     const std::string &name) {
  return std::string("{\"name\":\"") + what +
         "\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"args\":{\"name\":" + quoted(name) + "}}";
}

std::string toLine(const TraceWriter::Event &event, int64_t originNs) {
  std::string line = "{\"name\":" + quoted(event.name) + ",\"ph\":\"" +
                     (event.isInstant ? "i" : "X") +
                     "\",\"pid\":" + std::to_string(event.process) +
                     ",\"tid\":" + std::to_string(event.thread) +
                     ",\"ts\":" + microseconds(event.startNs - originNs);
  // A mark on its thread alone.
  line += event.isInstant ? ",\"s\":\"t\""
                          : ",\"dur\":" + microseconds(event.durationNs);
  line += ",\"args\":{";
  const char *separator = "";
  auto append = [&](const std::string &key, const std::string &value) {
    line += separator + quoted(key) + ":" + value;
    separator = ",";
  };
  for (auto &[key, value] : event.arguments)
    append(key, std::to_string(value));
  for (auto &[key, value] : event.texts)
    append(key, quoted(value));
  return line + "}}";
}

} // namespace

void TraceWriter::nameProcess(int process, std::string name) {
  std::lock_guard<std::mutex> lock(mutex);
  processes[process] = std::move(name);
}

void TraceWriter::nameThread(int process, int thread, std::string name) {
  std::lock_guard<std::mutex> lock(mutex);
  threads[{process, thread}] = std::move(name);
}

void TraceWriter::add(Event event) {
  std::lock_guard<std::mutex> lock(mutex);
  events.push_back(std::move(event));
}

size_t TraceWriter::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return events.size();
}

std::vector<TraceWriter::Event> TraceWriter::sortedEvents() const {
  std::unique_lock<std::mutex> lock(mutex);
  std::vector<Event> sorted = events;
  lock.unlock();
  auto key = [](const Event &event) {
    // Of two events that start together, the longer one contains the other.
    return std::make_tuple(event.process, event.thread, event.startNs,
                           -event.durationNs, std::cref(event.name));
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](auto &a, auto &b) { return key(a) < key(b); });
  return sorted;
}

std::string TraceWriter::toJson(std::optional<int64_t> origin) const {
  std::vector<Event> sorted = sortedEvents();
  int64_t originNs = origin.value_or(0);
  for (size_t i = 0; i < sorted.size() && !origin; ++i)
    originNs = i ? std::min(originNs, sorted[i].startNs) : sorted[i].startNs;

  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char *separator = "\n";
  auto append = [&](const std::string &line) {
    json += separator + line;
    separator = ",\n";
  };
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[process, name] : processes)
    append(metadata("process_name", process, 0, name));
  for (auto &[place, name] : threads)
    append(metadata("thread_name", place.first, place.second, name));
  for (const Event &event : sorted)
    append(toLine(event, originNs));
  return json + "\n]}\n";
}

int64_t TraceWriter::nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace bagua
