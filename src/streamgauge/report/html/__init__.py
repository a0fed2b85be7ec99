"""The report of stored runs as one HTML file: inline style and inline SVG, no script, nothing to load."""
