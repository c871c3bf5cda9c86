//===- TraceWriterTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a trace, which does not depend on who wrote first.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/TraceWriter.h"

#include <gtest/gtest.h>

#include <thread>

using namespace bagua;

namespace {

TEST(TraceWriterTest, WritesChromesFormat) {
  TraceWriter trace;
  trace.nameProcess(0, "rank \"0\"");
  trace.nameThread(0, 1, "comm");
  trace.add({"reduce\n", 0, 1, 5001500, 2500, {{"bytes", 64}}});
  trace.add({"first", 0, 0, 5000000, 1, {}});
  EXPECT_EQ(trace.toJson(),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,"
            "\"args\":{\"name\":\"rank \\\"0\\\"\"}},\n"
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":1,"
            "\"args\":{\"name\":\"comm\"}},\n"
            "{\"name\":\"first\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000,"
            "\"dur\":0.001,\"args\":{}},\n"
            "{\"name\":\"reduce\\u000a\",\"ph\":\"X\",\"pid\":0,\"tid\":1,"
            "\"ts\":1.500,\"dur\":2.500,\"args\":{\"bytes\":64}}\n]}\n");
}

TEST(TraceWriterTest, WritesMarksAndTextsFromAGivenTime) {
  TraceWriter trace;
  trace.add(
      {"give \"g\"", 2, 0, 3000, 0, {{"step", 4}}, {{"op", "a\nb"}}, true});
  trace.add({"early", 2, 0, 500, 250, {}});
  EXPECT_EQ(trace.toJson(2000),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
            "{\"name\":\"early\",\"ph\":\"X\",\"pid\":2,\"tid\":0,"
            "\"ts\":-1.500,\"dur\":0.250,\"args\":{}},\n"
            "{\"name\":\"give \\\"g\\\"\",\"ph\":\"i\",\"pid\":2,\"tid\":0,"
            "\"ts\":1.000,\"s\":\"t\",\"args\":{\"step\":4,"
            "\"op\":\"a\\u000ab\"}}\n]}\n");
}

TEST(TraceWriterTest, AnEmptyTraceIsJson) {
  EXPECT_EQ(TraceWriter().toJson(),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

TEST(TraceWriterTest, OrderOfThreadsDoesNotShow) {
  std::string texts[2];
  for (int run = 0; run < 2; ++run) {
    TraceWriter trace;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&trace, rank = run ? 3 - i : i] {
        for (int event = 0; event < 100; ++event)
          trace.add({"e", rank, 0, event * 10, 5, {}});
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(trace.size(), 400u);
    texts[run] = trace.toJson();
  }
  EXPECT_EQ(texts[0], texts[1]);
}

} // namespace
