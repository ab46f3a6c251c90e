//===- TileTypes.td - types of the `tile` dialect -----------*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILETYPES_TD
#define TILEMLIR_DIALECT_TILE_IR_TILETYPES_TD

include "tilemlir/Dialect/Tile/IR/TileEnums.td"

def Tile_BufferType : Tile_Type<"Buffer", "buffer"> {
  let summary = "handle of a mutable tile in shared memory, registers or local storage";
  let description = [{
    A handle of storage with a static shape. `space` says where it lives:

    * `shared`: one copy per block in shared memory;
    * `fragment`: one copy per block, spread over the registers of its threads;
    * `local`: one copy per thread (a rank-0 `local` buffer is a scalar variable);
    * `tmem`: tensor memory of sm_100.

    Handles come from `tile.alloc` and from view operations only; they are
    never block arguments, results of control flow, or select operands.
    `layout` is `#tile.fragment_layout` for fragments and
    `#tile.shared_layout` for shared memory; it is absent until chosen, and
    absent on the results of view operations, which take the layout of the
    allocation they view.

    ```mlir
    !tile.buffer<128x64xf16, shared>
    !tile.buffer<f32, local>
    !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "static extents">:$shape,
    "Type":$elementType,
    "MemorySpace":$space,
    OptionalParameter<"Attribute", "layout, absent while open">:$layout
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 0;
  let builders = [
    TypeBuilderWithInferredContext<(ins "ArrayRef<int64_t>":$shape, "Type":$elementType,
      "MemorySpace":$space), [{
      return $_get(elementType.getContext(), shape, elementType, space, Attribute());
    }]>
  ];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const;
    /// Bits of one element in memory (i1 is stored as a byte).
    int64_t getElementBits() const;
    /// Type that a load yields: the element type without signedness.
    Type getScalarType() const;
    bool isShared() const { return getSpace() == MemorySpace::Shared; }
    bool isFragment() const { return getSpace() == MemorySpace::Fragment; }
    bool isLocal() const { return getSpace() == MemorySpace::Local; }
    BufferType withLayout(Attribute layout) const;
    BufferType withShape(ArrayRef<int64_t> shape) const;
    FragmentLayoutAttr getFragmentLayout() const;
    SharedLayoutAttr getSharedLayout() const;
  }];
}

def Tile_BarrierType : Tile_Type<"Barrier", "barrier"> {
  let summary = "an mbarrier, the element type of buffers of barriers";
  let description = [{
    An object of 8 bytes in shared memory that counts arrivals and bytes of
    asynchronous copies in phases. Only buffers in shared memory hold barriers;
    they are used by `tile.barrier_*` and by copies, never loaded or stored.
    Meaning: PTX ISA, "mbarrier".
    ```mlir
    %full = tile.alloc "full" : !tile.buffer<4x!tile.barrier, shared>
    ```
  }];
}

def Tile_AnyBuffer : Type<CPred<"::llvm::isa<::mlir::tile::BufferType>($_self)">,
    "tile buffer", "::mlir::tile::BufferType">;
class Tile_BufferIn<string space> : Type<And<[Tile_AnyBuffer.predicate,
    CPred<"::llvm::cast<::mlir::tile::BufferType>($_self).getSpace() == ::mlir::tile::MemorySpace::" # space>]>,
    "tile buffer in " # space # " space", "::mlir::tile::BufferType">;
def Tile_SharedBuffer : Tile_BufferIn<"Shared">;
def Tile_FragmentBuffer : Tile_BufferIn<"Fragment">;
/// A buffer of mbarriers.
def Tile_BarrierBuffer : Type<And<[Tile_SharedBuffer.predicate,
    CPred<"::llvm::isa<::mlir::tile::BarrierType>(::llvm::cast<::mlir::tile::BufferType>($_self).getElementType())">]>,
    "buffer of barriers in shared space", "::mlir::tile::BufferType">;
/// A tensor in global memory or a buffer.
def Tile_Storage : AnyTypeOf<[AnyMemRef, Tile_AnyBuffer], "global tensor or tile buffer">;
/// Scalars of kernels.
def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat], "scalar">;

#endif // TILEMLIR_DIALECT_TILE_IR_TILETYPES_TD
