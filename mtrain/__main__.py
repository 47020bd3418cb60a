"""`python -m mtrain` is `mtrain`."""

from mtrain.cli import main

if __name__ == "__main__":
    main()
