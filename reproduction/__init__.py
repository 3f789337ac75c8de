"""The paper's tables and figures, and the studies: ``python -m reproduction NAME``. No part of the product."""
