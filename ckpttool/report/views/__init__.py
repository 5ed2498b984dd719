"""From what a command found to the `Document` that it shows: a module for each command, and no format in any."""
