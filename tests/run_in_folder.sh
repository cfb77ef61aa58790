#!/usr/bin/env bash
# run_in_folder.sh TEST - runs a test script in an empty folder of its own, removed afterwards.
set -eu
folder=$(mktemp -d "${TMPDIR:-/tmp}/roofline-test-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
bash "$1"
