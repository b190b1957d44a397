#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace native_target {

// Raw bytes in a message: a tensor of uint8, for TorchScript has no type of its own for them.
inline at::Tensor as_bytes(std::string_view data) {
  auto bytes = at::empty({static_cast<int64_t>(data.size())}, at::kByte);
  std::memcpy(bytes.data_ptr(), data.data(), data.size());
  return bytes;
}

inline std::string_view view_of(const at::Tensor& bytes) {
  TORCH_CHECK(
      bytes.scalar_type() == at::kByte && bytes.is_contiguous(),
      "expected bytes as a contiguous tensor of uint8, found ", bytes.toString());
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())};
}

// A value as torch.load reads it, and one that torch.save has written.
inline at::Tensor encoded(const c10::IValue& value) {
  const auto data = torch::jit::pickle_save(value);
  return as_bytes({data.data(), data.size()});
}

inline c10::IValue decoded(std::string_view data) {
  return torch::jit::pickle_load({data.begin(), data.end()});
}

// Messages on a socket: eight bytes of length, most significant first, then a value as torch.save writes it.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // The next message, waiting for it; nothing when the other end has closed.
  std::optional<c10::IValue> receive() const {
    std::vector<char> length(8);
    if (!fill(length)) {
      return std::nullopt;
    }
    uint64_t size = 0;
    for (const char byte : length) {
      size = size << 8 | static_cast<unsigned char>(byte);
    }
    std::vector<char> data(size);
    if (!fill(data)) {
      return std::nullopt;
    }
    return torch::jit::pickle_load(data);
  }

  void send(const c10::IValue& message) const {
    const auto data = torch::jit::pickle_save(message);
    std::vector<char> frame;
    frame.reserve(8 + data.size());
    for (int shift = 56; shift >= 0; shift -= 8) {
      frame.push_back(static_cast<char>(data.size() >> shift & 0xff));
    }
    frame.insert(frame.end(), data.begin(), data.end());
    for (size_t sent = 0; sent < frame.size();) {
      sent += retried("send", [&] { return ::send(socket_, &frame[sent], frame.size() - sent, MSG_NOSIGNAL); });
    }
  }

 private:
  bool fill(std::vector<char>& data) const {
    for (size_t filled = 0; filled < data.size();) {
      const auto count = retried("recv", [&] { return ::recv(socket_, &data[filled], data.size() - filled, 0); });
      if (count == 0) {
        return false;
      }
      filled += count;
    }
    return true;
  }

  // A system call, again where a signal came between.
  template <typename Call>
  static size_t retried(const char* name, Call&& call) {
    while (true) {
      const ssize_t result = call();
      if (result >= 0) {
        return static_cast<size_t>(result);
      }
      if (errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), name);
      }
    }
  }

  int socket_;
};

} // namespace native_target
