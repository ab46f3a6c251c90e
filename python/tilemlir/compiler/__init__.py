"""From a traced kernel to loadable images: options, target, toolchain and cache."""
