//===- Layout.h - All of the layout library ---------------------*- C++ -*-===//
//
// Includes every header of the layout library. No MLIR, no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_LAYOUT_H
#define TILEMLIR_LAYOUT_LAYOUT_H

#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/BlockedLayout.h"
#include "tilemlir/Layout/Conversion.h"
#include "tilemlir/Layout/FragmentAccess.h"
#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/LayoutFit.h"
#include "tilemlir/Layout/MatrixAccess.h"
#include "tilemlir/Layout/MmaFragments.h"
#include "tilemlir/Layout/Reduction.h"
#include "tilemlir/Layout/SharedAddressing.h"
#include "tilemlir/Layout/SharedLayout.h"
#include "tilemlir/Layout/WarpPartition.h"
#include "tilemlir/Layout/WgmmaDescriptor.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#endif // TILEMLIR_LAYOUT_LAYOUT_H
