// A caller of ExecuTorch's runtime who owns all memory that a method runs in, and looks at it afterwards.
//
// Python's runtime decides itself where inputs, outputs, planned and temporary memory and blobs lie, and keeps them
// for longer than it must. Here each has memory of its own between bytes that nobody may touch, and what was freed or
// reset is overwritten: whoever still uses it gets other values.
#pragma once

#include <cstdint>

extern "C" {

// A tensor as it travels: where it lies, its dtype by ExecuTorch's number, its sizes, and its dimensions from the
// slowest to the fastest.
struct CallerTensor {
  void* data;
  uint64_t bytes;
  int64_t dtype;
  int64_t dimensions;
  int64_t sizes[16];
  int64_t order[16];
};

// A load-time option of a delegate: kind 0 is a bool, 1 an int, 2 a text.
struct CallerOption {
  const char* key;
  int64_t kind;
  int64_t number;
  const char* text;
};

struct CallerSettings {
  // How much temporary memory is offered: bytes, none for 0, as the runtime has it for -1.
  int64_t temporary;
  // How much memory is offered for what lives as long as the method: bytes, any amount for -1.
  int64_t lasting;
  const char* backend;
  const CallerOption* options;
  uint64_t count;
};

// Loads a method of a program, and of the data of a .ptd where that is not empty. Returns a code of ExecuTorch, or -1
// where an exception of C++ came out of it; `opened` is to be closed in either case.
int caller_open(
    const void* program,
    uint64_t program_bytes,
    const void* data,
    uint64_t data_bytes,
    const char* method,
    const CallerSettings* settings,
    void** opened);

// Calls the method so often, with fresh memory for its inputs. Returns as caller_open does.
int caller_run(void* opened, const CallerTensor* inputs, uint64_t count, uint64_t repeat);

// How many outputs there are, and one of them; it stays until the next call. False where it is no tensor.
uint64_t caller_outputs(void* opened);
bool caller_output(void* opened, uint64_t index, CallerTensor* output);

// Destroys the method and its program, and looks at all memory. What was found stays until caller_close: a line each.
void caller_end(void* opened);
const char* caller_findings(void* opened);
// How much temporary memory was asked for in all.
uint64_t caller_temporary(void* opened);
void caller_close(void* opened);

// Sets an option of a delegate while programs run, or asks for it. Returns a code of ExecuTorch.
int caller_set_option(const char* backend, const CallerOption* option);
int caller_get_option(const char* backend, const CallerOption* option);

} // extern "C"
