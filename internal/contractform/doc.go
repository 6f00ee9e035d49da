// Package contractform describes a contract as plain data: what its file may say
// ([File]), what came of it ([Form]), and which members the record has. Package contract
// fills it; documents and generators are printed from it, and need not know how a
// contract works.
package contractform
