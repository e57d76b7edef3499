"""Keys of 64 bits: numbered, sorted and added up.

- ``numbers``: numbers for keys in order of appearance, arrays that grow, values in order.
- ``sums``: sessions counted by keys that are packed of numbers.
"""
