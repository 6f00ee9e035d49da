package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// appendRequest appends the request as net/http writes it, with its fields in order. It
// closes the body.
func appendRequest(dst []byte, r *http.Request, last bool) ([]byte, error) {
	defer r.Body.Close()
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
	dst = append(append(dst, "POST "...), uri...)
	dst = append(append(dst, " HTTP/1.1\r\nHost: "...), host...)
	dst = append(dst, "\r\n"...)
	agent := "Go-http-client/1.1"
	if values, ok := r.Header["User-Agent"]; ok {
		agent = ""
		if len(values) > 0 {
			agent = values[0]
		}
	}
	if agent != "" {
		dst = appendField(dst, "User-Agent", agent)
	}
	dst = fmt.Appendf(dst, "Content-Length: %d\r\n", r.ContentLength)
	var room [24]string
	names := room[:0]
	for name := range r.Header {
		if name != "User-Agent" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			dst = appendField(dst, name, value)
		}
	}
	if last {
		dst = append(dst, "Connection: close\r\n"...)
	}
	dst = append(dst, "\r\n"...)
	return appendBody(dst, r)
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, textproto.TrimString(value)...), "\r\n"...)
}

// appendBody appends the body, which has to be as long as it says.
func appendBody(dst []byte, r *http.Request) ([]byte, error) {
	n := int(r.ContentLength)
	start := len(dst)
	dst = slices.Grow(dst, n)[:start+n]
	if read, err := io.ReadFull(r.Body, dst[start:]); err != nil {
		return dst, fmt.Errorf("http1: ContentLength=%d with a body of %d bytes: %w", n, read, err)
	}
	var one [1]byte
	if more, _ := io.ReadFull(r.Body, one[:]); more > 0 { // an error after the end is none
		return dst, fmt.Errorf("http1: ContentLength=%d with a longer body", n)
	}
	return dst, nil
}

const proto = "HTTP/1.1"

// readSimple reads the head of an answer that has arrived as a whole and whose body has a
// Content-Length; the body is left to the caller. It returns nil for any other and then
// has read nothing.
func readSimple(in *bufio.Reader, r *http.Request) *http.Response {
	window, _ := in.Peek(in.Buffered()) // it is there
	end := bytes.Index(window, []byte("\r\n\r\n"))
	if end < 0 {
		return nil
	}
	line, fields, _ := strings.Cut(string(window[:end+2]), "\r\n")
	status, ok := strings.CutPrefix(line, proto+" ")
	if !ok || len(status) < len("200 O") || status[3] != ' ' || !consistsOf(status, inValue) || status[4] == ' ' {
		return nil
	}
	code := 0
	for i := range 3 {
		if status[i] < '0' || status[i] > '9' {
			return nil
		}
		code = 10*code + int(status[i]-'0')
	}
	if code < http.StatusOK || code == http.StatusNoContent || code == http.StatusNotModified {
		return nil
	}
	header, ok := parseFields(fields)
	if !ok || hasAny(header, "Transfer-Encoding", "Trailer", "Pragma") || !staysOpen(header) {
		return nil
	}
	length, ok := parseLength(header)
	if !ok {
		return nil
	}
	_, _ = in.Discard(end + len("\r\n\r\n")) // it is there
	resp := &http.Response{
		Status: status, StatusCode: code, Proto: proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: length, Request: r,
	}
	if length == 0 {
		resp.Body = http.NoBody
	}
	return resp
}
