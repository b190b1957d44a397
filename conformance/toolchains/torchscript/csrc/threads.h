#pragma once

#include "channel.h"
#include "guards.h"
#include "subject.h"
#include "values.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace native_target {

// Let fresh threads begin together, and wait for them. Each does its work with its index; returns what each has thrown,
// null where that is nothing.
template <typename Work>
std::vector<std::exception_ptr> at_once(size_t count, const Work& work) {
  std::vector<std::exception_ptr> errors(count);
  std::barrier together(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (size_t index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      together.arrive_and_wait();
      try {
        work(index);
      } catch (...) {
        errors[index] = std::current_exception();
      }
    });
  }
  threads.clear(); // which waits for them
  return errors;
}

// What several threads found, each thing once; see the class of this name in toolchains/threads.py.
class Findings {
 public:
  explicit Findings(size_t calls) : results_(calls) {}

  void note(size_t call, const c10::IValue& result) {
    const auto data = encoded(result);
    const std::lock_guard lock(mutex_);
    add(results_[call], data, [&](const auto& known) { return view_of(known) == view_of(data); });
  }

  void note_modes() {
    const std::lock_guard lock(mutex_);
    add(modes_, Modes::here());
  }

  // The text that Python makes of it, where the name of a type stands without its module.
  void note_error(const std::exception_ptr& error) {
    const auto raised = described(error);
    const std::lock_guard lock(mutex_);
    add(errors_, raised.type.substr(raised.type.rfind('.') + 1) + ": " + raised.text);
  }

  c10::IValue as_message() const {
    std::vector<c10::IValue> results, modes;
    for (const auto& each : results_) {
      results.push_back(as_list(each));
    }
    for (const auto& each : modes_) {
      modes.push_back(each.as_message());
    }
    auto message = new_dict();
    message.insert("results", as_list(results));
    message.insert("modes", as_list(modes));
    message.insert("errors", as_list(errors_));
    return message;
  }

 private:
  template <typename Thing, typename Same>
  static void add(std::vector<Thing>& known, Thing thing, const Same& same) {
    if (std::none_of(known.begin(), known.end(), same)) {
      known.push_back(std::move(thing));
    }
  }

  template <typename Thing>
  static void add(std::vector<Thing>& known, const Thing& thing) {
    add(known, thing, [&](const Thing& each) { return each == thing; });
  }

  std::mutex mutex_;
  std::vector<std::vector<at::Tensor>> results_; // encoded
  std::vector<Modes> modes_;
  std::vector<std::string> errors_;
};

// Let fresh threads work together, and note what they throw, and their modes before the work and after it.
template <typename Work>
void observe_at_once(size_t count, Findings& found, const Work& work) {
  at_once(count, [&](size_t index) {
    found.note_modes();
    try {
      work(index);
    } catch (...) {
      found.note_error(std::current_exception());
    }
    found.note_modes();
  });
}

} // namespace native_target
