#!/bin/sh
# Installs the npm packages that some tests run against into .tools/node, from the lock file.
# Where that is not possible it names the tests that are left out; with CI=true it fails.
set -eu
cd "$(dirname "$0")/.."

from=internal/test/testkit/sdk/node
into=.tools/node

# name_tests prints the functions that ask for Node.
name_tests() {
	find . -name '*_test.go' ! -path './.tools/*' -exec awk '
		/^func / { name = $2; sub(/\(.*/, "", name) }
		/(sdk\.(Node|TypeScriptPackage|NewTSClient|Everything)|newConformanceSuite|newNPMServer)\(|\.Inaccessible\(/ && !seen[FILENAME, name]++ { print "  " FILENAME ": " name }
	' {} + | sort >&2
}

leave_out() {
	echo "make test: $1: left out, whole or in part:" >&2
	name_tests
	if [ "${CI:-}" = true ]; then
		echo "make test: nothing may be left out with CI=true" >&2
		exit 1
	fi
	exit 0
}

command -v node >/dev/null || leave_out "node is not installed"
oldest=$(node -p "require('./$from/package.json').engines.node.replace('>=', '')")
[ "$(node -p 'parseInt(process.versions.node)')" -ge "$oldest" ] || leave_out "node is older than $oldest"

# The stamp is the lock file itself: it is copied last, once everything else is in place.
if cmp -s "$from/package-lock.json" "$into/installed-lock.json"; then
	exit 0
fi
command -v npm >/dev/null || leave_out "npm is not installed"
rm -rf "$into"
mkdir -p "$into"
cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$into"
echo "make test: installing npm packages into $into"
# Without --engine-strict: some packages need a later Node, and are run by the one that comes with them.
(cd "$into" && npm ci --no-audit --no-fund --loglevel=error </dev/null) || {
	rm -rf "$into"
	leave_out "npm could not install $from"
}
cp "$from/package-lock.json" "$into/installed-lock.json"
