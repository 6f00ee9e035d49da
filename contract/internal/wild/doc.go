// Package wild recognises failures that are in no contract's form: the texts in which SDKs reject a call, and what the
// systems write that servers call.
//
//	sdks      sdk.go knows their texts, arguments.go those about arguments.
//	families  are data: files in families that describe a system each. family.go is one; text.go and object.go are its
//	          forms. index.go and search.go find those that fit, judge.go ranks them, and find.go asks them.
//	facts     spelledwait.go and spelledtime.go read waits and times, foreign.go the members that the error objects
//	          of many systems share, sentence.go what they say, inner.go the object inside a text.
package wild
