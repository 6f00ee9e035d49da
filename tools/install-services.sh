#!/bin/sh
# Sees to it that redis-server, PostgreSQL, Chromium and systemd are there, which some tests start for themselves. With CI=true it
# installs Debian's packages where it may, and fails where it may not; otherwise it names the tests that are left out.
set -eu
cd "$(dirname "$0")/.."

missing() {
	command -v redis-server >/dev/null || echo redis-server
	command -v chromium >/dev/null || echo chromium
	command -v systemd-analyze >/dev/null || echo systemd
	for initdb in /usr/lib/postgresql/*/bin/initdb "$(command -v initdb || :)"; do
		[ ! -x "$initdb" ] || return 0
	done
	echo postgresql
}

# name_tests prints the functions that ask for one of the packages.
name_tests() {
	asks=$(echo "$packages" | sed '
		s/^redis-server$/service\\.(New)?(Redis|Replica|Sentinel)\\(/
		s/^postgresql$/service\\.(New)?Postgres\\(/
		s/^systemd$/"systemd-analyze"/
		s/^chromium$/browser\\.Open\\(/' | paste -s -d '|')
	find . -name '*_test.go' ! -path './.tools/*' -exec awk -v asks="$asks" '
		/^func / { name = $2; sub(/\(.*/, "", name) }
		$0 ~ asks && !seen[FILENAME, name]++ { print "  " FILENAME ": " name }
	' {} + | sort >&2
}

packages=$(missing)
[ -n "$packages" ] || exit 0

if [ "${CI:-}" != true ]; then
	echo "make test: not installed:" $packages "(packages of Debian): left out, whole or in part:" >&2
	name_tests
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "make test: install" $packages "first (packages of Debian): nothing may be left out with CI=true" >&2
	exit 1
fi

# The tests start servers of their own: Debian's are not to start, and what runs already is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
echo "make test: installing" $packages
apt-get update -qq
apt-get install -y -qq --no-install-recommends $packages >/dev/null
packages=$(missing)
[ -z "$packages" ] || { echo "make test: apt-get has installed no" $packages >&2; exit 1; }
