// Uses the layout library alone: the accumulator fragment of mma.sync.m16n8.
#include "tilemlir/Layout/FragmentLayout.h"

#include <cstdio>

int main() {
  auto layout = tilemlir::layout::FragmentLayout::create(
      {16, 8}, {{4, 1, 2}, {8, 0, 1}}, {{2, 1, 1}, {2, 0, 8}});
  if (!layout)
    return 1;
  std::printf("%d threads x %d registers\n", int(layout->numThreads()),
              int(layout->numRegisters()));
  return 0;
}
