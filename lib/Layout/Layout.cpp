// The layout algebra.
