"""`python -m tilemlir` is the command `tilemlir`."""

from tilemlir.tools.cli import main

if __name__ == "__main__":
    main()
