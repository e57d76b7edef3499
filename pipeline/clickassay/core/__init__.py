"""What every floor imports; no engine, no maths of its own."""
