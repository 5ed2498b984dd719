"""Files below `state/`: operator metadata and schema headers."""
