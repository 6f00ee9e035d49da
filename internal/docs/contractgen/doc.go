// Package contractgen writes contracts as source code of other languages: [TypeScript] and [Python].
package contractgen
