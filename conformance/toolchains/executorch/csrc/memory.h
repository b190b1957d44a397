// Memory between guards, and the allocators and loaders that hand it out.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/memory_allocator.h>

namespace caller {

using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::Result;

constexpr uint8_t kGuard = 0xc3;
constexpr uint8_t kGone = 0xa5;
constexpr size_t kGuardBytes = 64;
constexpr size_t kAlignment = 16;

// Some bytes between two guards, which begin at a multiple of the alignment.
class Guarded {
 public:
  explicit Guarded(size_t size, size_t alignment = kAlignment, uint8_t fill = kGuard) : size_(size) {
    memory_.assign(size + 2 * kGuardBytes + alignment, kGuard);
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data()) + kGuardBytes;
    data_ = reinterpret_cast<uint8_t*>((begin + alignment - 1) / alignment * alignment);
    std::memset(data_, fill, size);
  }

  uint8_t* data() const {
    return data_;
  }

  size_t size() const {
    return size_;
  }

  // Whether the bytes in front of it and behind it are what they were.
  bool intact() const {
    return all(memory_.data(), data_, kGuard) && all(data_ + size_, memory_.data() + memory_.size(), kGuard);
  }

  // From now on nobody may use it.
  void spoil() {
    std::memset(data_, kGone, size_);
    gone_ = true;
  }

  // Whether nobody has written to it since it was spoilt.
  bool left_alone() const {
    return !gone_ || all(data_, data_ + size_, kGone);
  }

 private:
  static bool all(const uint8_t* begin, const uint8_t* end, uint8_t value) {
    for (; begin != end; ++begin) {
      if (*begin != value) {
        return false;
      }
    }
    return true;
  }

  std::vector<uint8_t> memory_;
  uint8_t* data_ = nullptr;
  size_t size_;
  bool gone_ = false;
};

// What was handed out, and what is wrong with it at the end.
class Blocks {
 public:
  explicit Blocks(std::string what) : what_(std::move(what)) {}

  Guarded& add(size_t size, size_t alignment = kAlignment, uint8_t fill = kGuard) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.emplace_back(size, alignment, fill);
  }

  void look(std::vector<std::string>& findings) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Guarded& each : blocks_) {
      if (!each.intact()) {
        findings.push_back("bytes beside the " + what_ + " were overwritten");
      }
      if (!each.left_alone()) {
        findings.push_back("the " + what_ + " was written to after it was given back");
      }
    }
  }

 private:
  const std::string what_;
  std::mutex mutex_;
  std::list<Guarded> blocks_;
};

// Temporary memory: a limit, and a block of its own for each request, which is spoilt at the reset.
class Temporary : public MemoryAllocator {
 public:
  explicit Temporary(size_t limit) : MemoryAllocator(0, nullptr), limit_(limit), blocks_("temporary memory") {}

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    asked_ += size;
    if (size > limit_ - used_) {
      return nullptr;
    }
    used_ += size;
    live_.push_back(&blocks_.add(size, alignment < kAlignment ? kAlignment : alignment));
    return live_.back()->data();
  }

  void reset() override {
    for (Guarded* each : live_) {
      each->spoil();
    }
    live_.clear();
    used_ = 0;
  }

  size_t asked() const {
    return asked_;
  }

  size_t used_size() const override {
    return used_;
  }

  size_t free_size() const override {
    return limit_ - used_;
  }

  Blocks& blocks() {
    return blocks_;
  }

 private:
  const size_t limit_;
  size_t used_ = 0;
  size_t asked_ = 0;
  std::vector<Guarded*> live_;
  Blocks blocks_;
};

// Memory for as long as the method lives: a limit, and a block of its own for each request.
class Lasting : public MemoryAllocator {
 public:
  explicit Lasting(size_t limit) : MemoryAllocator(0, nullptr), limit_(limit), blocks_("memory of the method") {}

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (size > limit_ - used_) {
      return nullptr;
    }
    used_ += size;
    return blocks_.add(size, alignment < kAlignment ? kAlignment : alignment).data();
  }

  size_t used_size() const override {
    return used_;
  }

  size_t free_size() const override {
    return limit_ - used_;
  }

  Blocks& blocks() {
    return blocks_;
  }

 private:
  const size_t limit_;
  size_t used_ = 0;
  Blocks blocks_;
};

// Gives each part of a file memory of its own, which is spoilt when it is freed.
class Loader : public DataLoader {
 public:
  Loader(const void* data, size_t size, const char* what)
      : data_(static_cast<const uint8_t*>(data)), size_(size), blocks_(what) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& /*segment*/) const override {
    if (offset > size_ || size > size_ - offset) {
      return Error::InvalidArgument;
    }
    Guarded& block = blocks_.add(size);
    std::memcpy(block.data(), data_ + offset, size);
    return FreeableBuffer(block.data(), size, &Loader::spoil, &block);
  }

  Error load_into(size_t offset, size_t size, const SegmentInfo& /*segment*/, void* buffer) const override {
    if (offset > size_ || size > size_ - offset) {
      return Error::InvalidArgument;
    }
    std::memcpy(buffer, data_ + offset, size);
    return Error::Ok;
  }

  Result<size_t> size() const override {
    return size_;
  }

  Blocks& blocks() {
    return blocks_;
  }

 private:
  static void spoil(void* block, void* /*data*/, size_t /*size*/) {
    static_cast<Guarded*>(block)->spoil();
  }

  const uint8_t* data_;
  const size_t size_;
  mutable Blocks blocks_;
};

} // namespace caller
