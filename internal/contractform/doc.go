// Package contractform is what a contract looks like from inside, as plain data: what its file may say ([File]), what came
// of it ([Form]), and which members the record has. Package contract makes it; the documents and the generators are
// printed from it, and know nothing of how a contract works.
package contractform
