{"judgmentRatings": [{"query": "q", "ratings": {"a": 1}}]}
