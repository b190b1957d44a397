// The whole library as one translation unit: PyTorch's headers cost several seconds each time that
// they are parsed, the parts below cost almost nothing.

#include "availability.cpp"
#include "checksum.cpp"
#include "numbers.cpp"
#include "program.cpp"
#include "refusals.cpp"
#include "sources.cpp"
#include "writes.cpp"
#include "attributes.cpp"
#include "last_uses.cpp"
#include "method_lowering.cpp"
#include "preprocess.cpp"
#include "compile.cpp"
#include "interpreter.cpp"
#include "backend.cpp"
