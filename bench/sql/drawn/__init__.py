"""Random statements: the types, what PostgreSQL's catalogue says of functions and operators, expressions, queries and changes."""
