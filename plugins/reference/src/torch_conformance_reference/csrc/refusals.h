#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>

namespace reference {

// Refuse a model: throws an error that names the operator, gives the reason, and shows the user's
// source with `<--- HERE`.
[[noreturn]] void refuse(const torch::jit::Node* node, const std::string& reason);

// What this backend does not take, and why (the table is in refusals.cpp). Throws by refuse().
void check_operator(const torch::jit::Node* node);

} // namespace reference
