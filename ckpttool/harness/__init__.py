"""Stopping a running query at an exact point of its life, to see what a crash leaves there."""
