"""Values of grades and positions learned from clicks (Chapelle et al. 2009, section 7.1)."""
