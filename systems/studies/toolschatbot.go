package studies

import (
	"context"
	"net/http"
)

type chatbotArgs struct {
	WorkspaceID string `json:"workspace_id"`
	URL         string `json:"url"          jsonschema:"the address that takes the chatbot's messages"`
}

// setUpChatbot returns its failures: a chatbot that cannot be set up should not end an agent's loop.
func (s *System) setUpChatbot(ctx context.Context, in chatbotArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/chatbots", "chatbot", in)
	if err != nil {
		return nil, err
	}
	out["ok"] = true
	return out, nil
}

type getChatbotArgs struct {
	ChatbotID   string `json:"chatbot_id,omitempty"   jsonschema:"such as cc-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the chatbots of a workspace"`
}

func (s *System) getChatbot(ctx context.Context, in getChatbotArgs) (object, error) {
	return s.fetch(ctx, "chatbot", "/chatbots", in.ChatbotID, in.WorkspaceID)
}

type chatbotID struct {
	ChatbotID string `json:"chatbot_id" jsonschema:"such as cc-1"`
}

func (s *System) deleteChatbot(ctx context.Context, in chatbotID) (object, error) {
	return s.one(ctx, http.MethodDelete, "chatbot", "/chatbots", in.ChatbotID)
}
