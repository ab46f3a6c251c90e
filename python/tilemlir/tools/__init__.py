"""The command line: `tilemlir`, and the native tools of the compiler."""
