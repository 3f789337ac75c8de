"""The paper's own numbers, to stand beside ours: Table 1, Table 2 and the table of Figure 2.

Shah, Suggala, Tambe and Taneja (2024), *Efficient Public Health Intervention Planning Using Decomposition-Based
Decision-Focused Learning*. Mean and standard error of the mean; None where the paper prints "Timeout".
"""

Entry = tuple[float, float] | None

COLUMNS = ("real-world", "synthetic-2", "synthetic-5")

# Table 1, normalised joint test quality; by loss, in the order of COLUMNS.
TABLE_1_JOINT: dict[str, tuple[Entry, Entry, Entry]] = {
    "nll": ((0.04, 0.06), (0.59, 0.13), (0.16, 0.04)),
    "mse": ((0.10, 0.06), (0.83, 0.03), (0.38, 0.03)),
    "sim-1": ((-0.05, 0.07), (0.78, 0.03), (0.15, 0.02)),
    "sim-10": ((0.34, 0.15), (0.79, 0.03), (0.16, 0.03)),
    "sim-100": ((0.26, 0.10), (0.80, 0.02), (0.19, 0.03)),
    "sim-1000": (None, (0.80, 0.02), (0.18, 0.03)),
    "dec-l2-cvxpy": ((0.58, 0.04), (0.86, 0.02), (0.34, 0.04)),
    "dec-entropy-cvxpy": ((0.62, 0.05), (0.86, 0.02), (0.33, 0.04)),
    "fast-entropy": ((0.57, 0.12), (0.86, 0.02), (0.33, 0.04)),
}
# Table 1, normalised decomposed test quality.
TABLE_1_DECOMPOSED: dict[str, tuple[Entry, Entry, Entry]] = {
    "nll": ((-0.27, 0.11), (0.64, 0.18), (0.15, 0.07)),
    "mse": ((-0.19, 0.10), (0.86, 0.04), (0.37, 0.03)),
    "sim-1": ((-0.33, 0.08), (0.82, 0.06), (0.16, 0.04)),
    "sim-10": ((0.21, 0.20), (0.84, 0.06), (0.15, 0.02)),
    "sim-100": ((0.15, 0.11), (0.86, 0.03), (0.19, 0.04)),
    "sim-1000": (None, (0.84, 0.04), (0.20, 0.05)),
    "dec-l2-cvxpy": ((0.50, 0.04), (0.91, 0.01), (0.38, 0.03)),
    "dec-entropy-cvxpy": ((0.52, 0.05), (0.91, 0.01), (0.35, 0.03)),
    "fast-entropy": ((0.45, 0.14), (0.91, 0.01), (0.35, 0.03)),
}
# Table 2, normalised joint test quality on the real-world domain; by loss, for the models of MODELS.
MODELS = ("linear", "2x64", "4x500")
TABLE_2: dict[str, tuple[Entry, Entry, Entry]] = {
    "nll": ((0.04, 0.06), (0.01, 0.07), (0.04, 0.06)),
    "mse": ((0.10, 0.06), (0.35, 0.12), (0.34, 0.11)),
    "sim-1": ((-0.05, 0.07), (0.36, 0.07), (0.30, 0.18)),
    "sim-10": ((0.34, 0.15), (0.47, 0.20), (0.36, 0.27)),
    "sim-100": ((0.26, 0.10), (0.44, 0.21), (0.33, 0.28)),
    "dec-l2-cvxpy": ((0.58, 0.04), (0.59, 0.04), (0.61, 0.03)),
    "dec-entropy-cvxpy": ((0.62, 0.05), (0.60, 0.06), (0.62, 0.04)),
    "fast-entropy": ((0.57, 0.12), (0.60, 0.04), (0.61, 0.04)),
}
# Figure 2a, seconds per training epoch, in the order of COLUMNS.
FIGURE_2A: dict[str, tuple[Entry, Entry, Entry]] = {
    "nll": ((0.69, 0.08), (0.22, 0.05), (0.24, 0.07)),
    "mse": ((0.49, 0.03), (0.15, 0.01), (0.18, 0.06)),
    "sim-1": ((18.20, 2.78), (6.51, 1.01), (18.18, 0.96)),
    "sim-10": ((21.34, 1.90), (8.83, 1.77), (19.97, 2.08)),
    "sim-100": ((51.10, 1.57), (29.33, 11.20), (34.07, 2.00)),
    "sim-1000": ((503.24, 32.16), (305.69, 130.77), (246.48, 57.47)),
    "dec-l2-cvxpy": ((4.63, 0.15), (2.20, 0.40), (46.28, 4.00)),
    "dec-entropy-cvxpy": ((19.51, 2.30), (11.61, 0.87), (289.62, 49.61)),
    "fast-entropy": ((1.07, 0.10), (0.39, 0.03), (0.70, 0.16)),
}
