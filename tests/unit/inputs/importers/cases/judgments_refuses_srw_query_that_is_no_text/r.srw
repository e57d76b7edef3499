{"judgmentRatings": [{"query": 3, "ratings": []}]}
