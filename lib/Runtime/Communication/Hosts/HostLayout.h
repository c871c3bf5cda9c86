//===- HostLayout.h - Where the members of a group are --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which members share a host, as member `self` sees it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTLAYOUT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTLAYOUT_H

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace bagua::runtime {

class HostLayout {
public:
  /// `hosts`: by member, numbers from 0 in the order in which they come.
  HostLayout(std::vector<int> hosts, int self);

  int size() const { return static_cast<int>(hosts.size()); }
  int self() const { return own; }
  int hostOf(int member) const { return hosts[member]; }
  int hostCount() const { return static_cast<int>(lists.size()); }
  /// In order.
  const std::vector<int> &membersOf(int host) const { return lists[host]; }
  /// Those of this host, this one among them.
  const std::vector<int> &neighbours() const { return lists[hosts[own]]; }
  bool isNeighbour(int member) const { return hosts[member] == hosts[own]; }
  /// Those of other hosts.
  const std::vector<int> &peers() const { return others; }
  /// Place among the members of its host.
  int placeOf(int member) const { return places[member]; }

private:
  std::vector<int> hosts;
  int own;
  std::vector<std::vector<int>> lists;
  std::vector<int> places;
  std::vector<int> others;
};

inline HostLayout::HostLayout(std::vector<int> ownHosts, int self)
    : hosts(std::move(ownHosts)), own(self) {
  for (int member = 0; member < size(); ++member) {
    auto host = static_cast<size_t>(hosts[member]);
    lists.resize(std::max(lists.size(), host + 1));
    places.push_back(static_cast<int>(lists[host].size()));
    lists[host].push_back(member);
    if (!isNeighbour(member))
      others.push_back(member);
  }
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTLAYOUT_H
