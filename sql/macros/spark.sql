-- Functions that Spark spells in its own way; every engine has the same names. Bodies replace the calls where a step is translated.

-- fingerprint of an id (a whole number is its own), of a text, of a (market, query), of a list of texts;
-- Parquet may hold bytes that are no valid text: Spark stops there
CREATE OR REPLACE TEMP MACRO id_fingerprint(x) AS CASE WHEN typeof(x) = 'bigint' THEN TRY_CAST(x AS BIGINT) ELSE text_fingerprint(CAST(x AS STRING)) END;
CREATE OR REPLACE TEMP MACRO text_fingerprint(x) AS CASE WHEN x IS NOT NULL THEN xxhash64(validate_utf8(x)) END;
CREATE OR REPLACE TEMP MACRO query_fingerprint(market, query) AS xxhash64(validate_utf8(market), query);
CREATE OR REPLACE TEMP MACRO market_fingerprint(market) AS xxhash64(1, market);
CREATE OR REPLACE TEMP MACRO texts_fingerprints(texts) AS transform(texts, x -> xxhash64(x));
CREATE OR REPLACE TEMP MACRO list_fingerprint(query_fp, texts) AS xxhash64(query_fp, texts);

-- texts of a list, each checked to be valid
CREATE OR REPLACE TEMP MACRO valid_texts(texts) AS transform(texts, x -> validate_utf8(x));

-- a number that is unique in the table; length of a list, and whether it holds a null
CREATE OR REPLACE TEMP MACRO row_number_of_its_own() AS monotonically_increasing_id();
CREATE OR REPLACE TEMP MACRO length_of(xs) AS CASE WHEN xs IS NOT NULL THEN CAST(size(xs) AS BIGINT) END;
CREATE OR REPLACE TEMP MACRO holds_null(xs) AS coalesce(exists(xs, x -> x IS NULL), FALSE);

-- bytes of a text in UTF-8
CREATE OR REPLACE TEMP MACRO bytes_of(x) AS octet_length(x);

-- what stands for the results of a search whose query is left out, in rows that a later batch reads again
CREATE OR REPLACE TEMP MACRO left_out_results() AS array('left out');

-- digest of a user id, the same on every engine: an integer is mixed by arithmetic that never overflows,
-- other text has the first 15 hex digits of its md5
CREATE OR REPLACE TEMP MACRO least_residue(n) AS pmod(n, 2147483647L);
CREATE OR REPLACE TEMP MACRO mixed(n) AS (
    (least_residue(n) * 48271 + least_residue((n - n % 2147483647L) DIV 2147483647L) * 69621 + 11) % 2147483647L * 1103515245 + 12345
) % 2147483647L;
CREATE OR REPLACE TEMP MACRO text_digest(x) AS CAST(conv(substr(md5(encode(x, 'utf-8')), 1, 15), 16, 10) AS BIGINT);
CREATE OR REPLACE TEMP MACRO leading_number(digits) AS CAST(conv(substr(digits, 1, 15), 16, 10) AS BIGINT);
CREATE OR REPLACE TEMP MACRO id_digest(x) AS CAST(conv(substr(md5(encode(x, 'utf-8')), 1, 16), 16, 10) AS DECIMAL(20, 0));
CREATE OR REPLACE TEMP MACRO user_digest(x) AS CASE
    WHEN typeof(x) = 'bigint' THEN mixed(TRY_CAST(x AS BIGINT))
    WHEN CAST(x AS STRING) RLIKE '^-?[0-9]{1,18}\\z' THEN mixed(TRY_CAST(x AS BIGINT))
    ELSE text_digest(CAST(x AS STRING))
END;

-- digest of a user in A/B tests: platforms assign arms by md5 of the id, often with the name of the test
CREATE OR REPLACE TEMP MACRO salted_digest(x) AS id_digest('clickassay' || char(31) || CAST(x AS STRING));

-- the digest's bucket as one bit of 64: the highest is the sign
CREATE OR REPLACE TEMP MACRO bucket_bit(digest) AS shiftleft(1L, CAST(digest % 64 AS INT));

-- the day and the minute of a time in ms, both counted from 1970, UTC; the day of a minute; the date of a day
CREATE OR REPLACE TEMP MACRO day_of(ms) AS ms DIV 86400000;
CREATE OR REPLACE TEMP MACRO minute_of(ms) AS ms DIV 60000;
CREATE OR REPLACE TEMP MACRO day_of_minute(minute_nr) AS minute_nr DIV 1440;
CREATE OR REPLACE TEMP MACRO date_of(day_nr) AS date_from_unix_date(CAST(day_nr AS INT));

-- a digest as a number below 2^31 that looks random: digests of ids that follow each other lie too evenly
CREATE OR REPLACE TEMP MACRO spread(digest) AS (digest % 2147483647) * (digest % 2147483647) % 2147483647;

-- the lowest set bit of a digest's 19 bits above its bucket of 4096; 2^19 if none is set
CREATE OR REPLACE TEMP MACRO marked(n) AS n % 524288 + 524288;
CREATE OR REPLACE TEMP MACRO lowest_bit(digest) AS marked(digest DIV 4096) & -marked(digest DIV 4096);

-- the bit of a position: 1 for position 1, 2 for position 2, 4 for position 3, ...
CREATE OR REPLACE TEMP MACRO position_bit(p) AS shiftleft(1L, CAST(p - 1 AS INT));

-- the element at a place of a list, and the first place of an element, both counted from 1; null if there is none
CREATE OR REPLACE TEMP MACRO at_place(xs, n) AS get(xs, CAST(least(n, 2000000000L) - 1 AS INT));
CREATE OR REPLACE TEMP MACRO position_in(xs, x) AS nullif(array_position(xs, x), 0);

-- the first k elements of a list
CREATE OR REPLACE TEMP MACRO top_of(xs, k) AS slice(xs, 1, k);

-- letters newer than Unicode 13, up to 17: which of them have a lower case depends on an engine's version
CREATE OR REPLACE TEMP MACRO lower_late(x) AS translate(
    x,
    'ᲉⰯꟀꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜ𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵𖺶𖺷𖺸',
    'ᲊⱟꟁɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛ𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐𖻑𖻒𖻓'
);

-- lower case by simple mapping: the letters on whose case engines disagree are mapped first
CREATE OR REPLACE TEMP MACRO lower_text(x) AS lower(lower_late(replace(replace(x, '\u0130', 'i'), '\u03a3', '\u03c3')));

-- white space as Unicode and Python's str.split define it, collapsed and trimmed; then lower case. The first branch is
-- only for speed: most queries are ASCII and in normal form already, and a regular expression costs more than these looks
CREATE OR REPLACE TEMP MACRO normalise_query(x) AS CASE
    WHEN is_valid_utf8(x) AND octet_length(x) = length(x) AND x = lower(x) AND NOT contains(x, '  ')
        AND NOT startswith(x, ' ') AND NOT endswith(x, ' ') AND NOT contains(x, '\t') AND NOT contains(x, '\n')
        AND NOT contains(x, '\u000b') AND NOT contains(x, '\u000c') AND NOT contains(x, '\r') AND NOT contains(x, '\u001c')
        AND NOT contains(x, '\u001d') AND NOT contains(x, '\u001e') AND NOT contains(x, '\u001f') THEN x
    ELSE lower_text(trim(BOTH ' ' FROM regexp_replace(
        validate_utf8(x),
        '[\\t\\n\\x0B\\f\\r\\x1C-\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}]+',
        ' '
    )))
END;

-- the parts of a URL: scheme, user info with its @, host and port, path, query with its ?, and a fragment that
-- begins with / or !, as of a page that routes by it
CREATE OR REPLACE TEMP MACRO url_part(url, n) AS regexp_extract(
    url, '(?s)^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*@)?([^/?#]*)([^?#]*)([^#]*)(#[/!].*)?', n
);
CREATE OR REPLACE TEMP MACRO without_default_port(scheme, host) AS CASE
    WHEN scheme = 'http' AND endswith(host, ':80') THEN substr(host, 1, length(host) - 3)
    WHEN scheme = 'https' AND endswith(host, ':443') THEN substr(host, 1, length(host) - 4)
    ELSE host
END;
CREATE OR REPLACE TEMP MACRO without_last_slash(path, query) AS CASE
    WHEN query = '' AND endswith(path, '/') THEN substr(path, 1, length(path) - 1) ELSE path
END;
CREATE OR REPLACE TEMP MACRO rebuilt_url(url) AS
    lower(url_part(url, 1)) || '://' || url_part(url, 2)
    || without_default_port(lower(url_part(url, 1)), lower_text(url_part(url, 3)))
    || without_last_slash(url_part(url, 4), url_part(url, 5))
    || url_part(url, 5) || url_part(url, 6);

-- normal form of a URL; the second branch is only for speed: most URLs are ASCII and in normal form already
CREATE OR REPLACE TEMP MACRO normalise_url(url) AS CASE
    WHEN NOT contains(url, '://') THEN url
    WHEN url = lower(url) AND octet_length(url) = length(url) AND NOT endswith(url, '/') AND NOT contains(url, '#')
        AND NOT contains(url, ':80') AND NOT contains(url, ':443') THEN url
    WHEN NOT url RLIKE '^[A-Za-z][A-Za-z0-9+.-]*://' THEN url
    ELSE rebuilt_url(url)
END;
CREATE OR REPLACE TEMP MACRO normal_results(wanted, unnormalised, urls) AS CASE
    WHEN wanted AND unnormalised THEN transform(urls, url -> normalise_url(url)) ELSE urls
END;

-- whether a list holds an element more than once, and a list with each element at its first place alone
CREATE OR REPLACE TEMP MACRO holds_repeat(xs) AS size(array_distinct(xs)) < size(xs);
CREATE OR REPLACE TEMP MACRO without_repeats(xs) AS filter(xs, (x, i) -> array_position(xs, x) = i + 1);

-- the top results of a list in normal form, each at its first place
CREATE OR REPLACE TEMP MACRO shown_results(wanted, unnormalised, repeats, urls, k) AS CASE
    WHEN repeats THEN top_of(without_repeats(normal_results(wanted, unnormalised, urls)), k)
    ELSE normal_results(wanted, unnormalised, top_of(urls, k))
END;

-- whether normal form may change a URL (cheap, with few false alarms), and whether it changes one of a list
CREATE OR REPLACE TEMP MACRO may_be_unnormalised(url) AS contains(url, '://') AND NOT (
    url = lower(url) AND octet_length(url) = length(url) AND NOT endswith(url, '/') AND NOT contains(url, '#')
    AND NOT contains(url, ':80') AND NOT contains(url, ':443')
);
CREATE OR REPLACE TEMP MACRO holds_unnormalised_url(urls) AS exists(urls, url -> may_be_unnormalised(url) AND url <> normalise_url(url));

-- content address of a configuration: md5 of its texts, joined so that no two lists look alike
CREATE OR REPLACE TEMP MACRO joinable(x) AS replace(replace(x, '\\', '\\\\'), char(31), '\\u');
CREATE OR REPLACE TEMP MACRO joined(texts) AS array_join(texts, char(31));

-- a number for an experiment and a list of the ranker of each result, as they are read
CREATE OR REPLACE TEMP MACRO draft_fingerprint(experiment, names) AS CASE WHEN names IS NOT NULL THEN xxhash64(coalesce(experiment, ''), transform(names, x -> coalesce(x, ''))) END;

-- whether a list names a ranker; a text for an experiment and such a list, in which an empty name is none
CREATE OR REPLACE TEMP MACRO names_any(names) AS coalesce(exists(names, x -> x <> ''), FALSE);
CREATE OR REPLACE TEMP MACRO draft_text(experiment, names) AS joined(transform(concat(array(experiment), names), x -> coalesce(joinable(x), '')));
CREATE OR REPLACE TEMP MACRO configuration_digest(market, query, results) AS md5(encode(
    joined(transform(concat(array(market, query), results), x -> joinable(x))), 'utf-8'
));

-- whether a text is one of several with commas between them
CREATE OR REPLACE TEMP MACRO holds_item(items, x) AS contains(',' || items || ',', ',' || x || ',');

-- sums of whole numbers, of their squares, and of such sums, without rounding
CREATE OR REPLACE TEMP MACRO exact_sum(x) AS CAST(sum(CAST(x AS DECIMAL(38, 0))) AS DECIMAL(38, 0));
CREATE OR REPLACE TEMP MACRO exact_sum_of_squares(x) AS CAST(sum(CAST(x AS DECIMAL(19, 0)) * CAST(x AS DECIMAL(19, 0))) AS DECIMAL(38, 0));
CREATE OR REPLACE TEMP MACRO exact_total(x) AS CAST(sum(CAST(x AS DECIMAL(38, 0))) AS DECIMAL(38, 0));

-- a total by a number of rows, rounded to a whole number, halves up
CREATE OR REPLACE TEMP MACRO rounded_mean(total, n) AS CAST(floor(CAST(total AS DOUBLE) / CAST(n AS DOUBLE) + 0.5) AS BIGINT);
