"""Time and memory, as whole processes."""
