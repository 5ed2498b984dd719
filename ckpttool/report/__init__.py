"""The same values in two voices: `text` for people, `json` for programs."""
