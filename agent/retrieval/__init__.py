"""Search over the documents: tokens, TF-IDF, corpus files, the saved index."""
