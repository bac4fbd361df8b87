"""Two sides of a change, compared with honest statistics, and the part of the loop to blame."""
