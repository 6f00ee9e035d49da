# Starts a server, and ends it when standard input ends: when the test's process does, if not before.
dir=$1 keep=$2
shift 2
"$@" </dev/null >>"$dir/log" 2>&1 &
server=$!
echo "$server" >"$dir/pid"
read -r _ || :
kill -s CONT "$server" 2>/dev/null
kill -s INT "$server" 2>/dev/null
wait "$server"
[ -n "$keep" ] || rm -rf "$dir"
