"""A judge of many queries, corrected by people who judged few of them."""
