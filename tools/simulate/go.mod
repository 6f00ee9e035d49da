// The simulation of docs/simulation.md, apart from the module: nobody who runs the gateway needs it.
module github.com/recoursehq/recourse/tools/simulate

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/recoursehq/recourse v0.0.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	go.uber.org/goleak v1.3.0 // indirect
)

replace github.com/recoursehq/recourse => ../..
