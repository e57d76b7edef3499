"""The report on judges: tables, pictures and sentences; `page` puts them onto a page."""
