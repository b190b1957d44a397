#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstring>
#include <string>
#include <vector>

namespace native_target {

// A dictionary or list as messages have them: of whatever is put in.
inline c10::impl::GenericDict new_dict() {
  return c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get());
}

template <typename Range>
c10::IValue as_list(const Range& range) {
  c10::impl::GenericList list(c10::AnyType::get());
  for (const auto& each : range) {
    list.push_back(each);
  }
  return list;
}

// Give the containers of a value, which a pickle leaves untyped, the types that are declared for them.
inline void retype(const c10::IValue& value, const c10::TypePtr& declared) {
  if (const auto optional = declared->cast<c10::OptionalType>()) {
    if (!value.isNone()) {
      retype(value, optional->getElementType());
    }
  } else if (const auto list_type = declared->cast<c10::ListType>(); list_type && value.isList()) {
    auto list = value.toList();
    list.unsafeSetElementType(list_type->getElementType());
    for (const c10::IValue& element : list) {
      retype(element, list_type->getElementType());
    }
  } else if (const auto dict_type = declared->cast<c10::DictType>(); dict_type && value.isGenericDict()) {
    auto dict = value.toGenericDict();
    dict.unsafeSetKeyType(dict_type->getKeyType());
    dict.unsafeSetValueType(dict_type->getValueType());
    for (const auto& entry : dict) {
      retype(entry.value(), dict_type->getValueType());
    }
  } else if (const auto tuple_type = declared->cast<c10::TupleType>(); tuple_type && value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    for (size_t i = 0; i < elements.size() && i < tuple_type->elements().size(); ++i) {
      retype(elements[i], tuple_type->elements()[i]);
    }
  }
}

// The type that Python infers for a value, where none is declared.
inline c10::TypePtr inferred_type(const c10::IValue& value) {
  const auto common = [](c10::TypePtr known, const c10::IValue& next) -> c10::TypePtr {
    const auto type = inferred_type(next);
    return !known || *known == *type ? type : c10::AnyType::get();
  };
  if (value.isList()) {
    c10::TypePtr element;
    for (const c10::IValue& each : value.toList()) {
      element = common(element, each);
    }
    return c10::ListType::create(element ? element : c10::TensorType::get());
  }
  if (value.isGenericDict()) {
    c10::TypePtr mapped;
    for (const auto& entry : value.toGenericDict()) {
      mapped = common(mapped, entry.value());
    }
    return c10::DictType::create(c10::StringType::get(), mapped ? mapped : c10::TensorType::get());
  }
  if (value.isTuple()) {
    std::vector<c10::TypePtr> elements;
    for (const auto& each : value.toTupleRef().elements()) {
      elements.push_back(inferred_type(each));
    }
    return c10::TupleType::create(std::move(elements));
  }
  return value.isTensor() ? c10::TensorType::get() : value.type();
}

inline std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  std::vector<at::Tensor> found;
  value.visit([&](const c10::IValue& part) {
    if (part.isTensor()) {
      found.push_back(part.toTensor());
    }
    return false;
  });
  return found;
}

// Values, bit by bit: NaN equals itself, and strides make no difference.
inline bool same_values(const at::Tensor& one, const at::Tensor& other) {
  if (one.sizes() != other.sizes() || one.scalar_type() != other.scalar_type()) {
    return false;
  }
  const auto mine = one.detach().contiguous(), theirs = other.detach().contiguous();
  return std::memcmp(mine.const_data_ptr(), theirs.const_data_ptr(), mine.nbytes()) == 0;
}

inline bool share_memory(const at::Tensor& one, const at::Tensor& other) {
  return one.numel() > 0 && other.numel() > 0 && one.is_alias_of(other);
}

} // namespace native_target
