"""GPUs through NVML: reading them, who holds them, and whether they came back. Only `nvml` knows the library."""
