"""What benchmarks share: rows that are kept, timing, tables, and the truth that models are judged by."""
