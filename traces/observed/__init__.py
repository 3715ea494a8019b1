"""What a real cluster left behind, held against the rules: some of its steps, seen from outside."""
