"""The contract, readable as a specification: one function is one clause, its docstring the statement."""
