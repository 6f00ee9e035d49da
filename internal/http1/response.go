package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// bodyBuffer is how much of a body is held back to see whether it is complete: as much as net/http
	// holds back.
	bodyBuffer = 2 << 10
	// writeBuffer is the most that is written at once.
	writeBuffer = 16 << 10
)

// A response writes an answer. Like net/http's writer, it is not safe for concurrent use.
type response struct {
	conn    *serverConn
	request *http.Request
	body    requestBody
	header  http.Header
	length  int64 // of the body as announced, or -1
	written int64 // bytes, by the handler

	status     int
	said       said
	sent       bool // the head was written
	chunked    bool
	last       bool // the connection ends with the answer
	fullDuplex bool
	done       atomic.Bool // the handler has ended
}

var (
	_ http.Flusher    = (*response)(nil)
	_ io.StringWriter = (*response)(nil)
)

// said are the fields of an answer that decide its form. They are evaluated when the head is
// written.
type said struct {
	contentLength, contentType, contentEncoding, transferEncoding, connection []string

	hasLength, hasType, hasDate bool // even without a value
}

// leftOut are the names of the fields in said.
var leftOut = map[string]bool{
	"Content-Length": true, "Content-Type": true, "Transfer-Encoding": true, "Connection": true,
}

// Header implements [http.ResponseWriter]. The header belongs to the next answer when the handler has ended.
func (w *response) Header() http.Header {
	if w.done.Load() {
		return http.Header{}
	}
	return w.header
}

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(code int) {
	switch {
	case w.status != 0:
		w.conn.server.logf("http: superfluous response.WriteHeader call")
		return
	case code < 100 || code > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", code)) //nolint:forbidigo // as net/http does
	case code < http.StatusOK && code != http.StatusSwitchingProtocols:
		w.inform(code)
		return
	}
	w.status = code
	h := w.header
	w.said = said{
		contentLength: h["Content-Length"], contentEncoding: h["Content-Encoding"],
		transferEncoding: h["Transfer-Encoding"], connection: h["Connection"], contentType: h["Content-Type"],
		hasLength: hasAny(h, "Content-Length"), hasType: hasAny(h, "Content-Type"), hasDate: hasAny(h, "Date"),
	}
	w.conn.head = appendFields(w.conn.head[:0], h, leftOut)
	if text := first(w.said.contentLength); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			w.conn.server.logf("http: invalid Content-Length of %q", text)
			return
		}
		w.length = n
	}
}

var informal = map[string]bool{"Content-Length": true, "Transfer-Encoding": true}

// inform writes an informational (1xx) answer.
func (w *response) inform(code int) {
	out := &w.conn.out
	out.statusLine(code)
	out.b = append(appendFields(out.b, w.header, informal), "\r\n"...)
	_ = out.flush() // the next write fails as well
}

// appendFields appends the fields of a header, sorted, except those in leftOut and those with invalid
// names.
func appendFields(dst []byte, header http.Header, leftOut map[string]bool) []byte {
	var room [24]string
	for _, name := range sortedNames(room[:0], header) {
		if leftOut[name] || !consistsOf(name, inName) {
			continue
		}
		for _, value := range header[name] {
			dst = appendField(dst, name, clean.Replace(value))
		}
	}
	return dst
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (int, error) {
	if err := w.admit(len(p)); err != nil || len(p) == 0 {
		return 0, err
	}
	return w.conn.body.Write(p)
}

// WriteString implements [io.StringWriter].
func (w *response) WriteString(p string) (int, error) {
	if err := w.admit(len(p)); err != nil || p == "" {
		return 0, err
	}
	return w.conn.body.WriteString(p)
}

var errDone = errors.New("http1: the handler has ended")

// admit returns the reason why n more bytes must not be written.
func (w *response) admit(n int) error {
	if w.done.Load() {
		return errDone
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case n == 0:
		return nil
	case !allowsBody(w.status):
		return http.ErrBodyNotAllowed
	}
	if w.written += int64(n); w.length >= 0 && w.written > w.length {
		return http.ErrContentLength
	}
	return nil
}

func allowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error, for [http.ResponseController].
func (w *response) FlushError() error {
	if w.done.Load() {
		return errDone
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	err := w.conn.body.Flush()
	w.writeHead(nil)
	return errors.Join(err, w.conn.out.flush())
}

// SetReadDeadline implements the method that [http.ResponseController] uses.
func (w *response) SetReadDeadline(t time.Time) error {
	if w.done.Load() {
		return errDone
	}
	return w.conn.watch.limit(t)
}

// SetWriteDeadline implements the method that [http.ResponseController] uses.
func (w *response) SetWriteDeadline(t time.Time) error {
	if w.done.Load() {
		return errDone
	}
	w.conn.limited = true
	return w.conn.nc.SetWriteDeadline(t)
}

// EnableFullDuplex implements the method that [http.ResponseController] uses.
func (w *response) EnableFullDuplex() error {
	w.fullDuplex = true
	return nil
}

// finish writes what remains to be written after the handler.
func (w *response) finish() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.done.Store(true)
	_ = w.conn.body.Flush() // out keeps the error
	w.writeHead(nil)
	if w.chunked {
		_, _ = w.conn.out.WriteString("0\r\n\r\n") // as above
	}
	_ = w.conn.out.flush() // as above
}

// mayReuse reports whether the next request of the connection can be read.
func (w *response) mayReuse() bool {
	whole := w.length < 0 || !allowsBody(w.status) || w.length == w.written
	return !w.last && whole && w.conn.out.err == nil && w.body.left == 0
}

// chunks writes pieces of the response's body.
type chunks response

// Write implements [io.Writer].
func (c *chunks) Write(p []byte) (n int, err error) {
	w := (*response)(c)
	w.writeHead(p)
	out := &w.conn.out
	if !w.chunked {
		n, err = out.Write(p)
	} else {
		out.b = append(strconv.AppendInt(out.b, int64(len(p)), 16), "\r\n"...)
		if n, err = out.Write(p); err == nil {
			_, err = out.WriteString("\r\n")
		}
	}
	if err != nil {
		_ = w.conn.nc.Close() // the client must not take it for a complete body
	}
	return n, err
}

// writeHead writes the head, once. p is the beginning of the body, or all of it if the handler has
// ended.
func (w *response) writeHead(p []byte) {
	if w.sent {
		return
	}
	w.sent = true
	s, out := &w.said, &w.conn.out
	keeps := !w.conn.server.ending.Load()
	coding := first(s.transferEncoding)
	body := allowsBody(w.status)
	length := ""
	if w.done.Load() && coding == "" && body && !s.hasLength {
		w.length = int64(len(p))
		length = strconv.Itoa(len(p))
	}
	if first(s.connection) == "close" || !keeps {
		w.last = true
	}
	if w.request.ContentLength != 0 && !w.last && !w.fullDuplex && !w.body.skip() {
		w.last = true
	}
	contentType := ""
	switch {
	case !body:
		s.contentLength, s.transferEncoding = nil, nil
		if w.status == http.StatusNotModified {
			s.contentType = nil
		}
	case first(s.contentEncoding) == "" && !s.hasType && coding == "" && len(p) > 0:
		contentType = http.DetectContentType(p)
	}
	w.frame(coding, body)
	if w.last && (!keeps || !hasToken(first(s.connection), "close")) {
		s.connection = closes
	}
	out.statusLine(w.status)
	_, _ = out.Write(w.conn.head) // flush reports the error
	out.fields("Content-Length", s.contentLength)
	out.fields("Content-Type", s.contentType)
	out.fields("Transfer-Encoding", s.transferEncoding)
	out.fields("Connection", s.connection)
	out.field("Content-Type", contentType)
	out.field("Content-Length", length)
	if !s.hasDate {
		out.field("Date", w.conn.server.now())
	}
	_, _ = out.WriteString("\r\n") // flush reports the error
}

// clean keeps a value on one line, as net/http does.
var clean = strings.NewReplacer("\n", " ", "\r", " ")

// hasToken reports whether a value contains a token, by the rules of net/http.
func hasToken(value, token string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' }),
		func(word string) bool { return strings.EqualFold(word, token) })
}

var closes = []string{"close"}

// frame decides how the end of the body is marked.
func (w *response) frame(coding string, body bool) {
	s := &w.said
	known := w.length >= 0
	if known && coding != "" && coding != "identity" {
		w.conn.server.logf("http: WriteHeader called with both Transfer-Encoding of %q and a Content-Length of %d", coding, w.length)
		s.contentLength = nil
		known = false
	}
	switch {
	case !body, known:
		s.transferEncoding = nil
	case coding == "identity":
		w.last = true
		s.transferEncoding = nil
	default:
		w.chunked = true
		s.contentLength = nil
		if coding == "chunked" {
			s.transferEncoding = nil
		}
		s.transferEncoding = append(slices.Clip(s.transferEncoding), "chunked")
	}
}

// outgoing buffers and writes the pieces of an answer.
type outgoing struct {
	nc     net.Conn
	b      []byte
	err    error
	broken func() // is called when a write fails
}

// Write implements [io.Writer].
func (o *outgoing) Write(p []byte) (int, error) {
	if len(o.b)+len(p) <= writeBuffer {
		o.b = append(o.b, p...)
		return len(p), o.err
	}
	if err := o.flush(); err != nil {
		return 0, err
	}
	if len(p) < writeBuffer {
		o.b = append(o.b, p...)
		return len(p), nil
	}
	return o.write(p)
}

// WriteString implements [io.StringWriter]. It is for short strings.
func (o *outgoing) WriteString(p string) (int, error) {
	o.b = append(o.b, p...)
	return len(p), o.err
}

func (o *outgoing) write(p []byte) (n int, err error) {
	if o.err != nil {
		return 0, o.err
	}
	if n, o.err = o.nc.Write(p); o.err != nil {
		o.broken()
	}
	return n, o.err
}

func (o *outgoing) flush() error {
	if len(o.b) > 0 {
		_, _ = o.write(o.b) // the error is kept in err
		o.b = o.b[:0]
	}
	return o.err
}

func (o *outgoing) statusLine(code int) {
	o.b = strconv.AppendInt(append(o.b, proto+" "...), int64(code), 10) // always three digits: see WriteHeader
	o.b = append(o.b, ' ')
	if text := http.StatusText(code); text != "" {
		o.b = append(o.b, text...)
	} else {
		o.b = strconv.AppendInt(append(o.b, "status code "...), int64(code), 10)
	}
	o.b = append(o.b, "\r\n"...)
}

func (o *outgoing) field(name, value string) {
	if value != "" {
		o.b = appendField(o.b, name, value)
	}
}

func (o *outgoing) fields(name string, values []string) {
	for _, value := range values {
		o.b = appendField(o.b, name, clean.Replace(value))
	}
}
