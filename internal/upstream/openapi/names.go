package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the longest tool name that every client accepts.
const MaxName = 64

// hashLength is the number of hexadecimal digits that distinguish names that would be the same.
const hashLength = 8

// nameTools names the tool of each operation after its operationId, or after its method and path. Names
// depend on the whole description, so that offering another operation renames none.
func (d *document) nameTools() {
	owners := map[string]int{}
	for _, o := range d.operations {
		o.tool = nameOf(o)
		owners[strings.ToLower(o.tool)]++
	}
	for _, o := range d.operations {
		if owners[strings.ToLower(o.tool)] > 1 || len(o.tool) > MaxName {
			sum := sha256.Sum256([]byte(o.String()))
			o.tool = strings.TrimRight(o.tool[:min(len(o.tool), MaxName-hashLength-1)], "_-") + "_" + hex.EncodeToString(sum[:hashLength/2])
		}
	}
}

// nameOf returns the name before it is shortened.
func nameOf(o *operation) string {
	if name := toName(o.ID); name != "" {
		return name
	}
	return strings.TrimRight(strings.ToLower(o.Method)+"_"+toName(o.Path), "_")
}

// toName returns a text in which single underscores replace everything that is not allowed in a name.
func toName(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() > 4*MaxName { // the hash distinguishes the rest
			break
		}
	}
	return strings.Trim(b.String(), "_")
}

// IsName reports whether every client accepts a name.
func IsName(s string) bool {
	return s != "" && len(s) <= MaxName && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
