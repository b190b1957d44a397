// A target without Python: answers the verbs of the conformance harness on a socket, with nothing but libtorch.
//
//   native_target SOCKET STACK-FILE BACKEND LIBRARY...
//
// SOCKET and STACK-FILE are descriptors that the harness has opened; stdout and stderr are files of its own. The
// harness watches over the process: limits, timeouts, crashes and whatever is left behind are seen from outside.

#include "channel.h"
#include "faults.h"
#include "session.h"
#include "subject.h"
#include "values.h"

// One translation unit: libtorch's headers cost ten seconds each time that they are parsed, and all else nothing.
#include "inference.cpp"
#include "inspection.cpp"
#include "session.cpp"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace native_target {
namespace {

// The most memory, in bytes, that was resident since the program began; 0 where the system does not tell.
int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      int64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return 0;
}

c10::IValue as_message(const Raised& raised) {
  auto message = new_dict();
  message.insert("type", raised.type);
  message.insert("bases", as_list(raised.bases));
  message.insert("text", raised.text);
  return message;
}

c10::IValue answer(Session& session, const c10::impl::GenericDict& request) {
  auto reply = new_dict();
  reply.insert("number", request.at("number"));
  const auto name = request.at("verb").toStringRef();
  const auto began = std::chrono::steady_clock::now();
  if (const auto verb = Session::find(name)) {
    try {
      reply.insert("value", (session.*verb)(Arguments(request.at("arguments").toGenericDict())));
    } catch (const Raised& raised) {
      reply.insert("raised", as_message(raised));
    } catch (const std::exception& error) {
      reply.insert("broken", std::string(error.what()));
    }
  } else {
    reply.insert("unanswered", name);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  reply.insert("seconds", seconds.count());
  reply.insert("warnings", as_list(std::vector<std::string>())); // they are in stderr
  reply.insert("peak_bytes", peak_bytes());
  return reply;
}

// Answer verbs until the other end closes, or one asks to leave; returns the exit code that is asked for.
int serve(const Channel& channel, Session& session) {
  while (const auto request = channel.receive()) {
    const auto message = request->toGenericDict();
    if (message.at("verb").toStringRef() == "leave") {
      return static_cast<int>(message.at("arguments").toGenericDict().at("status").toInt());
    }
    const auto reply = answer(session, message);
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    channel.send(reply);
  }
  return EXIT_SUCCESS;
}

} // namespace
} // namespace native_target

int main(int count, char** arguments) {
  using namespace native_target;
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    std::cout << TORCH_VERSION << '\n';
    return EXIT_SUCCESS;
  }
  if (count < 4) {
    std::cerr << "usage: native_target SOCKET STACK-FILE BACKEND LIBRARY..., or --version; started by the harness\n";
    return EXIT_FAILURE;
  }
  const StackOnFault stack_on_fault(std::atoi(arguments[2]));
  at::set_num_threads(1);
  Session session(arguments[3], {arguments + 4, arguments + count});
  return serve(Channel(std::atoi(arguments[1])), session);
}
