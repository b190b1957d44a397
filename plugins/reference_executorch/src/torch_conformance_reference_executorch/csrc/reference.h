// A delegate that runs a partition as a program of its own, by ExecuTorch's kernels.
//
// The blob: a head of 16 bytes, then the .pte of the partition. All numbers are little-endian.
//
//   0  magic, "CREF"; "CREN" where a name stands in place of the .pte, which is named data then
//   4  version of the format
//   8  CRC-32 of the .pte
//  12  CRC-32 of the compile specs
#pragma once

#include <executorch/runtime/backend/interface.h>

namespace reference {

class Reference : public executorch::runtime::BackendInterface {
 public:
  // False where REFERENCE_EXECUTORCH_AVAILABLE is 0, which is asked at every question.
  bool is_available() const override;

  // DelegateInvalidCompatibility for a blob that is damaged, of another version, or of other compile specs.
  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context,
      executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs) const override;

  // `args` are the inputs of the partition, then its outputs, which are resized and written.
  executorch::runtime::Error execute(
      executorch::runtime::BackendExecutionContext& context,
      executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> args) const override;

  void destroy(executorch::runtime::DelegateHandle* handle) const override;
};

} // namespace reference
