"""Mutants of ExecuTorch's delegates: what the grammar of sabotage of the other toolchains comes to here."""
