package load

import "net/url"

// HostOf returns the host and port of an absolute HTTP URL, and "" for anything else. The rest of the
// URL may contain a secret.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Host
}
