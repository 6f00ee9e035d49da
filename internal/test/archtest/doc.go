// Package archtest has no code, only tests of how this module is put together: which package may import which, what an
// importer of the public packages gets with them, and what no file may contain.
package archtest
