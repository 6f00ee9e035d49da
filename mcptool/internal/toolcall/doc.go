// Package toolcall takes a tool call past the stages that every author's server
// has, whichever SDK it is made with: the tool is looked up, the arguments are
// checked, the handler runs within its deadline, and what it fails with is written
// in the contract. It knows no SDK: package mcptool and its subpackages do.
package toolcall
