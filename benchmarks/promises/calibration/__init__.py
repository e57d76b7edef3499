"""Whether the statistics keep their promises."""
