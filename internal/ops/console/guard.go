package console

import "net/http"

// policy allows what these pages need and nothing else: pages contain no scripts or styles of their own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm limits the body of a request: the largest is an answer that somebody pastes.
const maxForm = 4<<20 + 64<<10

// guard sets the headers that keep pages safe, and refuses requests that other sites make a browser send.
//
// A session's cookie is SameSite=Strict, and each request that changes something must come from one of our
// pages, according to the browser (Sec-Fetch-Site, or Origin). Forms therefore need no token: it would add
// nothing.
func guard(next http.Handler) http.Handler {
	protected := http.NewCrossOriginProtection()
	protected.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This request was sent by another site: open the console itself.", http.StatusForbidden)
	}))
	next = protected.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}
