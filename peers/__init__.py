"""Times Python libraries on the inputs and in the format of kselect's records."""
