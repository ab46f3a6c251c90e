//===- ParallelViews.cpp - views that change with the iteration -*- C++ -*-===//
//
// Layouts and threads are chosen by indices; offsets of views are put there.
// While views are folded, the last index counts units of the narrowest elements
// on the way, so that changes of the element type keep it.
//
//===----------------------------------------------------------------------===//
#include "ParallelViews.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
/// The storage and the indices of a load, store or atomic.
struct ElementAccess {
  OpOperand *storage = nullptr;
  MutableOperandRange indices;

  explicit ElementAccess(LoadOp op)
      : storage(&op.getSourceMutable()), indices(op.getIndicesMutable()) {}
  template <typename OpT>
  explicit ElementAccess(OpT op)
      : storage(&op.getDestMutable()), indices(op.getIndicesMutable()) {}
};

class IndexFolder {
public:
  IndexFolder(ParallelOp loop, Operation *access)
      : loop(loop), b(access), loc(access->getLoc()) {}

  /// False when the views cannot be expressed by indices.
  bool fold(ElementAccess access);

private:
  bool isInside(Value value) {
    return loop.getBody().isAncestor(value.getParentRegion());
  }
  static BufferType typeOf(Value view) {
    return cast<BufferType>(view.getType());
  }
  int64_t unitsOf(Value view) {
    return typeOf(view).getElementBits() / unitBits;
  }
  SmallVector<int64_t> shapeInUnits(Value view) {
    SmallVector<int64_t> shape(typeOf(view).getShape());
    if (!shape.empty())
      shape.back() *= unitsOf(view);
    return shape;
  }
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  }
  Value add(Value lhs, Value rhs) {
    return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
  }
  Value times(Value value, int64_t factor) {
    return factor == 1
               ? value
               : b.createOrFold<arith::MulIOp>(loc, value, constant(factor));
  }
  Value over(Value value, int64_t divisor) {
    return divisor == 1
               ? value
               : b.createOrFold<arith::DivUIOp>(loc, value, constant(divisor));
  }
  Value modulo(Value value, int64_t divisor) {
    return divisor == 1
               ? constant(0)
               : b.createOrFold<arith::RemUIOp>(loc, value, constant(divisor));
  }
  bool throughSubview(SubviewOp view);
  void throughReshape(ReshapeOp view);

  ParallelOp loop;
  OpBuilder b;
  Location loc;
  int64_t unitBits = 0;
  SmallVector<Value> indices;
};
} // namespace

bool IndexFolder::throughSubview(SubviewOp view) {
  ArrayRef<int64_t> sizes = view.getSizes();
  SmallVector<Value> result(view.getOffsets());
  if (!result.empty())
    result.back() = times(result.back(), unitsOf(view.getSource()));
  // Dimensions of size 1 have the index 0 in the view, if they are in it at
  // all.
  SmallVector<Value> large;
  for (auto [index, size] : llvm::zip_equal(indices, view.getType().getShape()))
    if (size != 1)
      large.push_back(index);
  bool keepsRows = sizes.empty() || sizes.back() != 1;
  if (unitsOf(view.getSource()) > 1 && !keepsRows) {
    // The units of the only element in a row belong to the last dimension; a
    // view that ends with another dimension is no run of bytes.
    if (view.getType().getRank() == 0 || view.getType().getShape().back() != 1)
      return false;
    result.back() = add(result.back(), indices.back());
  }
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size != 1)
      result[dim] = add(result[dim], large[next++]);
  indices = std::move(result);
  return true;
}

void IndexFolder::throughReshape(ReshapeOp view) {
  SmallVector<int64_t> from = shapeInUnits(view.getResult());
  SmallVector<int64_t> to = shapeInUnits(view.getSource());
  SmallVector<Value> result(to.size());
  // Groups of dimensions with equal products map separately.
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    size_t firstFrom = f, firstTo = t;
    int64_t fromProduct = f < from.size() ? from[f++] : 1;
    int64_t toProduct = t < to.size() ? to[t++] : 1;
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct)
        fromProduct *= from[f++];
      else
        toProduct *= to[t++];
    }
    Value linear = constant(0);
    for (size_t d = firstFrom; d < f; ++d)
      linear = add(times(linear, from[d]), indices[d]);
    for (size_t d = t; d-- > firstTo;) {
      bool isFirst = d == firstTo;
      result[d] = isFirst ? linear : modulo(linear, to[d]);
      if (!isFirst)
        linear = over(linear, to[d]);
    }
  }
  indices = std::move(result);
}

bool IndexFolder::fold(ElementAccess access) {
  Value accessed = access.storage->get();
  SmallVector<Operation *> chain;
  Value base = accessed;
  unitBits = typeOf(accessed).getElementBits();
  while (isInside(base)) {
    Operation *view = base.getDefiningOp();
    chain.push_back(view);
    base = view->getOperand(0);
    unitBits = std::min(unitBits, typeOf(base).getElementBits());
  }
  Type element = typeOf(accessed).getElementType();
  bool changesType = element != typeOf(base).getElementType();
  bool hasScalar =
      typeOf(base).getRank() == 0 || llvm::any_of(chain, [](Operation *view) {
        return typeOf(view->getResult(0)).getRank() == 0;
      });
  if (hasScalar && changesType)
    return false;

  for (OpOperand &index : access.indices)
    indices.push_back(index.get());
  if (!indices.empty())
    indices.back() = times(indices.back(), unitsOf(accessed));
  for (Operation *view : chain) {
    if (auto subview = dyn_cast<SubviewOp>(view)) {
      if (!throughSubview(subview))
        return false;
    } else if (auto reshape = dyn_cast<ReshapeOp>(view)) {
      throughReshape(reshape);
    }
  }
  if (changesType) {
    SmallVector<int64_t> shape(typeOf(base).getShape());
    int64_t rowBits = shape.back() * typeOf(base).getElementBits();
    int64_t bits = typeOf(accessed).getElementBits();
    if (rowBits % bits)
      return false;
    shape.back() = rowBits / bits;
    OpBuilder before(loop);
    base = BitcastOp::create(
        before, loc, BufferType::get(shape, element, typeOf(base).getSpace()),
        base);
  }
  if (!indices.empty())
    indices.back() = over(indices.back(), unitsOf(accessed));
  access.storage->set(base);
  access.indices.assign(indices);
  return true;
}

void mlir::tile::foldParallelViews(KernelOp kernel) {
  kernel.walk([](ParallelOp loop) {
    SmallVector<Operation *> views, accesses;
    loop.walk([&](Operation *op) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(op))
        views.push_back(op);
      if (isa<LoadOp, StoreOp, AtomicOp>(op))
        accesses.push_back(op);
    });
    if (views.empty())
      return;
    for (Operation *op : accesses) {
      ElementAccess access = isa<LoadOp>(op) ? ElementAccess(cast<LoadOp>(op))
                             : isa<StoreOp>(op)
                                 ? ElementAccess(cast<StoreOp>(op))
                                 : ElementAccess(cast<AtomicOp>(op));
      if (llvm::is_contained(views, access.storage->get().getDefiningOp()))
        IndexFolder(loop, op).fold(access);
    }
    for (Operation *view : llvm::reverse(views))
      if (view->use_empty())
        view->erase();
  });
}
