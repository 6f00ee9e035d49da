// Package contractform describes a contract as plain data: what its file may say ([File]), what it is compiled to
// ([Form]), and which members the record has. Package contract fills it in; documents and generators print it, without
// knowing how a contract works.
package contractform
