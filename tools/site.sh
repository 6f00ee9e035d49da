#!/bin/sh
# Builds the pages of docs/ into dist/site, and checks their links. The first time it installs mkdocs into .tools/site.
set -eu
cd "$(dirname "$0")/.."

if ! cmp -s tools/site/requirements.txt .tools/site/installed.txt; then
	rm -rf .tools/site
	mkdir -p .tools
	python3 -m venv .tools/site
	.tools/site/bin/python -m pip --quiet --disable-pip-version-check install --requirement tools/site/requirements.txt
	cp tools/site/requirements.txt .tools/site/installed.txt
fi
NO_MKDOCS_2_WARNING=1 .tools/site/bin/mkdocs build --config-file tools/site/mkdocs.yml
echo "dist/site/index.html"
