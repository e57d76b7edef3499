{"judgments": []}
