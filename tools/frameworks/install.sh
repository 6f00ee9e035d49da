#!/bin/sh
# Installs the frameworks and the servers in Python that `make frameworks` runs into FRAMEWORKS (.tools/frameworks), what is in Python
# into environments of its own, from the lock files. It needs node with npm, python3 3.11 or later, and the package registries.
set -eu
cd "$(dirname "$0")"

into=${FRAMEWORKS:-../../.tools/frameworks}
mkdir -p "$into"
into=$(cd "$into" && pwd)

# A stamp is the lock file itself: it is copied last, once everything else is in place.
if ! cmp -s node/package-lock.json "$into/node/installed.lock"; then
	echo "frameworks: installing npm packages"
	rm -rf "$into/node"
	mkdir "$into/node"
	cp node/package.json node/package-lock.json node/.npmrc "$into/node"
	(cd "$into/node" && npm ci --no-audit --no-fund --loglevel=error </dev/null)
	cp node/package-lock.json "$into/node/installed.lock"
fi
cp node/*.mjs "$into/node" # where Node finds the packages

for lock in python/requirements/*.lock; do
	name=$(basename "$lock" .lock)
	if ! cmp -s "$lock" "$into/$name/installed.lock"; then
		echo "frameworks: installing $name"
		rm -rf "${into:?}/$name"
		python3 -m venv "$into/$name"
		"$into/$name/bin/python" -m pip --quiet --disable-pip-version-check install \
			--requirement "${lock%.lock}.txt" --constraint "$lock"
		cp "$lock" "$into/$name/installed.lock"
	fi
done
