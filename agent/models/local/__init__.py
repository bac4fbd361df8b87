"""The `local` chat model: classical text methods that run here, without key or network."""
