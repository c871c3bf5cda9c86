//===- FileStoreTest.cpp - Texts in a file that ranks share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is kept, what a process that was killed has left, and what is no store.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Of a store's file.
const std::string kFirstLine = "bagua store 1\n";

class FileStoreTest : public testing::Test {
protected:
  FileStoreTest()
      : path(testing::TempDir() + "/bagua-store-" + std::to_string(getpid())) {
    std::remove(path.c_str());
  }
  ~FileStoreTest() override { std::remove(path.c_str()); }

  const std::string path;
};

TEST_F(FileStoreTest, the_last_text_of_a_name_holds) {
  auto store = createFileStore(path);
  EXPECT_EQ(*store->get("a"), std::nullopt);
  ASSERT_TRUE(store->set("a", "one").ok());
  ASSERT_TRUE(store->set("b", std::string("two\n\0 3", 7)).ok());
  ASSERT_TRUE(store->set("a", "").ok());
  auto other = createFileStore(path);
  EXPECT_EQ(*other->get("a"), "");
  EXPECT_EQ(*other->get("b"), std::string("two\n\0 3", 7));
  EXPECT_EQ(*other->get("c"), std::nullopt);
}

TEST_F(FileStoreTest, what_is_no_store_is_refused) {
  for (const char *text :
       {"garbage", "1 1\nabc", "1 x\nab\n", "99999999999999999999 1\nab\n",
        "1 18446744073709551615\nab\n", "-1 1\nab\n"}) {
    std::ofstream(path) << kFirstLine << text;
    absl::Status status = createFileStore(path)->get("a").status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("found a malformed record"))
        << text;
  }
  EXPECT_EQ(createFileStore("/nonexistent/a")->set("a", "b").code(),
            absl::StatusCode::kUnavailable);
}

// Whatever somebody keeps at that path stays as it is, though it begin like a
// record that is cut.
TEST_F(FileStoreTest, nobodys_file_is_taken_for_a_store) {
  for (const char *text : {"2024", "1500 3000\n1.5 2.5\n", "bagua store 2\n"}) {
    std::ofstream(path) << text;
    auto store = createFileStore(path);
    for (const absl::Status &status :
         {store->set("a", "b"), store->get("a").status()})
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("expected a rendezvous file or no file at this "
                            "path, found a file of another kind"));
    std::ostringstream found;
    found << std::ifstream(path).rdbuf();
    EXPECT_EQ(found.str(), text);
  }
}

// Nor does anybody wait where no file is, or read what has no end.
TEST_F(FileStoreTest, what_is_no_file_is_not_waited_for) {
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(*createFileStore(path)->get("a"), std::nullopt);
  EXPECT_FALSE(createFileStore(path)->set("a", "b").ok());
  EXPECT_FALSE(createFileStore("/dev/zero")->get("a").ok());
}

// Cut after every byte, as by a rank that is killed while it writes.
TEST_F(FileStoreTest, a_record_that_is_cut_is_none) {
  const std::string first = kFirstLine + "1 3\na1\n2\n", second = "1 2\nbxy\n";
  for (size_t bytes = 0; bytes <= first.size() + second.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    std::ofstream(path) << (first + second).substr(0, bytes);
    auto store = createFileStore(path);
    std::optional<std::string> a, b;
    if (bytes >= first.size())
      a = "1\n2";
    if (bytes == first.size() + second.size())
      b = "xy";
    EXPECT_EQ(*store->get("a"), a);
    EXPECT_EQ(*store->get("b"), b);
    EXPECT_TRUE(store->set("c", "later").ok());
    EXPECT_EQ(*store->get("a"), a);
    EXPECT_EQ(*store->get("b"), b);
    EXPECT_EQ(*store->get("c"), "later");
  }
}

TEST_F(FileStoreTest, who_keeps_a_store_locked_is_not_waited_for_without_end) {
  auto store = createFileStore(path, 20ms);
  ASSERT_TRUE(store->set("a", "one").ok());
  std::FILE *other = std::fopen(path.c_str(), "r");
  ASSERT_EQ(flock(fileno(other), LOCK_EX), 0);
  for (const absl::Status &status :
       {store->set("a", "two"), store->get("a").status()})
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("another process has kept it locked for 20ms"));
  std::fclose(other);
  EXPECT_EQ(*store->get("a"), "one");
}

} // namespace
} // namespace bagua::runtime
