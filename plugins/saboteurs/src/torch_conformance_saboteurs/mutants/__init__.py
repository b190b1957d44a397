"""Mutants: broken backends that nobody wrote, drawn from a grammar of condition, effect and place.

None of this knows the contract's clauses, nor what the harness generates: a mutant is proven to be wrong by a program
of its own.
"""
