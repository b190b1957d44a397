"""A new backend's distribution, rendered from the templates of its toolchain."""
