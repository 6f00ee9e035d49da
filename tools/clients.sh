#!/bin/sh
# Builds the packages of clients/ into DIST (dist/clients), installs each into a clean environment, and runs its tests there.
# With VERSION=v1.2.3 that is the version of the packages. It needs node with npm, python3, and the package registries.
set -eu
cd "$(dirname "$0")/.."

root=$PWD
dist=${DIST:-$root/dist/clients}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=${VERSION:-0.0.0}
version=${version#v}
rm -rf "$dist"
mkdir -p "$dist"
pip="-m pip --quiet --disable-pip-version-check install"

echo "clients: typescript"
cp -r clients/typescript "$work/typescript"
cd "$work/typescript/test"
npm ci --no-audit --no-fund --loglevel=error </dev/null
cd ..
node test/node_modules/typescript/lib/tsc.js -p .
sed -i.bak "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" package.json && rm package.json.bak
cp "$root/LICENSE" .
npm pack --silent --pack-destination "$dist" >/dev/null
rm -rf src dist # what the tests import now is what was packed
cd test
npm install --no-save --no-audit --no-fund --loglevel=error --prefer-offline --no-package-lock "$dist"/*.tgz </dev/null
node node_modules/typescript/lib/tsc.js --ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2022 types.ts
node --test --test-reporter=spec ./*.test.mjs

echo "clients: python"
cp -r "$root/clients/python" "$work/python"
cd "$work/python"
sed -i.bak "s/0\.0\.0/$version/" src/recourse_client/_version.py && rm src/recourse_client/_version.py.bak
cp "$root/LICENSE" .
python3 -m venv "$work/build"
"$work/build/bin/python" $pip build==1.3.0
"$work/build/bin/python" -m build --outdir "$dist" . >/dev/null
cd tests
for requirements in requirements/*.txt; do
	name=$(basename "$requirements" .txt)
	echo "clients: python, with $name"
	python3 -m venv "$work/$name"
	"$work/$name/bin/python" $pip --requirement "$requirements" "$dist"/*.whl
	"$work/$name/bin/python" -m pytest -q -p no:cacheprovider .
	if [ -x "$work/$name/bin/mypy" ]; then
		(cd .. && "$work/$name/bin/mypy" && "$work/$name/bin/ruff" check . && "$work/$name/bin/ruff" format --check .)
	fi
done
ls -l "$dist"
