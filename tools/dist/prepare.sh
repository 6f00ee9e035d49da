#!/bin/sh
# Writes what goes into a release beside the programs into .tools/release: completions, and for each platform the licenses of
# Go and of the modules that the program there is made of. GoReleaser runs it first.
set -eu
cd "$(dirname "$0")/../.."

out=.tools/release
rm -rf "$out"
mkdir -p "$out"

CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o "$out/own" ./cmd/recourse # as a release has it: it is compiled once
"$out/own" completion bash >"$out/recourse.bash"
"$out/own" completion zsh >"$out/_recourse"
"$out/own" completion fish >"$out/recourse.fish"
rm "$out/own"

# licenses prints those in a folder, and fails if there is none.
licenses() {
	found=
	for file in "$2"/*; do
		case $(basename "$file" | tr '[:upper:]' '[:lower:]') in
		licen[cs]e | licen[cs]e[-.]* | copying | copying[-.]* | notice | notice[-.]* | patents | patents[-.]*) ;;
		*) continue ;;
		esac
		[ -f "$file" ] || continue
		found=yes
		printf '%s\n%s, %s\n\n' '================================================================================' "$1" "$(basename "$file")"
		cat "$file"
		printf '\n\n'
	done
	[ -n "$found" ] || { echo "prepare: $1 has no license in $2" >&2; exit 1; }
}

format='{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}'
for os in linux darwin windows; do
	for arch in amd64 arm64; do
		modules=$(CGO_ENABLED=0 GOOS=$os GOARCH=$arch go list -deps -f "$format" ./cmd/recourse | sort -u)
		{
			licenses "Go $(go env GOVERSION)" "$(go env GOROOT)"
			echo "$modules" | while IFS='	' read -r module dir; do licenses "$module" "$dir"; done
		} >"$out/licenses_${os}_$arch.txt"
	done
done
