"""Prototype files: vocabulary, reading with all mistakes, rules, schema, writing."""
