"""Measurements as ratios against a peer in the same run: these machines are too noisy for seconds."""
