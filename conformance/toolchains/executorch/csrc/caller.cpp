#include "caller.h"

#include <array>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "memory.h"

namespace caller {
namespace {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::TensorPtr;
using executorch::runtime::BackendOption;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::LoadBackendOptionsMap;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Span;

constexpr int kThrown = -1;
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max() / 2;

BackendOption option_of(const CallerOption& given) {
  BackendOption option;
  std::snprintf(option.key, sizeof(option.key), "%s", given.key);
  if (given.kind == 2) {
    std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
    std::snprintf(text.data(), text.size(), "%s", given.text);
    option.value = text;
  } else if (given.kind == 1) {
    option.value = static_cast<int>(given.number);
  } else {
    option.value = given.number != 0;
  }
  return option;
}

size_t limit_of(int64_t bytes) {
  return bytes < 0 ? kNoLimit : static_cast<size_t>(bytes);
}

// A method, its program, and all memory that they use.
class Opened {
 public:
  Opened(const void* program, size_t program_bytes, const void* data, size_t data_bytes, const CallerSettings& settings)
      : program_loader_(program, program_bytes, "program or a blob"),
        data_loader_(data, data_bytes, "data of the .ptd"),
        has_data_(data_bytes > 0),
        lasting_(limit_of(settings.lasting)),
        temporary_(limit_of(settings.temporary)),
        backend_(settings.backend),
        inputs_("memory of an input"),
        planned_("planned memory"),
        outputs_("memory of an output") {
    offers_temporary_ = settings.temporary >= 0;
    for (uint64_t i = 0; i < settings.count; ++i) {
      options_.push_back(option_of(settings.options[i]));
    }
  }

  Error load(const char* name) {
    auto program = Program::load(&program_loader_, Program::Verification::InternalConsistency);
    ET_CHECK_OK_OR_RETURN_ERROR(program.error());
    program_.emplace(std::move(program.get()));
    if (has_data_) {
      auto data = FlatTensorDataMap::load(&data_loader_);
      ET_CHECK_OK_OR_RETURN_ERROR(data.error());
      data_.emplace(std::move(data.get()));
    }
    const auto meta = program_->method_meta(name);
    ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = meta->memory_planned_buffer_size(i);
      ET_CHECK_OK_OR_RETURN_ERROR(size.error());
      Guarded& block = planned_.add(static_cast<size_t>(size.get()), kAlignment, 0);
      spans_.emplace_back(block.data(), block.size());
    }
    for (size_t i = 0; i < meta->num_outputs(); ++i) {
      const auto tag = meta->output_tag(i);
      ET_CHECK_OK_OR_RETURN_ERROR(tag.error());
      size_t bytes = 0;
      if (tag.get() == executorch::runtime::Tag::Tensor) {
        const auto info = meta->output_tensor_meta(i);
        ET_CHECK_OK_OR_RETURN_ERROR(info.error());
        bytes = info->is_memory_planned() ? 0 : info->nbytes();
      }
      output_bytes_.push_back(bytes);
    }
    arenas_.emplace(Span<Span<uint8_t>>(spans_.data(), spans_.size()));
    manager_.emplace(&lasting_, &*arenas_, offers_temporary_ ? &temporary_ : nullptr);
    if (!options_.empty()) {
      ET_CHECK_OK_OR_RETURN_ERROR(map_.set_options(backend_, Span<BackendOption>(options_.data(), options_.size())));
    }
    auto method = program_->load_method(name, &*manager_, nullptr, has_data_ ? &*data_ : nullptr, &map_);
    ET_CHECK_OK_OR_RETURN_ERROR(method.error());
    method_.emplace(std::move(method.get()));
    return Error::Ok;
  }

  Error run(const CallerTensor* inputs, size_t count) {
    std::vector<TensorPtr> tensors;
    std::vector<std::pair<const Guarded*, const CallerTensor*>> given;
    for (size_t i = 0; i < count; ++i) {
      const CallerTensor& each = inputs[i];
      Guarded& block = inputs_.add(each.bytes);
      std::memcpy(block.data(), each.data, each.bytes);
      given.emplace_back(&block, &each);
      tensors.push_back(executorch::extension::make_tensor_ptr(
          std::vector<SizesType>(each.sizes, each.sizes + each.dimensions),
          block.data(),
          std::vector<DimOrderType>(each.order, each.order + each.dimensions),
          {},
          static_cast<ScalarType>(each.dtype)));
      ET_CHECK_OK_OR_RETURN_ERROR(method_->set_input(EValue(*tensors.back()), i));
    }
    places_.assign(output_bytes_.size(), nullptr);
    for (size_t i = 0; i < output_bytes_.size(); ++i) {
      if (output_bytes_[i] > 0) {
        places_[i] = &outputs_.add(output_bytes_[i]);
        ET_CHECK_OK_OR_RETURN_ERROR(method_->set_output_data_ptr(places_[i]->data(), output_bytes_[i], i));
      }
    }
    const Error code = method_->execute();
    for (const auto& [block, before] : given) {
      if (std::memcmp(block->data(), before->data, before->bytes) != 0) {
        note("an input was overwritten by a call");
      }
    }
    for (size_t i = 0; code == Error::Ok && i < places_.size(); ++i) {
      const EValue& output = method_->get_output(i);
      if (places_[i] != nullptr && output.isTensor() && output.toTensor().const_data_ptr() != places_[i]->data()) {
        note("an output lies elsewhere than in the memory that was given for it");
      }
    }
    return code;
  }

  size_t outputs() const {
    return output_bytes_.size();
  }

  bool output(size_t index, CallerTensor& found) const {
    const EValue& value = method_->get_output(index);
    if (!value.isTensor()) {
      return false;
    }
    const auto tensor = value.toTensor();
    found = {const_cast<void*>(tensor.const_data_ptr()), tensor.nbytes(), static_cast<int64_t>(tensor.scalar_type()), tensor.dim(), {}, {}};
    for (ssize_t i = 0; i < tensor.dim(); ++i) {
      found.sizes[i] = tensor.size(i);
      found.order[i] = tensor.dim_order()[i];
    }
    return true;
  }

  void end() {
    method_.reset();
    program_.reset();
    data_.reset();
    for (Blocks* each :
         {&inputs_, &outputs_, &planned_, &temporary_.blocks(), &lasting_.blocks(), &program_loader_.blocks(), &data_loader_.blocks()}) {
      each->look(noted_);
    }
    for (const std::string& each : noted_) {
      if (findings_.find(each + "\n") == std::string::npos) {
        findings_ += each + "\n";
      }
    }
  }

  void note(const std::string& text) {
    noted_.push_back(text);
  }

  const char* findings() const {
    return findings_.c_str();
  }

  size_t temporary() const {
    return temporary_.asked();
  }

 private:
  Loader program_loader_;
  Loader data_loader_;
  const bool has_data_;
  Lasting lasting_;
  Temporary temporary_;
  bool offers_temporary_ = false;
  const char* backend_;
  std::vector<BackendOption> options_;
  Blocks inputs_;
  Blocks planned_;
  Blocks outputs_;
  std::vector<Span<uint8_t>> spans_;
  std::vector<size_t> output_bytes_;
  std::vector<Guarded*> places_;
  std::vector<std::string> noted_;
  std::string findings_;
  LoadBackendOptionsMap map_;
  std::optional<HierarchicalAllocator> arenas_;
  std::optional<MemoryManager> manager_;
  std::optional<FlatTensorDataMap> data_;
  std::optional<Program> program_;
  std::optional<Method> method_;
};

// The code of what a function does, or what it throws as a finding: a device's runtime is built without exceptions.
template <typename Work>
int coded(Opened& opened, Work work) {
  try {
    return static_cast<int>(work());
  } catch (const std::exception& error) {
    opened.note(std::string("an exception of C++ came out of the delegate: ") + error.what());
  } catch (...) {
    opened.note("an exception of C++ came out of the delegate");
  }
  return kThrown;
}

} // namespace
} // namespace caller

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED int caller_open(
    const void* program,
    uint64_t program_bytes,
    const void* data,
    uint64_t data_bytes,
    const char* method,
    const CallerSettings* settings,
    void** opened) {
  executorch::runtime::runtime_init();
  auto* made = new caller::Opened(program, program_bytes, data, data_bytes, *settings);
  *opened = made;
  return caller::coded(*made, [&] { return made->load(method); });
}

EXPORTED int caller_run(void* opened, const CallerTensor* inputs, uint64_t count, uint64_t repeat) {
  auto& made = *static_cast<caller::Opened*>(opened);
  for (uint64_t i = 0; i < repeat; ++i) {
    if (const int code = caller::coded(made, [&] { return made.run(inputs, count); }); code != 0) {
      return code;
    }
  }
  return 0;
}

EXPORTED uint64_t caller_outputs(void* opened) {
  return static_cast<caller::Opened*>(opened)->outputs();
}

EXPORTED bool caller_output(void* opened, uint64_t index, CallerTensor* output) {
  return static_cast<caller::Opened*>(opened)->output(index, *output);
}

EXPORTED void caller_end(void* opened) {
  static_cast<caller::Opened*>(opened)->end();
}

EXPORTED const char* caller_findings(void* opened) {
  return static_cast<caller::Opened*>(opened)->findings();
}

EXPORTED uint64_t caller_temporary(void* opened) {
  return static_cast<caller::Opened*>(opened)->temporary();
}

EXPORTED void caller_close(void* opened) {
  delete static_cast<caller::Opened*>(opened);
}

EXPORTED int caller_set_option(const char* backend, const CallerOption* option) {
  executorch::runtime::BackendOption one = caller::option_of(*option);
  return static_cast<int>(executorch::runtime::set_option(backend, {&one, 1}));
}

EXPORTED int caller_get_option(const char* backend, const CallerOption* option) {
  executorch::runtime::BackendOption one = caller::option_of(*option);
  return static_cast<int>(executorch::runtime::get_option(backend, {&one, 1}));
}

} // extern "C"
