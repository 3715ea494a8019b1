"""`python -m kraftcheck`."""

from kraftcheck.cli import main

if __name__ == "__main__":
    main()
