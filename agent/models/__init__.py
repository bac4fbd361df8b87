"""Chat models and the jobs they do for the graph: enhance, guard, grade, rewrite, answer."""
