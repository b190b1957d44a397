// Texts that Python can read: an exception quotes what it could not, and messages are UTF-8.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace native_target {

// How many bytes the character has with which the text begins, 0 where it begins with none.
inline size_t character_at_start(std::string_view text) {
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  const auto lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xC0) != 0x80) {
      return 0;
    }
  }
  // Longer than need be, halves of a pair, and beyond the last.
  const bool excluded = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return excluded ? 0 : length;
}

// The text with U+FFFD for every byte that is part of no character.
inline std::string legible(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto length = character_at_start(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

} // namespace native_target
