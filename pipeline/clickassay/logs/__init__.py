"""Raw log → sessions → pattern table (sessionisation): the only place with engines."""
