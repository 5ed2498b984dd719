"""All that opens anything: bytes and names in, values of `scene/` out."""
