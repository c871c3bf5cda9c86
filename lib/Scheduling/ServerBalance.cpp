//===- ServerBalance.cpp - Which server has which tensor ------------------===//
//
// List scheduling, longest first.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/ServerBalance.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace bagua;

std::vector<int64_t> bagua::balanceServers(const std::vector<int64_t> &bytes,
                                           int64_t servers) {
  assert(servers > 0);
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  std::vector<int64_t> load(static_cast<size_t>(servers), 0);
  std::vector<int64_t> result(bytes.size());
  for (size_t tensor : order) {
    auto least = std::min_element(load.begin(), load.end());
    *least += bytes[tensor];
    result[tensor] = least - load.begin();
  }
  return result;
}
