"""The paper's tables and figures, and its own numbers beside ours."""
