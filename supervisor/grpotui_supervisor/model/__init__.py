"""What a run is made of, as values: frozen dataclasses and pure functions. No file, process, device or clock."""
