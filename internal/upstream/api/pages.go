package api

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

const (
	maxCursor = 512 // size limit of a cursor that is passed on
	maxLink   = 8 << 10
)

// nextLink finds the URL of the next page in a Link header (RFC 8288).
var nextLink = regexp.MustCompile(`<([^>]*)>[^,<]*;\s*rel="?next"?`)

// cursors are where answers contain the next page's cursor.
var cursors = []json.Pointer{
	"/next_cursor", "/nextCursor", "/next_page_token", "/nextPageToken", "/next_page", "/nextPage", "/cursor/next",
	"/meta/next_cursor", "/meta/nextCursor", "/meta/next", "/pagination/next_cursor", "/pagination/next", "/paging/next/after",
	"/paging/cursors/after", "/response_metadata/next_cursor", "/page_info/end_cursor", "/pageInfo/endCursor", "/links/next",
	"/_links/next/href", "/@odata.nextLink", "/next",
}

// cursorParams are parameters for a cursor, the most likely first.
var cursorParams = []string{
	"cursor", "page_token", "pageToken", "next_cursor", "nextCursor", "next_token", "nextToken", "starting_after", "after",
	"continuation_token", "continuationToken", "page", "offset", "$skiptoken",
}

// more says how to get the next page, if the answer names one. No page is fetched unasked.
func (c *Adapter) more(t *openapi.Offer, header http.Header, body json.Value) string {
	for _, link := range header.Values("Link") {
		if found := nextLink.FindStringSubmatch(link[:min(len(link), maxLink)]); found != nil {
			return c.nextByURL(t, found[1])
		}
	}
	if body.Kind() != '{' {
		return ""
	}
	for _, at := range cursors {
		raw := json.Lookup(body, at)
		cursor := json.Text(raw, "")
		if raw.Kind() == '0' {
			cursor = string(raw)
		}
		if cursor == "" || len(cursor) > maxCursor || hasMore(body) == "false" {
			continue
		}
		if strings.HasPrefix(cursor, "http://") || strings.HasPrefix(cursor, "https://") || strings.HasPrefix(cursor, "/") {
			return c.nextByURL(t, cursor)
		}
		for _, name := range cursorParams {
			if arg := t.QueryArgument(name); arg != "" {
				return next(t, []string{fmt.Sprintf("%s=%q", arg, cursor)})
			}
		}
		return fmt.Sprintf("There are more results: %s is %q.", strings.TrimPrefix(string(at), "/"), cursor)
	}
	if hasMore(body) == "true" {
		return "There are more results."
	}
	return ""
}

func hasMore(body json.Value) string {
	for _, at := range []json.Pointer{"/has_more", "/hasMore", "/page_info/has_next_page", "/pageInfo/hasNextPage"} {
		if raw := json.Lookup(body, at); raw != nil {
			return string(raw)
		}
	}
	return ""
}

// nextByURL returns the arguments that lead to the page at a URL, without those set by the entry.
func (c *Adapter) nextByURL(t *openapi.Offer, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "There are more results."
	}
	var changed []string
	query := u.Query()
	for name := range query {
		arg := t.QueryArgument(name)
		if value := query.Get(name); arg != "" && len(value) <= maxCursor {
			changed = append(changed, fmt.Sprintf("%s=%q", arg, value))
		}
	}
	slices.Sort(changed)
	return next(t, changed)
}

func next(t *openapi.Offer, arguments []string) string {
	if len(arguments) == 0 {
		return "There are more results."
	}
	return fmt.Sprintf("There are more results. For the next page call %s again with %s, and the other arguments as they were.",
		t.Name, strings.Join(arguments, ", "))
}
