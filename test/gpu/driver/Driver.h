//===- Driver.h - What the fake driver knows ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything behind the calls: devices with their memory, contexts, and the
// objects that handles stand for. Handles are numbers that are never given out
// twice, so a call that gets a destroyed one, or one of another kind, says so.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_DRIVER_DRIVER_H
#define TENON_TEST_GPU_DRIVER_DRIVER_H

#include "test/gpu/driver/Abi.h"
#include "test/gpu/driver/Settings.h"
#include "test/gpu/sim/Module.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace fake {

namespace sim = tenon::sim;

enum class Kind { Context, Module, Function, Stream, Event, Graph, GraphExec };
const char *nameOf(Kind kind); // "a stream"

struct Object {
  Object(Kind kind, Handle context) : kind(kind), context(context) {}
  virtual ~Object() = default;

  Kind kind;
  Handle context; // Of a context: itself.
  Handle handle = nullptr;
};

struct Context : Object {
  static constexpr Kind kKind = Kind::Context;
  explicit Context(Device device) : Object(kKind, nullptr), device(device) {}

  Device device;
  Handle defaultStream = nullptr;
  Status broken = Success; // After a kernel failed, every call fails so.
};

struct Module : Object {
  static constexpr Kind kKind = Kind::Module;
  explicit Module(Handle context) : Object(kKind, context) {}
  ~Module() override;

  std::unique_ptr<sim::Module> code;
  sim::Memory *memory = nullptr;
  int ptxVersion = 0;
  std::map<std::string, Handle, std::less<>> functions;
};

struct Function : Object {
  static constexpr Kind kKind = Kind::Function;
  explicit Function(Handle context) : Object(kKind, context) {}

  Handle module = nullptr;
  const sim::Kernel *kernel = nullptr;
  uint32_t maxDynamicShared = 0;
  bool largeClusters = false; // Of more than 8 blocks.
};

struct Event : Object {
  static constexpr Kind kKind = Kind::Event;
  Event(Handle context, bool timing) : Object(kKind, context), timing(timing) {}

  bool timing;
  Handle stream = nullptr; // Where it was recorded last, or null.
  bool captured = false;   // It was recorded in a capture.
  uint64_t ticket = 0;     // Done when its stream has done so many.
  double seconds = 0;
};

/// `ticket` operations of a stream: what another has to wait for.
struct After {
  Handle stream;
  uint64_t ticket;
};

/// One thing that a stream does.
struct Operation {
  enum Kind { CopyIn, CopyOut, CopyDevice, Fill, Launch, Record, Wait };
  Kind kind;
  std::string call; // Who asked for it, for messages.
  Address to = 0, from = 0;
  void *host = nullptr;
  uint64_t bytes = 0;
  uint32_t value = 0, width = 1; // Of a fill.
  bool checked = false;          // `checksum` is that of the host's bytes.
  uint64_t checksum = 0;
  Handle function = nullptr, event = nullptr;
  sim::Launch launch;
  std::vector<Address> uses; // Allocations that a launch's parameters name.
  std::vector<After> after;
};

struct Stream : Object {
  static constexpr Kind kKind = Kind::Stream;
  Stream(Handle context, bool blocking)
      : Object(kKind, context), blocking(blocking) {}

  bool blocking; // It waits for the default stream, and that for it.
  uint64_t issued = 0, done = 0;
  std::deque<Operation> queue;
  CaptureStatus capture = CaptureNone;
  CaptureMode mode = CaptureGlobal;
  std::thread::id capturer;
  std::vector<Operation> captured;
};

/// A graph and what it was made into: operations in an order that holds.
struct Graph : Object {
  static constexpr Kind kKind = Kind::Graph;
  explicit Graph(Handle context) : Object(kKind, context) {}
  std::vector<Operation> operations;
};
struct GraphExec : Object {
  static constexpr Kind kKind = Kind::GraphExec;
  explicit GraphExec(Handle context) : Object(kKind, context) {}
  std::vector<Operation> operations;
};

struct HostBlock {
  uint64_t bytes;
  Handle context;
  bool live;
};

struct DeviceState {
  explicit DeviceState(uint64_t memory) : memory(memory) {}
  sim::Memory memory;
  std::map<Address, Handle> owners; // The context of each live allocation.
  Handle primary = nullptr;
  unsigned retained = 0;
};

class Driver {
public:
  explicit Driver(const Settings &settings);
  ~Driver();

  /// The one there is; made at the first call.
  static Driver &instance();
  /// Forgets everything, violations too, and reads the settings again.
  static void restart();

  const Settings settings;
  std::recursive_mutex mutex;
  bool initialized = false;
  uint64_t calls = 0;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<DeviceState>> devices;
  std::map<uint64_t, HostBlock> hostBlocks; // By first address; dead ones too.
  std::string violations;                   // One sentence a line.

  template <typename T, typename... Args> T *make(Args &&...args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T *result = object.get();
    add(std::move(object));
    return result;
  }

  /// The live object of a handle; else null, and `why` says what it is: "a
  /// stream that was destroyed".
  template <typename T> T *find(Handle handle, std::string &why) {
    return static_cast<T *>(find(handle, T::kKind, why));
  }
  template <typename T> T *find(Handle handle) {
    std::string why;
    return find<T>(handle, why);
  }

  void destroy(Handle handle);

  /// Calls `visit` for the live objects of a kind, oldest first.
  template <typename T, typename Visit> void each(Visit &&visit) {
    for (auto &[handle, object] : objects)
      if (object && object->kind == T::kKind)
        visit(static_cast<T &>(*object));
  }

  sim::Memory &memoryOf(Handle context);
  /// The device whose memory holds an address, or -1.
  Device deviceOf(Address address) const;

  void violate(const std::string &sentence);
  /// A violation for each kind of thing that a context still has.
  void lookForLeaks(Handle context, const char *when);
  void log(const std::string &line);

private:
  Object *find(Handle handle, Kind kind, std::string &why);
  void add(std::unique_ptr<Object> object);

  std::map<uint64_t, std::unique_ptr<Object>> objects; // Null: destroyed.
  std::map<uint64_t, Kind> kinds;                      // Of those, too.
  uint64_t nextHandle;
};

std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));

} // namespace fake

#endif // TENON_TEST_GPU_DRIVER_DRIVER_H
