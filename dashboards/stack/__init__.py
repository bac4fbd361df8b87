"""The stack around the agent: its parts, their configuration files, and where alerts arrive."""
