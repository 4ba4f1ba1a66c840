"""`python -m kselect` is the command `kselect`."""

from kselect._launch import main

if __name__ == "__main__":
    main()
