"""Chat models and the jobs they do for the graph: each a role of `agent.state.Role`."""
