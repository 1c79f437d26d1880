from kanon_sql.dialects.rules import Rules

RULES: Rules = {}
