#!/bin/bash
# Data flows one way, and so do includes and calls: a room (folder) knows the rooms named before it in its line, and no
# others. One file each knows a library, so that a library can be replaced by changing one file.
#
#   tests/includes.sh [BUILD]    BUILD: where the objects are (build); their symbols tell who calls whom
#
# More than three files that call one another in a circle cannot be read one after the other, and fail.
set -u
cd "$(dirname "$0")/.." || exit
exec python3 tests/includes.py "${1:-build}"
