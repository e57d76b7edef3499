-- Functions that DuckDB spells in its own way; every engine has the same names.

-- fingerprint of an id (a whole number is its own), of a text, of a (market, query), of a list of texts; 63 bits
CREATE OR REPLACE TEMP MACRO text_fingerprint(x) AS CASE WHEN x IS NOT NULL THEN CAST(hash(x) >> 1 AS BIGINT) END;
CREATE OR REPLACE TEMP MACRO id_fingerprint(x) AS CASE
    WHEN typeof(x) = 'BIGINT' THEN TRY_CAST(x AS BIGINT) ELSE text_fingerprint(CAST(x AS VARCHAR))
END;
CREATE OR REPLACE TEMP MACRO query_fingerprint(market, query) AS CAST(hash([market, query]) >> 1 AS BIGINT);
CREATE OR REPLACE TEMP MACRO market_fingerprint(market) AS CAST(hash([1, hash(market)]) >> 1 AS BIGINT);
CREATE OR REPLACE TEMP MACRO texts_fingerprints(texts) AS list_transform(texts, lambda x: CAST(hash(x) >> 1 AS BIGINT));
CREATE OR REPLACE TEMP MACRO list_fingerprint(query_fp, texts) AS CAST(hash([CAST(query_fp AS VARCHAR)] || texts) >> 1 AS BIGINT);

-- texts of a list, each checked to be valid: here the readers do that
CREATE OR REPLACE TEMP MACRO valid_texts(texts) AS texts;

-- a number that is unique in the table; length of a list, and whether it holds a null
CREATE OR REPLACE TEMP MACRO row_number_of_its_own() AS row_number() OVER ();
CREATE OR REPLACE TEMP MACRO length_of(xs) AS len(xs);
CREATE OR REPLACE TEMP MACRO holds_null(xs) AS coalesce(list_count(xs) < len(xs), FALSE);

-- bytes of a text in UTF-8
CREATE OR REPLACE TEMP MACRO bytes_of(x) AS strlen(x);

-- what stands for the results of a search whose query is left out, in rows that a later batch reads again
CREATE OR REPLACE TEMP MACRO left_out_results() AS ['left out'];

-- digest of a user id, the same on every engine: an integer is mixed by arithmetic that never overflows,
-- other text has the first 15 hex digits of its md5
CREATE OR REPLACE TEMP MACRO least_residue(n) AS ((n % 2147483647) + 2147483647) % 2147483647;
CREATE OR REPLACE TEMP MACRO mixed(n) AS (
    (least_residue(n) * 48271 + least_residue((n - n % 2147483647) // 2147483647) * 69621 + 11) % 2147483647 * 1103515245 + 12345
) % 2147483647;
CREATE OR REPLACE TEMP MACRO text_digest(x) AS CAST('0x' || substr(md5(x), 1, 15) AS BIGINT);
CREATE OR REPLACE TEMP MACRO leading_number(digits) AS CAST('0x' || substr(digits, 1, 16) AS UBIGINT);
CREATE OR REPLACE TEMP MACRO id_digest(x) AS leading_number(md5(x));
CREATE OR REPLACE TEMP MACRO user_digest(x) AS CASE
    WHEN typeof(x) = 'BIGINT' THEN mixed(TRY_CAST(x AS BIGINT))
    WHEN regexp_matches(CAST(x AS VARCHAR), '^-?[0-9]{1,18}$') THEN mixed(TRY_CAST(x AS BIGINT))
    ELSE text_digest(CAST(x AS VARCHAR))
END;

-- digest of a user in A/B tests: platforms assign arms by md5 of the id, often with the name of the test
CREATE OR REPLACE TEMP MACRO salted_digest(x) AS id_digest('clickassay' || chr(31) || CAST(x AS VARCHAR));

-- the digest's bucket as one bit of 64
CREATE OR REPLACE TEMP MACRO bucket_bit(digest) AS CAST(1 AS UBIGINT) << CAST(digest % 64 AS UBIGINT);

-- the day and the minute of a time in ms, both counted from 1970, UTC; the day of a minute; the date of a day
CREATE OR REPLACE TEMP MACRO day_of(ms) AS CAST(ms // 86400000 AS BIGINT);
CREATE OR REPLACE TEMP MACRO minute_of(ms) AS CAST(ms // 60000 AS BIGINT);
CREATE OR REPLACE TEMP MACRO day_of_minute(minute_nr) AS CAST(minute_nr // 1440 AS BIGINT);
CREATE OR REPLACE TEMP MACRO date_of(day_nr) AS DATE '1970-01-01' + CAST(day_nr AS INTEGER);

-- a digest as a number below 2^31 that looks random: digests of ids that follow each other lie too evenly
CREATE OR REPLACE TEMP MACRO spread(digest) AS (digest % 2147483647) * (digest % 2147483647) % 2147483647;

-- the lowest set bit of a digest's 19 bits above its bucket of 4096; 2^19 if none is set
CREATE OR REPLACE TEMP MACRO marked(n) AS CAST(n % 524288 + 524288 AS BIGINT);
CREATE OR REPLACE TEMP MACRO lowest_bit(digest) AS marked(digest // 4096) & -marked(digest // 4096);

-- the bit of a position: 1 for position 1, 2 for position 2, 4 for position 3, ...
CREATE OR REPLACE TEMP MACRO position_bit(p) AS CAST(1 AS BIGINT) << CAST(p - 1 AS BIGINT);

-- the element at a place of a list, and the first place of an element, both counted from 1; null if there is none
CREATE OR REPLACE TEMP MACRO at_place(xs, n) AS xs[n];
CREATE OR REPLACE TEMP MACRO position_in(xs, x) AS list_position(xs, x);

-- the first k elements of a list
CREATE OR REPLACE TEMP MACRO top_of(xs, k) AS xs[1:k];

-- letters newer than Unicode 13, up to 17: which of them have a lower case depends on an engine's version
CREATE OR REPLACE TEMP MACRO lower_late(x) AS translate(
    x,
    'ᲉⰯꟀꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜ𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵𖺶𖺷𖺸',
    'ᲊⱟꟁɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛ𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐𖻑𖻒𖻓'
);

-- lower case by simple mapping: the letters on whose case engines disagree are mapped first
CREATE OR REPLACE TEMP MACRO lower_text(x) AS lower(lower_late(replace(replace(x, chr(304), 'i'), chr(931), chr(963))));

-- white space as Unicode and Python's str.split define it, collapsed and trimmed; then lower case;
-- the first branch is only for speed: most queries are ASCII and in normal form already
CREATE OR REPLACE TEMP MACRO normalise_query(x) AS CASE
    WHEN regexp_full_match(x, '[!-@\[-~]+( [!-@\[-~]+)*') THEN x
    ELSE lower_text(trim(regexp_replace(
        x,
        '[\t\n\x0B\f\r\x1C-\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+',
        ' ',
        'g'
    ), ' '))
END;

-- the parts of a URL: scheme, user info with its @, host and port, path, query with its ?, and a fragment that
-- begins with / or !, as of a page that routes by it
CREATE OR REPLACE TEMP MACRO url_part(url, n) AS regexp_extract(
    url, '(?s)^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*@)?([^/?#]*)([^?#]*)([^#]*)(#[/!].*)?', n
);
CREATE OR REPLACE TEMP MACRO without_default_port(scheme, host) AS CASE
    WHEN scheme = 'http' AND host LIKE '%:80' THEN substr(host, 1, length(host) - 3)
    WHEN scheme = 'https' AND host LIKE '%:443' THEN substr(host, 1, length(host) - 4)
    ELSE host
END;
CREATE OR REPLACE TEMP MACRO without_last_slash(path, query) AS CASE
    WHEN query = '' AND path LIKE '%/' THEN substr(path, 1, length(path) - 1) ELSE path
END;
CREATE OR REPLACE TEMP MACRO rebuilt_url(url) AS
    lower(url_part(url, 1)) || '://' || url_part(url, 2)
    || without_default_port(lower(url_part(url, 1)), lower_text(url_part(url, 3)))
    || without_last_slash(url_part(url, 4), url_part(url, 5))
    || url_part(url, 5) || url_part(url, 6);

-- normal form of a URL; the second branch is only for speed: most URLs are ASCII and in normal form already
CREATE OR REPLACE TEMP MACRO normalise_url(url) AS CASE
    WHEN NOT contains(url, '://') THEN url
    WHEN url = lower(url) AND strlen(url) = length(url) AND NOT suffix(url, '/') AND NOT contains(url, '#')
        AND NOT contains(url, ':80') AND NOT contains(url, ':443') THEN url
    WHEN NOT regexp_matches(url, '^[A-Za-z][A-Za-z0-9+.-]*://') THEN url
    ELSE rebuilt_url(url)
END;
CREATE OR REPLACE TEMP MACRO normal_results(wanted, unnormalised, urls) AS CASE
    WHEN wanted AND unnormalised THEN list_transform(urls, lambda url: normalise_url(url)) ELSE urls
END;

-- whether a list holds an element more than once, and a list with each element at its first place alone
CREATE OR REPLACE TEMP MACRO holds_repeat(xs) AS len(list_distinct(xs)) < len(xs);
CREATE OR REPLACE TEMP MACRO without_repeats(xs) AS list_filter(xs, lambda x, i: list_position(xs, x) = i);

-- the top results of a list in normal form, each at its first place
CREATE OR REPLACE TEMP MACRO shown_results(wanted, unnormalised, repeats, urls, k) AS CASE
    WHEN repeats THEN top_of(without_repeats(normal_results(wanted, unnormalised, urls)), k)
    ELSE normal_results(wanted, unnormalised, top_of(urls, k))
END;

-- whether normal form may change a URL, and whether it changes one of a list
CREATE OR REPLACE TEMP MACRO may_be_unnormalised(url) AS contains(url, '://');
CREATE OR REPLACE TEMP MACRO holds_unnormalised_url(urls) AS len(list_filter(urls, lambda url: url <> normalise_url(url))) > 0;

-- content address of a configuration: md5 of its texts, joined so that no two lists look alike
CREATE OR REPLACE TEMP MACRO joinable(x) AS replace(replace(x, '\', '\\'), chr(31), '\u');
CREATE OR REPLACE TEMP MACRO joined(texts) AS array_to_string(texts, chr(31));

-- a number for an experiment and a list of the ranker of each result, as they are read
CREATE OR REPLACE TEMP MACRO draft_fingerprint(experiment, names) AS CASE
    WHEN names IS NOT NULL THEN CAST(hash(experiment, names) >> 1 AS BIGINT)
END;

-- whether a list names a ranker; a text for an experiment and such a list, in which an empty name is none
CREATE OR REPLACE TEMP MACRO names_any(names) AS coalesce(len(list_filter(names, lambda x: x <> '')) > 0, FALSE);
CREATE OR REPLACE TEMP MACRO draft_text(experiment, names) AS
    joined(list_transform([experiment] || names, lambda x: coalesce(joinable(x), '')));
-- the second branch is only for speed: nearly all texts have no backslash or separator of their own
CREATE OR REPLACE TEMP MACRO configuration_digest(market, query, results) AS CASE
    WHEN contains(array_to_string(results, '') || market || query, '\')
        OR contains(array_to_string(results, '') || market || query, chr(31))
        THEN md5(joined(list_transform([market, query] || results, lambda x: joinable(x))))
    ELSE md5(market || chr(31) || query || chr(31) || joined(results))
END;

-- whether a text is one of several with commas between them
CREATE OR REPLACE TEMP MACRO holds_item(items, x) AS contains(',' || items || ',', ',' || x || ',');

-- sums of whole numbers, of their squares, and of such sums, without rounding
CREATE OR REPLACE TEMP MACRO exact_sum(x) AS CAST(sum(CAST(x AS HUGEINT)) AS DECIMAL(38, 0));
CREATE OR REPLACE TEMP MACRO exact_sum_of_squares(x) AS CAST(sum(CAST(x AS HUGEINT) * CAST(x AS HUGEINT)) AS DECIMAL(38, 0));
CREATE OR REPLACE TEMP MACRO exact_total(x) AS CAST(sum(CAST(x AS HUGEINT)) AS DECIMAL(38, 0));

-- a total by a number of rows, rounded to a whole number, halves up
CREATE OR REPLACE TEMP MACRO rounded_mean(total, n) AS CAST(floor(CAST(total AS DOUBLE) / CAST(n AS DOUBLE) + 0.5) AS BIGINT);
