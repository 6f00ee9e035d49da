package http1

import (
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
)

// appendHead appends the head of a request as net/http writes it, with its fields sorted. last says that no other request follows on
// the connection.
func appendHead(dst []byte, r *http.Request, header http.Header, length int64, last bool) ([]byte, error) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	uri := r.URL.RequestURI()
	for i := range len(uri) {
		if uri[i] < ' ' || uri[i] == 0x7f {
			return dst, errors.New("http1: the URL has a control character")
		}
	}
	dst = append(append(append(dst, r.Method...), ' '), uri...)
	dst = append(append(dst, " HTTP/1.1\r\nHost: "...), host...)
	dst = append(dst, "\r\n"...)
	agent := "Go-http-client/1.1"
	if values, ok := header["User-Agent"]; ok {
		agent = ""
		if len(values) > 0 {
			agent = values[0]
		}
	}
	if agent != "" {
		dst = appendField(dst, "User-Agent", agent)
	}
	if length > 0 {
		dst = strconv.AppendInt(append(dst, "Content-Length: "...), length, 10)
		dst = append(dst, "\r\n"...)
	}
	var room [24]string
	for _, name := range sortedNames(room[:0], header) {
		if name == "User-Agent" {
			continue
		}
		for _, value := range header[name] {
			dst = appendField(dst, name, value)
		}
	}
	if last {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

// sortedNames appends the sorted names of the fields of a header to room.
func sortedNames(room []string, header http.Header) []string {
	for name := range header {
		room = append(room, name)
	}
	slices.Sort(room)
	return room
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, textproto.TrimString(value)...), "\r\n"...)
}
