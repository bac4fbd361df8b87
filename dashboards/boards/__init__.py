"""Grafana boards: a panel is one function without layout, a board is a module that places them."""
