#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>

namespace reference {

// A number that changes when anything in the value changes, the bytes of its tensors included.
// It is the same before saving and after loading: the order of a dictionary's entries and the
// strides of a tensor do not count. It guards against damage, not against forgery.
int64_t checksum(const c10::IValue& value);

// Why the value cannot be kept in a processed module (it cannot be saved, or not be checksummed).
// Empty if it can.
std::optional<std::string> why_not_serialisable(const c10::IValue& value);

} // namespace reference
