"""What people read: terminal, HTML, Markdown."""
