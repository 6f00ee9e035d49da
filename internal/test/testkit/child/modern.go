package child

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// modern is the argument that makes a child one of the modern era.
const modern = "modern"

// handleModern handles what only a server of the modern era does, or does differently. It reports whether it
// has.
func (c *child) handleModern(m protocol.Incoming) bool {
	var params struct {
		Notifications json.RawMessage            `json:"notifications"`
		RequestID     json.RawMessage            `json:"requestId"`
		Meta          map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // missing members stay empty
	switch {
	case m.Method == protocol.NotifyCancelled:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listening = slices.DeleteFunc(c.listening, func(id json.RawMessage) bool { return bytes.Equal(id, params.RequestID) })
		return false
	case m.ID == nil:
		return false
	case m.Method == protocol.MethodInitialize && c.value("version=") == "", m.Method == protocol.MethodPing:
		c.write(protocol.Refusal(m.ID, protocol.CodeMethodNotFound, "unknown method: this server speaks "+protocol.Version20260728, ""))
	case m.Method == protocol.MethodInitialize:
		return false
	case params.Meta[protocol.MetaVersion] == nil || params.Meta[protocol.MetaCapabilities] == nil:
		c.write(protocol.Refusal(m.ID, protocol.CodeInvalidParams, "_meta lacks the protocol version or the capabilities", ""))
	case m.Method == protocol.MethodDiscover:
		c.result(m.ID, protocol.Object(
			"supportedVersions", []string{protocol.Version20260728},
			"capabilities", json.RawMessage(protocol.Capabilities),
			"ttlMs", 0, "cacheScope", "private",
		))
	case m.Method == protocol.MethodListTools:
		c.result(m.ID, protocol.Object("tools", c.tools().Definitions(), "ttlMs", 0, "cacheScope", "private"))
	case m.Method == protocol.MethodListen:
		c.mu.Lock()
		c.listening = append(c.listening, m.ID)
		c.mu.Unlock()
		c.write(protocol.Subscribed(protocol.NotifyListening, m.ID, `,"notifications":`+string(params.Notifications)))
	default:
		return false
	}
	return true
}

// announce tells every subscription that the tools have changed.
func (c *toolCall) announce() {
	c.mu.Lock()
	listening := slices.Clone(c.listening)
	c.mu.Unlock()
	for _, id := range listening {
		c.write(protocol.Subscribed(protocol.NotifyToolsChanged, id, ""))
	}
	c.say("announced")
}

// unlisten ends every subscription: the first by a result, the others by a notification.
func (c *toolCall) unlisten() {
	c.mu.Lock()
	listening := c.listening
	c.listening = nil
	c.mu.Unlock()
	for i, id := range listening {
		if i == 0 {
			c.write(protocol.Envelope(id, `"result":{"resultType":"complete","_meta":{"`+protocol.MetaSubscription+`":`+string(id)+`}}`))
			continue
		}
		c.write(`{"jsonrpc":"2.0","method":"` + protocol.NotifyCancelled + `","params":{"requestId":` + string(id) + `}}`)
	}
}
