// Package simulate plays agents against a failing server in virtual time, and counts the results.
//
//	world (a file) --faults--> shop <-- gateway, or none <-- session <-- agent (a script)
//	                                                            |
//	                                            oracle, tally --+--> docs/simulation.md
//
// Tasks come at fixed times, each for a separate caller. The callers of an agent share its state. One of them runs at a time; when it
// waits, the [clock] continues with the one that wakes up next. Which random faults a task meets depends only on the seed, the task and
// the number of the call, so that all agents meet the same faults, and a run can be repeated to the byte.
//
// It is a model: the agents are scripts, the shop and the gateway are modelled here, and only package recovery is real.
package simulate
