"""Times libraries that only Python reaches, on the inputs and in the format of kselect's records."""
