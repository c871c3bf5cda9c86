//===- ServerBalance.cpp - Which server has which tensor ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List scheduling, longest first.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/ServerBalance.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace bagua;

std::vector<int64_t> bagua::serverCapacities(const ClusterModel &cluster) {
  int64_t hosts = cluster.colocatedServers(),
          dedicated = cluster.dedicatedServers;
  if (dedicated == 0 || hosts == 0)
    return std::vector<int64_t>(static_cast<size_t>(cluster.servers()), 1);
  std::vector<int64_t> capacities(static_cast<size_t>(dedicated),
                                  std::max<int64_t>(1, 2 * (hosts - 1)));
  capacities.resize(static_cast<size_t>(cluster.servers()),
                    std::max<int64_t>(0, hosts - dedicated));
  return capacities;
}

std::vector<int64_t>
bagua::balanceServers(const std::vector<int64_t> &bytes,
                      const std::vector<int64_t> &capacities) {
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  std::vector<int64_t> load(capacities.size(), 0);
  std::vector<int64_t> result(bytes.size());
  for (size_t tensor : order) {
    std::optional<size_t> best;
    for (size_t server = 0; server < capacities.size(); ++server) {
      // Compares (load + bytes) / capacity without division.
      auto end = [&](size_t at, size_t other) {
        return static_cast<double>(load[at] + bytes[tensor]) *
               static_cast<double>(capacities[other]);
      };
      if (capacities[server] > 0 &&
          (!best || end(server, *best) < end(*best, server)))
        best = server;
    }
    assert(best && "one server at least has a capacity");
    load[*best] += bytes[tensor];
    result[tensor] = static_cast<int64_t>(*best);
  }
  return result;
}

std::vector<int64_t>
bagua::assignServers(const ClusterModel &cluster,
                     const std::vector<PlacedMessage> &messages) {
  std::vector<size_t> served;
  for (size_t i = 0; i < messages.size(); ++i)
    if (isServed(messages[i].form.kind))
      served.push_back(i);
  std::stable_sort(served.begin(), served.end(), [&](size_t a, size_t b) {
    return messages[a].place < messages[b].place;
  });
  std::vector<int64_t> bytes;
  bytes.reserve(served.size());
  for (size_t i : served)
    bytes.push_back(
        servedBytes(cluster, messages[i].message, messages[i].form));
  const std::vector<int64_t> assigned =
      balanceServers(bytes, serverCapacities(cluster));
  std::vector<int64_t> servers(messages.size(), -1);
  for (size_t i = 0; i < served.size(); ++i)
    servers[served[i]] = assigned[i];
  return servers;
}
