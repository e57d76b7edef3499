"""One metric under the conventions of many tools: what each reports of the same lists."""
