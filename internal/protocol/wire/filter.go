package wire

import (
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Filter is the notifications that a subscriptions/listen asks for, or that a server agrees to send (MCP
// 2026-07-28, "Subscriptions").
type Filter struct {
	Prompts   bool     `json:"promptsListChanged,omitzero"`
	Watched   []string `json:"resourceSubscriptions,omitempty"` // URIs
	Resources bool     `json:"resourcesListChanged,omitzero"`
	Tools     bool     `json:"toolsListChanged,omitzero"`
}

// IsEmpty reports whether the filter has no notifications.
func (f *Filter) IsEmpty() bool {
	return !f.Tools && !f.Prompts && !f.Resources && len(f.Watched) == 0
}

// Changes returns the methods of its notifications about changed lists.
func (f *Filter) Changes() (methods []string) {
	if f.Prompts {
		methods = append(methods, MethodPromptsChanged)
	}
	if f.Resources {
		methods = append(methods, MethodResourcesChanged)
	}
	if f.Tools {
		methods = append(methods, MethodToolsChanged)
	}
	return methods
}

// Announced returns the changes of lists of which a server with these capabilities tells its clients.
func Announced(capabilities json.Value) Filter {
	return Filter{
		Tools:     json.IsTrue(capabilities, "/tools/listChanged"),
		Prompts:   json.IsTrue(capabilities, "/prompts/listChanged"),
		Resources: json.IsTrue(capabilities, "/resources/listChanged"),
	}
}

// Agreement returns the notification by which a server agrees to send them on the subscription with that id.
func (f *Filter) Agreement(id ID) []byte {
	agreed, _ := json.Marshal(f) // a filter always has a form
	params := OfSubscription(id)
	params = append(append(append(params[:len(params)-1], `,"notifications":`...), agreed...), '}')
	return AppendRequest(nil, nil, MethodAcknowledged, params)
}

// OfSubscription returns params, or a result, that say nothing but of which subscription a message is.
func OfSubscription(id ID) []byte {
	return append(append([]byte(`{"_meta":{"`+MetaSubscription+`":`), id...), "}}"...)
}

// NextCursor returns where a list goes on, as it is written in a page of it; nil: it is the last one.
func NextCursor(page json.Value) json.Value {
	if cursor := json.Lookup(page, "/nextCursor"); cursor.Kind() == '"' && string(cursor) != `""` {
		return cursor
	}
	return nil
}

// OfResource returns params that name a resource.
func OfResource(uri string) []byte { return append(json.AppendQuote([]byte(`{"uri":`), uri), '}') }

// AgreedIn returns what a notifications/subscriptions/acknowledged agrees to: nothing that cannot be read.
func AgreedIn(text []byte) (f Filter) {
	_ = json.UnmarshalLenient(json.Lookup(text, "/params/notifications"), &f) // see above
	return f
}

// IsAnnouncement reports whether a notification of a subscription is for its client, and not about the
// subscription itself.
func IsAnnouncement(method string) bool {
	return IsNotification(method) && !strings.HasPrefix(method, "notifications/subscriptions/")
}
