"""A file that does not even load."""

raise RuntimeError("the job's file does not load")
