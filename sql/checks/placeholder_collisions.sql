-- a placeholder of a market that is also the number of a list, or of another market: must be none
SELECT t.list_fp
FROM list_texts AS t
SEMI JOIN placeholder_lists AS m ON t.list_fp = m.list_fp
UNION ALL
SELECT list_fp
FROM placeholder_lists
GROUP BY list_fp
HAVING count(*) > 1
