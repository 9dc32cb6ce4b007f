//===- Cores.cpp - Counts cores, within the quota of a group --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace tenon::runtime;

namespace {
/// What takes the place of a machine's /proc and /sys.
class Machine {
public:
  Machine() {
    std::string name = testing::TempDir() + "tenon-cores-XXXXXX";
    root = mkdtemp(name.data());
  }
  ~Machine() { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = root.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void writeSiblings(int cpu, const std::string &list) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
              "/topology/thread_siblings_list",
          list + "\n");
  }
  uint32_t cores(std::initializer_list<int> cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int cpu : cpus)
      CPU_SET(cpu, &mask);
    return coresOf(mask, root.c_str());
  }

private:
  std::filesystem::path root;
};

TEST(Cores, CpusAreCoresWhereNothingElseIsKnown) {
  Machine machine;
  EXPECT_EQ(machine.cores({0, 1, 5}), 3u);
  EXPECT_EQ(machine.cores({1023}), 1u);
  EXPECT_EQ(machine.cores({}), 1u);
}

TEST(Cores, SecondThreadsOfACoreDoNotCount) {
  Machine machine;
  for (int cpu : {0, 1, 2, 3})
    machine.writeSiblings(cpu, cpu % 2 == 0 ? "0,2" : "1,3");
  for (int cpu : {8, 9, 10, 11})
    machine.writeSiblings(cpu, cpu < 10 ? "8-9" : "10-11");
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 2u);
  EXPECT_EQ(machine.cores({2, 3}), 2u);
  EXPECT_EQ(machine.cores({1, 3}), 1u);
  EXPECT_EQ(machine.cores({8, 9, 10, 11}), 2u);
  EXPECT_EQ(machine.cores({9, 11, 12}), 3u);
  // Whatever stands there.
  machine.writeSiblings(0, "");
  machine.writeSiblings(1, "-5,,x");
  machine.writeSiblings(2, "99999999999999999999-0,0-");
  machine.writeSiblings(3, "0-99999999999999999999");
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 2u);
}

TEST(Cores, QuotasOfAGroupLimit) {
  Machine machine;
  auto cores = [&] { return machine.cores({0, 1, 2, 3, 4, 5, 6, 7}); };
  machine.write("/proc/self/cgroup", "0::/jobs/one\n");
  machine.write("/sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 8u);
  machine.write("/sys/fs/cgroup/jobs/one/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores(), 3u);
  // Of those around it, too.
  machine.write("/sys/fs/cgroup/jobs/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2u);
  machine.write("/sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(cores(), 1u);
  for (const char *text : {"", "x", "-1 5", "5 0", "100000"}) {
    machine.write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cores(), 2u) << text;
  }
  // Groups whose names say nothing.
  for (const char *text : {"", "0", "0:", "0::", "0::jobs", ":::", "\n\n"}) {
    machine.write("/proc/self/cgroup", text);
    machine.write("/sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_EQ(cores(), 8u) << text;
  }
}

TEST(Cores, QuotasOfTheFirstKindOfGroupsLimit) {
  Machine machine;
  machine.write("/proc/self/cgroup", "12:cpuset:/\n"
                                     "4:cpu,cpuacct:/docker/0123\n"
                                     "1:name=systemd:/docker/0123\n");
  machine.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  machine.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 4u);
  // The group's own folder is not seen from inside a container.
  machine.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 2u);
}

TEST(Cores, ThisMachineHasSome) {
  EXPECT_GE(usableCores(), 1u);
  EXPECT_LE(usableCores(), uint32_t(CPU_SETSIZE));
}

} // namespace
