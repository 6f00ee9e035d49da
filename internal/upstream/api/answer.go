package api

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

const (
	// MaxAnswer limits an answer, in bytes: it is read completely before it becomes a result.
	MaxAnswer = 4 << 20
	// maxRefusal limits how much is read of an answer with a status of 400 or more.
	maxRefusal = 1 << 20
)

// A RefusedError is an answer with a status of 400 or more: the cause of the corresponding Error.
type RefusedError struct {
	Status int
	Header http.Header
	Body   []byte // as much of it as was read
	Cut    string // the size at which it was cut off and completed, such as 1MiB; empty: it is whole
}

// Error says so.
func (r *RefusedError) Error() string {
	const most = 512
	return fmt.Sprintf("HTTP %d: %s", r.Status, r.Body[:min(most, len(r.Body))])
}

func (c *Adapter) read(ctx context.Context, t *openapi.Offer, resp *http.Response) ([]byte, error) {
	if resp.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal+1)) // if reading fails, the status still counts
		return nil, c.refused(resp, body)
	}
	if resp.StatusCode == http.StatusPartialContent && resp.Request.Header.Get("Range") == "" {
		return nil, c.badResponse(resp, errors.New("it is a part of the content (HTTP 206), and nobody has asked for a part"))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case isCoding(err):
		return nil, c.badResponse(resp, errors.New("its Content-Encoding does not fit its content"))
	case err != nil:
		return nil, upstream.Broken(ctx, c.Name(), err)
	case len(body) > MaxAnswer:
		return nil, c.badResponse(resp, fmt.Errorf("it is larger than %d MiB", MaxAnswer>>20))
	case len(bytes.TrimSpace(body)) == 0:
		return result(c.empty(t, resp), nil, c.more(t, resp.Header, nil)), nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "" && looksLikeHTML(body) {
		media = "text/html"
	}
	switch {
	case (isText(media) || isJSON(media)) && !utf8.Valid(body):
		return nil, c.badResponse(resp, errors.New("it is not in UTF-8"))
	case isJSON(media), media == "" && looksLikeJSON(body):
		whole, err := compact(body)
		if err != nil {
			return nil, c.badResponse(resp, errors.New("its JSON is truncated or not valid"))
		}
		object := whole
		if whole.Kind() != '{' {
			object = nil
		}
		return result(string(whole), object, c.more(t, resp.Header, whole)), nil
	case isText(media):
		return result(string(body), nil, c.more(t, resp.Header, nil)), nil
	default:
		if media == "" {
			media = "unknown data"
		}
		return nil, c.badResponse(resp, fmt.Errorf("it is %s, which is neither JSON nor text", media))
	}
}

// refused returns the failure for a request that the provider has refused.
func (c *Adapter) refused(resp *http.Response, body []byte) *recourse.Error {
	again := http.Response{StatusCode: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body))}
	e := recourse.FromHTTP(c.Name(), &again)
	if e.Upstream.RequestID == "" {
		e.Upstream.RequestID = requestID(resp.Header)
	}
	refusal := &RefusedError{Status: resp.StatusCode, Header: resp.Header, Body: body}
	if len(body) > maxRefusal {
		refusal.Cut, refusal.Body = "1MiB", body[:maxRefusal]
		if whole := json.Complete(refusal.Body); whole != nil {
			refusal.Body = whole
		}
	}
	return e.CausedBy(refusal)
}

// empty says what an answer without a body means.
func (*Adapter) empty(t *openapi.Offer, resp *http.Response) string {
	switch {
	case t.Method == http.MethodHead:
		return fmt.Sprintf("It is there (HTTP %d). Content-Type: %s; Content-Length: %d.",
			resp.StatusCode, resp.Header.Get("Content-Type"), resp.ContentLength)
	case resp.StatusCode == http.StatusAccepted:
		return "The request was accepted (HTTP 202), but it may not be carried out yet. The answer has no content."
	default:
		return fmt.Sprintf("The request succeeded (HTTP %d). The answer has no content.", resp.StatusCode)
	}
}

// result returns the result of a call: the text alone in its first block, followed by notes about it.
func result(text string, structured json.Value, note string) []byte {
	out := json.AppendQuote([]byte(`{"resultType":"complete","content":[{"type":"text","text":`), text)
	if note != "" {
		out = json.AppendQuote(append(out, `},{"type":"text","text":`...), note)
	}
	out = append(out, "}]"...)
	if structured != nil {
		out = append(append(out, `,"structuredContent":`...), structured...)
	}
	return append(out, '}')
}

// compact returns JSON without white space. Duplicate names are both kept.
func compact(body []byte) (json.Value, error) {
	var raw json.Value
	if err := json.UnmarshalLenient(body, &raw); err != nil {
		return nil, err
	}
	whole, err := json.AppendCompact(nil, raw)
	return whole, err
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

func looksLikeJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	return body[0] == '{' || body[0] == '['
}

// looksLikeHTML reports whether an answer without a type is a page for people.
func looksLikeHTML(body []byte) bool {
	begin := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	return bytes.HasPrefix(begin, []byte("<!doctype html")) || bytes.HasPrefix(begin, []byte("<html"))
}

// isCoding reports whether an error says that a body is not compressed as its header claims.
func isCoding(err error) bool {
	_, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	return isCorrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum)
}

// isText reports whether a model can read a media type. A page for people is not an API's answer.
func isText(media string) bool {
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return false
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+xml"), strings.HasSuffix(media, "+yaml"):
		return true
	}
	switch media {
	case "", "application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl":
		return true
	default:
		return false
	}
}
