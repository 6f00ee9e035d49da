// Package contractgen writes contracts as source code of other languages: [TypeScript].
package contractgen
