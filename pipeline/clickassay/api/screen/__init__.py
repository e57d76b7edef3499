"""What results show: as text, as the page of a notebook, and while they are computed."""
