"""What a run found, as frozen records; `report` and `studies` turn them into words and pictures."""
