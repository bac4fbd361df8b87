"""The lab: the published tables, the cost of every setting, and the bound, measured by running."""
