// Registers the reference delegate under other names, whose events go to functions of whoever registers it.
#include "reference.cpp"

#include <stdexcept>
#include <string>

namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendOption;
using executorch::runtime::BackendOptionContext;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::Span;

} // namespace

extern "C" {

// A value of a call: a tensor and where it lies, or something else (dtype -1).
struct BridgeValue {
  void* value;
  void* data;
  uint64_t bytes;
  int64_t dtype;
  int64_t dimensions;
  int64_t sizes[16];
  int64_t strides[16];
};

// What a delegate does beside what the reference delegate does. Errors are codes of ExecuTorch, or kThrown for an
// exception; 0 goes on.
struct BridgeHooks {
  int (*available)();
  // Is told the compile specs ahead of init: of each the key, a zero byte, the length of the value in eight bytes, and
  // the value.
  void (*specs)(const void* specs, uint64_t size);
  // May name another blob in `replacement`, which must stay where it is until the function is called again.
  int (*init)(const char* method, void* blob, uint64_t size, const void** replacement, uint64_t* replacement_size);
  // Is told the handle of what init has made.
  void (*made)(uint64_t handle);
  // `traced` is whether somebody listens to what happens.
  int (*before)(uint64_t handle, const BridgeValue* values, uint64_t count, int traced);
  int (*after)(uint64_t handle, const BridgeValue* values, uint64_t count);
  // Called in place of `after` where the call failed, with the code of that: gives the code that is to be returned.
  int (*failed)(uint64_t handle, const BridgeValue* values, uint64_t count, int code);
  // Whether the delegate is destroyed indeed.
  int (*destroy)(uint64_t handle);
  // Is told of each option that is set or asked for while programs run.
  int (*option)(const char* key);
};

} // extern "C"

namespace {

std::vector<BridgeValue> seen(Span<EValue*> args) {
  std::vector<BridgeValue> values;
  for (EValue* each : args) {
    BridgeValue value{each, nullptr, 0, -1, 0, {}, {}};
    if (each->isTensor()) {
      const auto tensor = each->toTensor();
      value.data = const_cast<void*>(tensor.const_data_ptr());
      value.bytes = tensor.nbytes();
      value.dtype = static_cast<int64_t>(tensor.scalar_type());
      value.dimensions = tensor.dim();
      for (int64_t i = 0; i < value.dimensions; ++i) {
        value.sizes[i] = tensor.size(i);
        value.strides[i] = tensor.strides()[i];
      }
    }
    values.push_back(value);
  }
  return values;
}

std::string packed(ArrayRef<CompileSpec> specs) {
  std::string all;
  for (const CompileSpec& spec : specs) {
    const uint64_t length = spec.value.nbytes;
    all.append(spec.key, std::strlen(spec.key) + 1);
    all.append(reinterpret_cast<const char*>(&length), sizeof(length));
    all.append(static_cast<const char*>(spec.value.buffer), spec.value.nbytes);
  }
  return all;
}

constexpr int kThrown = -2;

// What the hooks of this thread can ask for while they are called.
thread_local BackendInitContext* initialised = nullptr;
thread_local BackendExecutionContext* executed = nullptr;

Error error_of(int code) {
  if (code == kThrown) {
    throw std::runtime_error("thrown by a delegate");
  }
  return static_cast<Error>(code);
}

class Bridge : public reference::Reference {
 public:
  explicit Bridge(const BridgeHooks& hooks) : hooks_(hooks) {}

  bool is_available() const override {
    return hooks_.available() != 0;
  }

  Result<DelegateHandle*> init(
      BackendInitContext& context, FreeableBuffer* processed, ArrayRef<CompileSpec> specs) const override {
    const std::string said = packed(specs);
    initialised = &context;
    hooks_.specs(said.data(), said.size());
    const void* replacement = nullptr;
    uint64_t size = 0;
    const int code = hooks_.init(
        context.get_method_name(), const_cast<void*>(processed->data()), processed->size(), &replacement, &size);
    if (code != 0) {
      return error_of(code);
    }
    FreeableBuffer other(replacement, size, nullptr);
    auto handle = Reference::init(context, replacement == nullptr ? processed : &other, specs);
    if (handle.ok()) {
      hooks_.made(reinterpret_cast<uint64_t>(*handle));
    }
    return handle;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    executed = &context;
    const auto number = reinterpret_cast<uint64_t>(handle);
    const auto before = seen(args);
    if (const int code = hooks_.before(number, before.data(), before.size(), context.event_tracer() != nullptr); code != 0) {
      return error_of(code);
    }
    const Error computed = Reference::execute(context, handle, args);
    const auto after = seen(args);
    if (computed != Error::Ok) {
      return error_of(hooks_.failed(number, after.data(), after.size(), static_cast<int>(computed)));
    }
    return error_of(hooks_.after(number, after.data(), after.size()));
  }

  Error set_option(BackendOptionContext& /*context*/, const Span<BackendOption>& options) override {
    return told(options);
  }

  Error get_option(BackendOptionContext& /*context*/, Span<BackendOption>& options) override {
    return told(options);
  }

  void destroy(DelegateHandle* handle) const override {
    if (hooks_.destroy(reinterpret_cast<uint64_t>(handle)) != 0) {
      Reference::destroy(handle);
    }
  }

 private:
  Error told(const Span<BackendOption>& options) const {
    for (const BackendOption& each : options) {
      if (const int code = hooks_.option(each.key); code != 0) {
        return error_of(code);
      }
    }
    return Error::Ok;
  }

  const BridgeHooks hooks_;
};

} // namespace

extern "C" {

// The delegate lives as long as the process: a name cannot be taken back. Returns a code of ExecuTorch.
__attribute__((visibility("default"))) int bridge_register(const char* name, const BridgeHooks* hooks) {
  return static_cast<int>(executorch::runtime::register_backend({strdup(name), new Bridge(*hooks)}));
}

// Gives an output other sizes, as a delegate does. Returns a code of ExecuTorch.
__attribute__((visibility("default"))) int bridge_resize(void* value, const int64_t* sizes, uint64_t count) {
  auto tensor = static_cast<EValue*>(value)->toTensor();
  const std::vector<executorch::aten::SizesType> wanted(sizes, sizes + count);
  return static_cast<int>(executorch::runtime::resize_tensor(tensor, {wanted.data(), wanted.size()}));
}

// Memory for the call that is going on, or for as long as the method lives that is being loaded. May be null.
__attribute__((visibility("default"))) void* bridge_temporary(uint64_t size) {
  return executed->allocate(size);
}

__attribute__((visibility("default"))) void* bridge_lasting(uint64_t size) {
  return initialised->get_runtime_allocator()->allocate(size);
}

// Named data of the method that is being loaded, copied to `buffer` where that has room; how many bytes it has, 0 where
// there is none.
__attribute__((visibility("default"))) uint64_t bridge_named(const char* key, void* buffer, uint64_t room) {
  const auto* map = initialised->get_named_data_map();
  if (map == nullptr) {
    return 0;
  }
  const auto found = map->get_data(key);
  if (!found.ok()) {
    return 0;
  }
  if (found->size() <= room) {
    std::memcpy(buffer, found->data(), found->size());
  }
  return found->size();
}

// Where that data lay, which has been freed.
__attribute__((visibility("default"))) const void* bridge_freed(const char* key) {
  const auto found = initialised->get_named_data_map()->get_data(key);
  return found.ok() ? found->data() : nullptr;
}

// How many load-time options the delegate is given that is being loaded.
__attribute__((visibility("default"))) uint64_t bridge_options() {
  return initialised->runtime_specs().size();
}

// Logs an event of the call that is going on, where it is traced.
__attribute__((visibility("default"))) void bridge_log(int32_t id, uint64_t begins, uint64_t ends) {
  executorch::runtime::event_tracer_log_profiling_delegate(executed->event_tracer(), nullptr, id, begins, ends);
}

// Lets a tensor lie elsewhere.
__attribute__((visibility("default"))) void bridge_move(void* value, void* data) {
  static_cast<EValue*>(value)->toTensor().unsafeGetTensorImpl()->set_data(data);
}

} // extern "C"
