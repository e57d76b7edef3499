"""The array engine, the default: Polars decodes and hashes, NumPy does the rest on 64-bit numbers.

Several threads may ask for texts at a time; new ones are added under a lock, and can be found once they are
whole.
"""
