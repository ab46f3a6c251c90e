// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{elects among whole warps: threads must be 0 or a multiple of 32, found 48}}
    %leader = tile.elect {threads = 48 : i64} : i1
  }
  return
}

// -----

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{counts whole warps: count must be a multiple of 32, found 100}}
    tile.named_arrive {count = 100 : i64, id = 2 : i64}
  }
  return
}

// -----

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{attribute 'id' failed to satisfy constraint}}
    tile.named_arrive {count = 128 : i64, id = 16 : i64}
  }
  return
}

// -----

func.func @f(%n: i32, %x: i8) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{takes and gives scalars of 16, 32 or 64 bits, found 'i8'}}
    tile.ptx "// $0" (%x) : (i8) -> ()
  }
  return
}
