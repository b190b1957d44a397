#pragma once

#include <execinfo.h>
#include <signal.h>

#include <array>
#include <vector>

namespace native_target {

namespace detail {

// A signal handler sees nothing but what is static.
inline volatile sig_atomic_t stack_file = -1;

inline void write_stack(int) {
  std::array<void*, 64> frames;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), stack_file);
}

// The handler is gone when this runs (SA_RESETHAND): raised again, the signal ends the process as it should.
inline void write_stack_and_die(int signal) {
  write_stack(signal);
  raise(signal);
}

} // namespace detail

// While it lives, a fatal signal writes the stack to a file before the process dies of it, and SIGUSR2, by which the
// harness asks where a verb hangs, writes the stack and nothing else.
class StackOnFault {
 public:
  explicit StackOnFault(int file) : alternative_(1 << 16) {
    detail::stack_file = file;
    std::array<void*, 1> frame;
    backtrace(frame.data(), frame.size()); // loads libgcc now, and not within a handler
    stack_t stack{};
    stack.ss_sp = alternative_.data();
    stack.ss_size = alternative_.size();
    sigaltstack(&stack, nullptr); // so that a stack overflow can be told, too
    for (const int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
      handle(fatal, detail::write_stack_and_die, SA_ONSTACK | static_cast<int>(SA_RESETHAND));
    }
    handle(SIGUSR2, detail::write_stack, SA_ONSTACK | SA_RESTART);
  }

  StackOnFault(const StackOnFault&) = delete;
  StackOnFault& operator=(const StackOnFault&) = delete;

  ~StackOnFault() {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGUSR2}) {
      ::signal(signal, SIG_DFL);
    }
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

 private:
  static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
  }

  std::vector<char> alternative_;
};

} // namespace native_target
