"""The page that one signs: thirteen parts in their order, each where the result has it."""
