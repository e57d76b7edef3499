"""Files of users as canonical tables (method 2)."""
