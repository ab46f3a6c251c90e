// The runtime: driver loader, launcher, thread pool.
