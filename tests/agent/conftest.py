"""Its place makes `fakes` importable in the folders below."""
