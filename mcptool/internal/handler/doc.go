// Package handler runs the handlers of an author's server under a contract, whichever SDK the server is made with.
//
//	mcptool, mcpgotool     what depends on an SDK
//	  |  Server.Do
//	  |  admit             is there such a tool, do the arguments fit, is it within the limits
//	  |  runOnce           if the tool is called once: has this call been made before
//	  |  run               the handler: in time, and a panic is its failure
//	  |  fail              if it failed: what the call has done, in the contract's form, and a line in the author's log
//	  v
//	the handler's own result, or the answer in its place
//
// What all calls of tools have in common is in internal/call/toolcall.
package handler
