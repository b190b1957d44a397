#pragma once

#include "texts.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace native_target {

// What PyTorch or the backend threw, as Python would report it: the same type, its bases, and the text.
struct Raised {
  std::string type;
  std::vector<std::string> bases;
  std::string text;
};

inline Raised as_thrown(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const torch::jit::JITException& raised) {
    return {"torch.jit.Error", {"Exception", "BaseException"}, raised.what()};
  } catch (const c10::IndexError& raised) {
    return {"IndexError", {"LookupError", "Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const c10::ValueError& raised) {
    return {"ValueError", {"Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const c10::TypeError& raised) {
    return {"TypeError", {"Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const c10::NotImplementedError& raised) {
    return {
        "NotImplementedError", {"RuntimeError", "Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const c10::OutOfMemoryError& raised) {
    return {
        "torch.OutOfMemoryError", {"RuntimeError", "Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const c10::Error& raised) {
    return {"RuntimeError", {"Exception", "BaseException"}, raised.what_without_backtrace()};
  } catch (const std::bad_alloc& raised) {
    return {"MemoryError", {"Exception", "BaseException"}, raised.what()};
  } catch (const std::exception& raised) {
    return {"RuntimeError", {"Exception", "BaseException"}, raised.what()};
  } catch (...) {
    return {"unknown", {}, "something was thrown that is no std::exception"};
  }
}

inline Raised described(const std::exception_ptr& error) {
  auto raised = as_thrown(error);
  raised.text = legible(raised.text);
  return raised;
}

// Do what is the subject's work: whatever leaves it is charged to the subject, and everything else to the harness.
template <typename Work>
auto of_subject(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const Raised&) {
    throw;
  } catch (...) {
    throw described(std::current_exception());
  }
}

} // namespace native_target
