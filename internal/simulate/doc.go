// Package simulate plays agents against a failing server in virtual time, and counts what comes of it.
//
//	world (a file) --faults--> shop <-- gateway, or none <-- session <-- agent (a script)
//	                                                            |
//	                                            oracle, tally --+--> docs/simulation.md
//
// Tasks come at fixed times, and each is worked on by a caller of its own. All callers of an agent share what it shares. One
// runs at a time; when it waits, the [clock] goes on to whoever wakes up next. Which faults a task meets by chance depends on
// the seed, the task and the number of the call alone, so that all agents meet the same, and a run can be repeated to the
// byte.
//
// It is a model. The agents are scripts, the shop and the gateway are modelled here, and only package recovery is the real
// one.
package simulate
