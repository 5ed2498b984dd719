"""Bytes to model values, one module per file of a checkpoint. Pure: nothing here opens anything."""
