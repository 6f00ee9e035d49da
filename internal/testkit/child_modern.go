package testkit

import (
	"bytes"
	"encoding/json"
	"slices"
)

// modern is the argument that makes a [Child] one of the modern era.
const modern = "modern"

// handleModern handles what only a server of the modern era does, or does differently. It reports whether it
// has.
func (c *child) handleModern(m message) bool {
	var params struct {
		Notifications json.RawMessage            `json:"notifications"`
		RequestID     json.RawMessage            `json:"requestId"`
		Meta          map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // missing members stay empty
	switch {
	case m.Method == notifyCancelled:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listening = slices.DeleteFunc(c.listening, func(id json.RawMessage) bool { return bytes.Equal(id, params.RequestID) })
		return false
	case m.ID == nil:
		return false
	case m.Method == methodInitialize && c.value("version=") == "", m.Method == methodPing:
		c.write(envelope(m.ID, `"error":`+rpcError(codeMethodNotFound, "unknown method: this server speaks "+version20260728, "")))
	case m.Method == methodInitialize:
		return false
	case params.Meta[metaVersion] == nil || params.Meta[metaCapabilities] == nil:
		c.write(envelope(m.ID, `"error":`+rpcError(codeInvalidParams, "_meta lacks the protocol version or the capabilities", "")))
	case m.Method == methodDiscover:
		c.result(m.ID, object(
			"supportedVersions", []string{version20260728},
			"capabilities", json.RawMessage(capabilities),
			"ttlMs", 0, "cacheScope", "private",
		))
	case m.Method == methodListTools:
		c.result(m.ID, object("tools", definitions(c.tools()), "ttlMs", 0, "cacheScope", "private"))
	case m.Method == methodListen:
		c.mu.Lock()
		c.listening = append(c.listening, m.ID)
		c.mu.Unlock()
		c.write(subscribed(notifyListening, m.ID, `,"notifications":`+string(params.Notifications)))
	default:
		return false
	}
	return true
}

// announce tells every subscription that the tools have changed.
func (c *childCall) announce() {
	c.mu.Lock()
	listening := slices.Clone(c.listening)
	c.mu.Unlock()
	for _, id := range listening {
		c.write(subscribed(notifyToolsChanged, id, ""))
	}
	c.say("announced")
}

// unlisten ends every subscription: the first by a result, the others by a notification.
func (c *childCall) unlisten() {
	c.mu.Lock()
	listening := c.listening
	c.listening = nil
	c.mu.Unlock()
	for i, id := range listening {
		if i == 0 {
			c.write(envelope(id, `"result":{"resultType":"complete","_meta":{"`+metaSubscription+`":`+string(id)+`}}`))
			continue
		}
		c.write(`{"jsonrpc":"2.0","method":"` + notifyCancelled + `","params":{"requestId":` + string(id) + `}}`)
	}
}
