"""Carrying plans out, and taking them back: the only package that changes a checkpoint."""
