-- a number that stands for lists left out of a market, and is that of a list too, or of another market: must be none
SELECT m.list_fp
FROM left_out_markets AS m
SEMI JOIN shown_texts AS t ON m.list_fp = t.list_fp
UNION ALL
SELECT list_fp
FROM left_out_markets
GROUP BY list_fp
HAVING count(*) > 1
