// Drivers of the LLVM back ends.
