#include "checksum.h"

#include <ATen/ATen.h>
#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>
#include <c10/util/StringUtil.h>

#include <bit>
#include <cstring>

namespace reference {
namespace {

using c10::IValue;

// Each step is a bijection of the state, so that no single change can be lost on the way.
class Hasher {
 public:
  void word(uint64_t value) {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 32;
  }

  void bytes(const void* data, size_t size) {
    word(size);
    const char* at = static_cast<const char*>(data);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
      uint64_t chunk = 0;
      std::memcpy(&chunk, at, sizeof(chunk));
      word(chunk);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, at, size);
    word(rest);
  }

  void text(const std::string& value) {
    bytes(value.data(), value.size());
  }

  void value(const IValue& value);

  uint64_t result() const {
    return state_;
  }

 private:
  void tensor(const at::Tensor& tensor);

  uint64_t state_ = 0xCBF29CE484222325u;
};

uint64_t hash_of(const IValue& value) {
  Hasher hasher;
  hasher.value(value);
  return hasher.result();
}

// A torchbind object, such as packed quantised weights, counts as what it would write into a file.
torch::jit::Function* getstate_of(const IValue& object) {
  return object.toObjectRef().type()->findMethod("__getstate__");
}

void Hasher::tensor(const at::Tensor& tensor) {
  word(tensor.defined());
  if (!tensor.defined()) {
    return;
  }
  text(c10::toString(tensor.scalar_type()));
  for (const int64_t size : tensor.sizes()) {
    word(size);
  }
  if (tensor.is_quantized()) {
    if (tensor.qscheme() == at::kPerTensorAffine) {
      word(std::bit_cast<uint64_t>(tensor.q_scale()));
      word(tensor.q_zero_point());
    } else {
      this->tensor(tensor.q_per_channel_scales());
      this->tensor(tensor.q_per_channel_zero_points());
      word(tensor.q_per_channel_axis());
    }
  }
  const at::Tensor plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
  bytes(plain.const_data_ptr(), plain.nbytes());
}

void Hasher::value(const IValue& value) {
  text(value.tagKind());
  if (value.isTensor()) {
    tensor(value.toTensor());
  } else if (value.isInt()) {
    word(value.toInt());
  } else if (value.isBool()) {
    word(value.toBool());
  } else if (value.isDouble()) {
    word(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isComplexDouble()) {
    word(std::bit_cast<uint64_t>(value.toComplexDouble().real()));
    word(std::bit_cast<uint64_t>(value.toComplexDouble().imag()));
  } else if (value.isString()) {
    text(value.toStringRef());
  } else if (value.isDevice()) {
    text(value.toDevice().str());
  } else if (value.isList()) {
    word(value.toListRef().size());
    for (const IValue& element : value.toListRef()) {
      this->value(element);
    }
  } else if (value.isTuple()) {
    word(value.toTupleRef().size());
    for (const IValue& element : value.toTupleRef().elements()) {
      this->value(element);
    }
  } else if (value.isGenericDict()) {
    uint64_t entries = 0;
    for (const auto& entry : value.toGenericDict()) {
      Hasher hasher;
      hasher.value(entry.key());
      hasher.value(entry.value());
      entries += hasher.result();
    }
    word(value.toGenericDict().size());
    word(entries);
  } else if (value.isObject()) {
    torch::jit::Function* getstate = getstate_of(value);
    TORCH_CHECK(getstate != nullptr, value.type()->str(), " has no __getstate__");
    this->value((*getstate)({value}));
  } else {
    TORCH_CHECK(value.isNone(), "a value of type ", value.tagKind(), " has no checksum");
  }
}

std::optional<std::string> why_not_serialisable(const at::Tensor& tensor) {
  if (!tensor.defined() || (tensor.layout() == at::kStrided && !tensor.is_meta())) {
    return std::nullopt;
  }
  return c10::str(
      "a tensor with layout ", tensor.layout(), " on device ", tensor.device(),
      " cannot be stored in the processed module");
}

} // namespace

int64_t checksum(const IValue& value) {
  return static_cast<int64_t>(hash_of(value));
}

std::optional<std::string> why_not_serialisable(const IValue& value) {
  std::optional<std::string> reason;
  value.visit([&reason](const IValue& part) {
    if (part.isTensor()) {
      reason = reason ? reason : why_not_serialisable(part.toTensor());
      return true;
    }
    if (part.isObject() && part.isCustomClass() && getstate_of(part) != nullptr) {
      return true;
    }
    const bool plain = part.isNone() || part.isBool() || part.isInt() || part.isDouble() ||
        part.isString() || part.isDevice() || part.isList() || part.isTuple() ||
        part.isGenericDict();
    if (!plain && !reason) {
      reason = c10::str(
          "a value of type ", part.type()->str(), " cannot be stored in the processed module");
    }
    return !plain;
  });
  return reason;
}

} // namespace reference
