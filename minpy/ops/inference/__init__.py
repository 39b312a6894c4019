"""What the rules that infer shapes and dtypes are made of."""
