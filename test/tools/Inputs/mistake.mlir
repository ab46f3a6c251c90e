// A module with an unknown operation.
module {
  // HOVER
  "tile.nonsense"() : () -> ()
}
