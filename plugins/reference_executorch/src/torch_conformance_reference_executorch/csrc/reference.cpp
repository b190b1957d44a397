#include "reference.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace reference {
namespace {

using executorch::aten::Tensor;
using executorch::extension::BufferDataLoader;
using executorch::extension::Module;
using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::Span;

constexpr char kMagic[] = {'C', 'R', 'E', 'F'};
constexpr char kNamed[] = {'C', 'R', 'E', 'N'};
constexpr uint32_t kVersion = 1;
// A part is one step, which the debug handle map calls so.
constexpr executorch::runtime::DelegateDebugIntId kStep = 0;
constexpr char kMethod[] = "forward";

struct Head {
  char magic[4];
  uint32_t version;
  uint32_t program;
  uint32_t specs;
};
static_assert(sizeof(Head) == 16);

// CRC-32 as zlib has it; `before` is that of what went before.
uint32_t checksum(const void* data, size_t size, uint32_t before = 0) {
  uint32_t remainder = ~before;
  for (const uint8_t* byte = static_cast<const uint8_t*>(data); size > 0; ++byte, --size) {
    remainder ^= *byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ (0xedb88320u & (0u - (remainder & 1u)));
    }
  }
  return ~remainder;
}

// Of each spec the key, a zero byte, the length of the value in eight bytes, and the value.
uint32_t checksum(ArrayRef<CompileSpec> specs) {
  uint32_t all = 0;
  for (const CompileSpec& spec : specs) {
    const uint64_t length = spec.value.nbytes;
    all = checksum(spec.key, std::strlen(spec.key) + 1, all);
    all = checksum(&length, sizeof(length), all);
    all = checksum(spec.value.buffer, spec.value.nbytes, all);
  }
  return all;
}

// A loaded partition. It has a copy of its program, aligned as a program must be: of the blob nothing is kept.
class Partition {
 public:
  Partition(const uint8_t* program, size_t size) : storage_((size + sizeof(Block) - 1) / sizeof(Block)) {
    std::memcpy(storage_.data(), program, size);
    module_ = std::make_unique<Module>(std::make_unique<BufferDataLoader>(storage_.data(), size));
  }

  Error load() {
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(kMethod));
    const auto meta = module_->method_meta(kMethod);
    ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
    inputs_ = meta->num_inputs();
    outputs_ = meta->num_outputs();
    return Error::Ok;
  }

  Error run(Span<EValue*> args) {
    ET_CHECK_OR_RETURN_ERROR(
        args.size() == inputs_ + outputs_,
        InvalidArgument,
        "expected %zu inputs and %zu outputs, found %zu values",
        inputs_,
        outputs_,
        args.size());
    std::vector<EValue> given;
    for (size_t i = 0; i < inputs_; ++i) {
      given.push_back(*args[i]);
    }
    const auto results = module_->execute(kMethod, given);
    ET_CHECK_OK_OR_RETURN_ERROR(results.error());
    for (size_t i = 0; i < outputs_; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(give((*results)[i], *args[inputs_ + i]));
    }
    return Error::Ok;
  }

 private:
  struct alignas(std::max_align_t) Block {
    uint8_t bytes[alignof(std::max_align_t)];
  };

  static Error give(const EValue& result, EValue& output) {
    if (!result.isTensor()) {
      output = result;
      return Error::Ok;
    }
    const auto source = result.toTensor();
    auto target = output.toTensor();
    ET_CHECK_OR_RETURN_ERROR(
        source.scalar_type() == target.scalar_type(), InvalidArgument, "an output of another dtype than its partition's");
    ET_CHECK_OK_OR_RETURN_ERROR(executorch::runtime::resize_tensor(target, source.sizes()));
    if (source.numel() == 0) {
      return Error::Ok;
    }
    if (executorch::runtime::tensors_have_same_dim_order(source, target)) {
      std::memcpy(target.mutable_data_ptr(), source.const_data_ptr(), source.nbytes());
    } else {
      copy_elements(source, target);
    }
    return Error::Ok;
  }

  // What the caller has planned may lie otherwise in memory than what a kernel gives, as channels_last does.
  static void copy_elements(const Tensor& source, Tensor& target) {
    const auto sizes = source.sizes();
    const auto size = source.element_size();
    const auto* from = static_cast<const uint8_t*>(source.const_data_ptr());
    auto* to = static_cast<uint8_t*>(target.mutable_data_ptr());
    for (ssize_t element = 0; element < source.numel(); ++element) {
      ssize_t rest = element, read = 0, write = 0;
      for (ssize_t dim = source.dim() - 1; dim >= 0; --dim) {
        const ssize_t index = rest % sizes[dim];
        rest /= sizes[dim];
        read += index * source.strides()[dim];
        write += index * target.strides()[dim];
      }
      std::memcpy(to + write * size, from + read * size, size);
    }
  }

  std::vector<Block> storage_;
  std::unique_ptr<Module> module_;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
};

} // namespace

bool Reference::is_available() const {
  const char* available = std::getenv("REFERENCE_EXECUTORCH_AVAILABLE");
  return available == nullptr || std::strcmp(available, "0") != 0;
}

Result<DelegateHandle*> Reference::init(
    BackendInitContext& context, FreeableBuffer* processed, ArrayRef<CompileSpec> specs) const {
  const auto* blob = static_cast<const uint8_t*>(processed->data());
  Head head;
  ET_CHECK_OR_RETURN_ERROR(
      processed->size() > sizeof(head), DelegateInvalidCompatibility, "a blob of %zu bytes", processed->size());
  std::memcpy(&head, blob, sizeof(head));
  const uint8_t* program = blob + sizeof(head);
  size_t size = processed->size() - sizeof(head);
  const bool named = std::memcmp(head.magic, kNamed, sizeof(kNamed)) == 0;
  ET_CHECK_OR_RETURN_ERROR(
      named || std::memcmp(head.magic, kMagic, sizeof(kMagic)) == 0,
      DelegateInvalidCompatibility,
      "this is no blob of the reference delegate");
  ET_CHECK_OR_RETURN_ERROR(
      head.version == kVersion,
      DelegateInvalidCompatibility,
      "a blob of version %u, where this delegate reads version %u",
      head.version,
      kVersion);
  std::optional<FreeableBuffer> data;
  if (named) {
    ET_CHECK_OR_RETURN_ERROR(context.get_named_data_map() != nullptr, InvalidExternalData, "there is no named data");
    auto found = context.get_named_data_map()->get_data({reinterpret_cast<const char*>(program), size});
    ET_CHECK_OK_OR_RETURN_ERROR(found.error());
    data.emplace(std::move(found.get()));
    program = static_cast<const uint8_t*>(data->data());
    size = data->size();
  }
  ET_CHECK_OR_RETURN_ERROR(
      head.program == checksum(program, size), DelegateInvalidCompatibility, "a blob that was damaged");
  ET_CHECK_OR_RETURN_ERROR(
      head.specs == checksum(specs), DelegateInvalidCompatibility, "a blob of other compile specs");
  auto partition = std::make_unique<Partition>(program, size);
  processed->Free();
  ET_CHECK_OK_OR_RETURN_ERROR(partition->load());
  return static_cast<DelegateHandle*>(partition.release());
}

Error Reference::execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const {
  auto* tracer = context.event_tracer();
  const auto event = executorch::runtime::event_tracer_start_profiling_delegate(tracer, nullptr, kStep);
  const Error code = static_cast<Partition*>(handle)->run(args);
  executorch::runtime::event_tracer_end_profiling_delegate(tracer, event);
  return code;
}

void Reference::destroy(DelegateHandle* handle) const {
  delete static_cast<Partition*>(handle);
}

} // namespace reference
