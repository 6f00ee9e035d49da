// What agent frameworks make of failures, for docs/frameworks.md, apart from the module: nobody who runs the gateway needs it.
module github.com/recoursehq/recourse/tools/frameworks

go 1.26.0
