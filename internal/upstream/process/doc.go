// Package process does what each operating system does in its own way: it starts a process as
// the first of a group, ends the whole group, and writes to a pipe without waiting.
package process
