// Package testkit supports the tests and the benchmark of Recourse: an MCP server that fails on request
// ([NewServer]), a client that shows every byte it gets ([NewClient]), and a network in memory ([Dial]). The ways
// to fail are in package faults, and real programs in its other packages.
//
// It imports nothing of Recourse, so that a mistake in the code under test cannot be hidden by the same
// mistake here. All traffic stays on the loopback interface. Everything that is started belongs to a test and
// ends with it: Close waits until the last goroutine and connection are gone, so that a leak which goleak
// reports is in the code under test.
package testkit
