//===- Cores.cpp - How many threads are worth starting --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cores.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using namespace tenon::runtime;

namespace {
/// A short file of the system, or the beginning of one; empty where there is
/// none.
class SystemFile {
public:
  SystemFile(const char *root, const char *folder, const char *rest = "") {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s%s", root, folder, rest);
    if (length < 0 || size_t(length) >= sizeof path)
      return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
      return;
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = 0;
  }
  char text[4096] = "";
};

/// Whether a CPU before `cpu` of the mask is on the same core, by a list such
/// as "3,67" or "6-7".
bool sharesCoreWithEarlier(const cpu_set_t &mask, int cpu, const char *list) {
  char *at = const_cast<char *>(list);
  while (*at >= '0' && *at <= '9') {
    long first = strtol(at, &at, 10), last = first;
    if (*at == '-')
      last = strtol(at + 1, &at, 10);
    for (long i = first; i <= last && i < cpu; ++i)
      if (CPU_ISSET(i, &mask))
        return true;
    if (*at == ',')
      ++at;
  }
  return false;
}

uint32_t coresOfMask(const cpu_set_t &mask, const char *root) {
  uint32_t cores = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask))
      continue;
    char name[80];
    snprintf(name, sizeof name,
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    cores += !sharesCoreWithEarlier(mask, cpu, SystemFile(root, name).text);
  }
  return cores;
}

/// Of two numbers that limit unless they are 0.
uint32_t lesserLimit(uint32_t x, uint32_t y) {
  return x && (!y || x < y) ? x : y;
}

/// Whole CPUs of a quota of microseconds in each period; 0: no limit.
uint32_t cpusOfQuota(const char *quota, const char *period) {
  long long each = atoll(quota), all = atoll(period);
  if (each <= 0 || all <= 0)
    return 0;
  long long cpus = each / all + (each % all != 0);
  return cpus < INT32_MAX ? uint32_t(cpus) : 0;
}

/// The limit of one folder of a hierarchy of groups.
uint32_t quotaOf(const char *root, const char *folder, bool isUnified) {
  if (!isUnified)
    return cpusOfQuota(SystemFile(root, folder, "/cpu.cfs_quota_us").text,
                       SystemFile(root, folder, "/cpu.cfs_period_us").text);
  SystemFile both(root, folder, "/cpu.max"); // "200000 100000", "max 100000"
  const char *space = strchr(both.text, ' ');
  return space ? cpusOfQuota(both.text, space) : 0;
}

/// The least limit of a group and those that hold it. From inside a container
/// the group's own folder may not be seen, while the outermost one is its own.
uint32_t quotaOfGroup(const char *root, const char *line) {
  const char *controllers = strchr(line, ':');
  const char *group = controllers ? strchr(controllers + 1, ':') : nullptr;
  if (!group)
    return 0;
  bool isUnified = group == controllers + 1;
  if (!isUnified && !strstr(controllers, "cpu,") &&
      !strstr(controllers, "cpu:"))
    return 0;
  char folder[4096];
  int length =
      snprintf(folder, sizeof folder, "%s%s",
               isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", group + 1);
  if (length < 0 || size_t(length) >= sizeof folder)
    return 0;
  char *outermost = folder + length - strlen(group + 1);
  uint32_t least = 0;
  for (;;) {
    least = lesserLimit(least, quotaOf(root, folder, isUnified));
    char *last = strrchr(outermost, '/');
    if (!last)
      return least;
    *last = 0;
  }
}

uint32_t quotaOfProcess(const char *root) {
  SystemFile groups(root, "/proc/self/cgroup");
  uint32_t least = 0;
  char *rest = groups.text;
  while (char *line = strsep(&rest, "\n"))
    least = lesserLimit(least, quotaOfGroup(root, line));
  return least;
}
} // namespace

uint32_t tenon::runtime::coresOf(const cpu_set_t &mask, const char *root) {
  uint32_t cores = coresOfMask(mask, root);
  return lesserLimit(cores ? cores : 1, quotaOfProcess(root));
}

uint32_t tenon::runtime::usableCores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    return coresOf(mask, "");
  long online = sysconf(_SC_NPROCESSORS_ONLN); // Over 1024 CPUs.
  return online > 0 ? uint32_t(online) : 1;
}
