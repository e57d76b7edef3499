"""One metric under the conventions of many tools, asked of a finished run or of one list."""
