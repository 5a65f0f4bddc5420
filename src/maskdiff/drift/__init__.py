"""How the scored rows differ from the normal rows the model learned from."""
