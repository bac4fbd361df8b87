"""The whole thing on this machine: every failure injected in turn, and what is told of it."""
