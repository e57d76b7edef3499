"""How many labels active plans save, whether their estimates are honest, and what they cost."""
