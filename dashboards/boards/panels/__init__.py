"""The panels that boards share: one function each, without id and place."""
