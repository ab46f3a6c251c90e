// A module that tile-lsp-server describes.
module {
  // HOVER
  tile.sync_threads
}
