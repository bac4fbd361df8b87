"""Which node does what: the role map of a graph, checked when it is instrumented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry import names
from telemetry.errors import UnknownNodeError, UnknownRoleError
from telemetry.topology import Graph, node_paths, routes

ROUTER: Final = ":router"
"""Ends the key of a router: `retrieve:router` is the conditional edge that leaves `retrieve`."""
ROUTER_ROLES: Final = (names.GUARD, names.GRADE)
"""Roles a router can have: some graphs grade, or check the topic, in the edge itself."""


def check_roles(graph: Graph, roles: Mapping[str, str | None]) -> dict[str, str]:
    """Return the roles that are given, after checking that every node and role exists.

    Args:
        graph: A compiled graph.
        roles: Node, `outer/inner` for a node of a subgraph, or `node:router` -> role or None.

    Raises:
        UnknownNodeError: A key is no node and no router of the graph.
        UnknownRoleError: A value is no role, or not one that a router can have.
    """
    known = {*node_paths(graph), *(f"{node}{ROUTER}" for node in routes(graph))}
    for node, role in roles.items():
        if node not in known:
            raise UnknownNodeError(node, known)
        allowed = ROUTER_ROLES if node.endswith(ROUTER) else names.ROLES
        if role is not None and role != names.NONE and role not in allowed:
            raise UnknownRoleError(node, role, allowed)
    return {node: role for node, role in roles.items() if role and role != names.NONE}
