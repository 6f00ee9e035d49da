// How public servers fail, for docs/study.md, apart from the module: nobody who runs the gateway needs it.
module github.com/recoursehq/recourse/tools/study

go 1.26.0
