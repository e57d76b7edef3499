"""What the package costs, whether its claims hold, and what others write by hand: see README.md."""
