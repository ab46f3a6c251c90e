// Architectures that do not exist or are too old.
// RUN: tile-opt %s -tile-set-target=target=gfx90a -verify-diagnostics -split-input-file
// RUN: not tile-opt %s -tile-set-target=target=sm_75 2>&1 | filecheck %s --check-prefix=OLD
// RUN: not tile-opt %s -tile-set-target=target=sm_90x 2>&1 | filecheck %s --check-prefix=SUFFIX

// OLD: error: sm_75 is too old, the first supported one is sm_80
// SUFFIX: error: unknown architecture 'sm_90x', expected cpu or sm_<NN>[a]
// expected-error @+1 {{unknown architecture 'gfx90a', expected cpu or sm_<NN>[a]}}
module {
  func.func @f() {
    return
  }
}
