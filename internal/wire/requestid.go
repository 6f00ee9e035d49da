package wire

import (
	"crypto/rand"
	"encoding/hex"
)

// HeaderRequestID names a request in the logs of everybody who handles it.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds a request id that is taken over, in bytes.
const maxRequestID = 128

// RequestID takes over the request id that a caller gave when it is one: up to 128
// letters, digits and any of - _ . : in ASCII. Otherwise it makes one.
func RequestID(given string) string {
	if given != "" && len(given) <= maxRequestID && isToken(given) {
		return given
	}
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	id := make([]byte, 0, 4+2*len(random))
	return string(hex.AppendEncode(append(id, "req-"...), random[:]))
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return true
}
