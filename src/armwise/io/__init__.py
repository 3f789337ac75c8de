"""Read a file whole, write a file whole or not at all, and make text safe for spreadsheets."""
