"""One module a page; each has a `build` that draws it from the `Sources`."""
