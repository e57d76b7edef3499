"""Commands that ask questions beside a run: an audit, evaluation, labelling, learned gains, power."""
