// The cluster test, apart from the module: nobody who runs the gateway needs it.
module github.com/recoursehq/recourse/tools/cluster

go 1.26.0
