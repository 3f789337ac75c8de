"""Files: read once and whole, written whole or not at all, and nothing in them that a spreadsheet would run."""
