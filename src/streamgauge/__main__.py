"""`python -m streamgauge` is the command line."""

from streamgauge.cli.main import main

main()
