#!/usr/bin/env bash
# What action.yml runs: a check with all its files, and its summary on the page of the run. The inputs come in CHECK_*.
set -euo pipefail

directory="$RUNNER_TEMP/recourse-check"
mkdir -p "$directory"
arguments=(
	check --fail-on "${CHECK_FAIL_ON:-hides}" --sarif "$directory/check.sarif" --junit "$directory/check.xml"
	--html "$directory/check.html" --badge "$directory/check.svg" --markdown "$directory/check.md"
)
if [ -n "${CHECK_BASELINE:-}" ]; then
	arguments+=(--baseline "$CHECK_BASELINE")
fi
# Whoever wrote the workflow wrote these two; quotes in them hold words together.
eval "arguments+=(${CHECK_ARGS:-})"
if [ -n "${CHECK_URL:-}" ]; then
	arguments+=("$CHECK_URL")
fi
if [ -n "${CHECK_COMMAND:-}" ]; then
	eval "arguments+=(-- $CHECK_COMMAND)"
fi

status=0
recourse "${arguments[@]}" || status=$?
if [ -e "$directory/check.sarif" ]; then
	echo "directory=$directory" >> "$GITHUB_OUTPUT"
	cat "$directory/check.md" >> "$GITHUB_STEP_SUMMARY"
fi
exit "$status"
