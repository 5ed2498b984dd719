"""The doors to the files: the local disk and what fsspec opens; nothing here writes."""
