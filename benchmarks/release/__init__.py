"""What is measured on released models: their cards, tables, surprise and pictures."""
