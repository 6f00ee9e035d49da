package fieldmcp

import (
	"strconv"

	"github.com/recoursehq/recourse"
)

// pageArgs select a part of a list.
type pageArgs struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// defaultLimit is the default number of items on a page.
const defaultLimit = 50

// pageOf returns a page of the items: at most the requested number, after those of earlier pages.
func pageOf[T any](items []T, in pageArgs) (success, error) {
	from := 0
	if in.Cursor != "" {
		n, err := strconv.Atoi(in.Cursor)
		if err != nil || n <= 0 || n >= len(items) {
			return success{}, recourse.InvalidValue("cursor", "the nextCursor of the page before", in.Cursor)
		}
		from = n
	}
	if in.Limit == 0 {
		in.Limit = defaultLimit
	}
	to := min(from+in.Limit, len(items))
	page := complete(append([]T{}, items[from:to]...))
	if to < len(items) {
		page.NextCursor = strconv.Itoa(to)
	}
	return page, nil
}
