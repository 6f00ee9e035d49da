package studies

import (
	"net/http"
	"slices"
	"strings"
)

// createChatbot determines a chatbot's protocol, and tries it.
func (b *backend) createChatbot(r *http.Request) (any, error) {
	in, err := read[chatbot](r)
	if err != nil {
		return nil, err
	}
	if _, err := b.workspace(in.WorkspaceID); err != nil {
		return nil, err
	}
	switch {
	case !strings.HasSuffix(in.URL, "/chat"):
		return nil, &backendError{
			status: http.StatusUnprocessableEntity, Code: "config_detection_failed", Message: "No chat was found at the address.",
			Suggestions: []string{"Give the address that takes the messages, such as https://bot.example.com/chat"},
		}
	case strings.Contains(in.URL, "mute"):
		silent := &backendError{
			status: http.StatusUnprocessableEntity, Code: "smoke_test_failed", Message: "The chatbot did not answer a greeting.",
		}
		silent.Envelope = map[string]any{
			"error_kind": silent.Code, "suggestions": []string{"Start the chatbot", "See what it logs"}, "source_url": in.URL,
		}
		return nil, silent
	}
	c := &chatbot{Type: "chatbot", ID: b.newID(), WorkspaceID: in.WorkspaceID, URL: in.URL}
	b.chatbots = append(b.chatbots, c)
	return c, nil
}

func (b *backend) chatbot(id string) (*chatbot, error) {
	c, ok := find(b.chatbots, id, func(c *chatbot) string { return c.ID })
	if !ok {
		return nil, notFound("chatbot")
	}
	_, err := b.workspace(c.WorkspaceID)
	return c, err
}

func (b *backend) listChatbots(r *http.Request) (any, error) {
	return ofWorkspace(b, r, b.chatbots, func(c *chatbot) string { return c.WorkspaceID })
}

func (b *backend) getChatbot(r *http.Request) (any, error) { return b.chatbot(r.PathValue("id")) }

func (b *backend) deleteChatbot(r *http.Request) (any, error) {
	c, err := b.chatbot(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.chatbots = slices.DeleteFunc(b.chatbots, func(other *chatbot) bool { return other == c })
	return deleted{true}, nil
}

// createEndpoint registers a tunnel. Ports that belong to the system are refused.
func (b *backend) createEndpoint(r *http.Request) (any, error) {
	const firstUserPort = 1024
	in, err := read[localEndpoint](r)
	if err != nil {
		return nil, err
	}
	if in.Port < firstUserPort {
		return nil, refuse(http.StatusUnprocessableEntity, "", "Ports below %d are not registered.", firstUserPort)
	}
	e := &localEndpoint{Type: "endpoint", ID: b.newID(), URL: in.URL, Port: in.Port}
	b.endpoints = append(b.endpoints, e)
	return e, nil
}

func (b *backend) deleteEndpoint(r *http.Request) (any, error) {
	e, ok := find(b.endpoints, r.PathValue("id"), func(e *localEndpoint) string { return e.ID })
	if !ok {
		return nil, notFound("endpoint")
	}
	b.endpoints = slices.DeleteFunc(b.endpoints, func(other *localEndpoint) bool { return other == e })
	return deleted{true}, nil
}
