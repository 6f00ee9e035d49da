package studies

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
)

// The tools whose names are in more than one place.
const (
	studyGet     = "study_get"
	studyCreate  = "study_create"
	runDispatch  = "run_dispatch"
	studyAnalyze = "study_analyze"
	chatbotSetup = "chatbot_setup"
	connectStart = "connect_start"
)

func (s *System) addTools() {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	deletes := &mcp.ToolAnnotations{IdempotentHint: true}

	add(s, &mcp.Tool{
		Name: "workspace_get", Annotations: reads, Description: "Returns a workspace with its credits, or all workspaces.",
	}, s.getWorkspace)
	add(s, &mcp.Tool{Name: "workspace_create", Description: "Creates a workspace."}, s.createWorkspace)
	add(s, &mcp.Tool{Name: "workspace_delete", Annotations: deletes, Description: "Deletes a workspace."}, s.deleteWorkspace)
	add(s, &mcp.Tool{
		Name: studyGet, Annotations: reads, Description: "Returns a study, a participant's responses, or studies.",
	}, s.getStudy)
	add(s, &mcp.Tool{Name: studyCreate, Description: "Creates a study."}, s.createStudy)
	add(s, &mcp.Tool{Name: "study_delete", Annotations: deletes, Description: "Deletes a study."}, s.deleteStudy)
	add(s, &mcp.Tool{Name: "iteration_create", Description: "Adds an iteration to a study: what people are shown."}, s.createIteration)
	add(s, &mcp.Tool{Name: runDispatch, Description: "Asks people the question of a study."}, s.dispatch)
	add(s, &mcp.Tool{Name: studyAnalyze, Description: "Analyzes what participants have answered."}, s.analyze)
	add(s, &mcp.Tool{Name: "person_get", Annotations: reads, Description: "Returns a person, or people."}, s.getPerson)
	add(s, &mcp.Tool{Name: "person_create", Description: "Creates a person."}, s.createPerson)
	add(s, &mcp.Tool{Name: "person_delete", Annotations: deletes, Description: "Deletes a person."}, s.deletePerson)
	add(s, &mcp.Tool{
		Name: "person_attach", Description: "Lets a person take part in an iteration.", OutputSchema: outcomeSchema,
	}, s.attachPerson)
	add(s, &mcp.Tool{Name: "ask_get", Annotations: reads, Description: "Returns an ask, or asks."}, s.getAsk)
	add(s, &mcp.Tool{Name: "ask_create", Description: "Asks people one question, without a study."}, s.createAsk)
	add(s, &mcp.Tool{
		Name: chatbotSetup, Description: "Finds out how a chatbot is talked to, and tries it.", OutputSchema: outcomeSchema,
	}, s.setUpChatbot)

	add(s, &mcp.Tool{Name: connectStart, Description: "Opens a tunnel to a port of this machine."}, s.startTunnel)
	add(s, &mcp.Tool{Name: "connect_status", Annotations: reads, Description: "Tells whether a tunnel is up."}, s.tunnelStatus)
	add(s, &mcp.Tool{Name: "connect_stop", Annotations: deletes, Description: "Closes the tunnel."}, s.stopTunnel)
}

// outcomeSchema is that of the tools that return their failures.
var outcomeSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"ok": {"type": "boolean", "description": "whether it worked"},
		"error_kind": {"type": "string", "description": "what went wrong, a word"},
		"message": {"type": "string"},
		"suggestions": {"type": "array", "items": {"type": "string"}}
	},
	"required": ["ok"]
}`)

// only is the pre-flight check of the _get tools: at most one id, and none lists.
func only(names []string, values ...string) error {
	var given []string
	for i, v := range values {
		if v != "" {
			given = append(given, names[i])
		}
	}
	if len(given) > 1 {
		return recourse.Conflicting(given...).
			WithMessage("%s cannot be used together: give at most one id.", strings.Join(given, " and "))
	}
	return nil
}

// fetch returns one thing by its id, the things of a workspace, or all of them: what
// the _get tools have in common.
func (s *System) fetch(ctx context.Context, typ, path, id, workspaceID string) (object, error) {
	if err := only([]string{typ + "_id", "workspace_id"}, id, workspaceID); err != nil {
		return nil, err
	}
	if id != "" {
		return s.one(ctx, http.MethodGet, typ, path, id)
	}
	if workspaceID == "" {
		return s.api.do(ctx, http.MethodGet, path, typ, nil)
	}
	workspace, err := s.aliases.resolve("workspace_id", "workspace", workspaceID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodGet, path+"?"+url.Values{"workspace_id": {workspace}}.Encode(), "workspace", nil)
}

// one makes a request about the one thing that an argument names.
func (s *System) one(ctx context.Context, method, typ, path, id string) (object, error) {
	resolved, err := s.aliases.resolve(typ+"_id", typ, id)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, method, path+"/"+resolved, typ, nil)
}

type workspaceID struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
}

type getWorkspaceArgs struct {
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"such as w-1; without it all workspaces are listed"`
}

func (s *System) getWorkspace(ctx context.Context, in getWorkspaceArgs) (object, error) {
	return s.fetch(ctx, "workspace", "/workspaces", in.WorkspaceID, "")
}

type createWorkspaceArgs struct {
	Name string `json:"name"`
}

func (s *System) createWorkspace(ctx context.Context, in createWorkspaceArgs) (object, error) {
	return s.api.do(ctx, http.MethodPost, "/workspaces", "workspace", in)
}

func (s *System) deleteWorkspace(ctx context.Context, in workspaceID) (object, error) {
	return s.one(ctx, http.MethodDelete, "workspace", "/workspaces", in.WorkspaceID)
}

type getPersonArgs struct {
	PersonID    string `json:"person_id,omitempty"    jsonschema:"such as tp-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the people of a workspace"`
}

func (s *System) getPerson(ctx context.Context, in getPersonArgs) (object, error) {
	return s.fetch(ctx, "person", "/people", in.PersonID, in.WorkspaceID)
}

type createPersonArgs struct {
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Country     string `json:"country"       jsonschema:"two letters, such as PT"`
	Age         int    `json:"age,omitempty"`
}

func (s *System) createPerson(ctx context.Context, in createPersonArgs) (_ object, err error) {
	const maxAge = 120
	if in.Age < 0 || in.Age > maxAge {
		return nil, recourse.InvalidValue("age", "a number from 0 to 120", in.Age).WithMessage("age must be between 0 and %d.", maxAge)
	}
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/people", "person", in)
}

type personID struct {
	PersonID string `json:"person_id" jsonschema:"such as tp-1"`
}

func (s *System) deletePerson(ctx context.Context, in personID) (object, error) {
	return s.one(ctx, http.MethodDelete, "person", "/people", in.PersonID)
}

type attachPersonArgs struct {
	IterationID string `json:"iteration_id" jsonschema:"such as i-1"`
	PersonID    string `json:"person_id"    jsonschema:"such as tp-1"`
}

// attachPerson returns its failures: an agent that attaches many people goes on.
func (s *System) attachPerson(ctx context.Context, in attachPersonArgs) (object, error) {
	iteration, err := s.aliases.resolve("iteration_id", "iteration", in.IterationID)
	if err != nil {
		return nil, err
	}
	person, err := s.aliases.resolve("person_id", "person", in.PersonID)
	if err != nil {
		return nil, err
	}
	if _, err := s.api.do(ctx, http.MethodPost, "/iterations/"+iteration+"/people", "iteration", object{"person_id": person}); err != nil {
		return nil, err
	}
	return object{"ok": true, "iteration_id": s.aliases.of("iteration", iteration), "person_id": s.aliases.of("person", person)}, nil
}

type getAskArgs struct {
	AskID       string `json:"ask_id,omitempty"       jsonschema:"such as a-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the asks of a workspace"`
}

func (s *System) getAsk(ctx context.Context, in getAskArgs) (object, error) {
	return s.fetch(ctx, "ask", "/asks", in.AskID, in.WorkspaceID)
}

type createAskArgs struct {
	WorkspaceID string   `json:"workspace_id"`
	Question    string   `json:"question"`
	PersonIDs   []string `json:"person_ids"   jsonschema:"who is asked, at most 20"`
}

func (s *System) createAsk(ctx context.Context, in createAskArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	if in.PersonIDs, err = s.panel(in.PersonIDs); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/asks", "ask", in)
}

// maxParticipants is how many people can be asked at once.
const maxParticipants = 20

// panel resolves the people who are to be asked.
func (s *System) panel(people []string) ([]string, error) {
	if len(people) > maxParticipants {
		return nil, recourse.InvalidValue("person_ids", "at most 20 people", nil).
			WithMessage("person_ids names %d people: at most %d can be asked at once.", len(people), maxParticipants)
	}
	ids := make([]string, 0, len(people))
	for _, p := range people {
		id, err := s.aliases.resolve("person_ids", "person", p)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

type chatbotArgs struct {
	WorkspaceID string `json:"workspace_id"`
	URL         string `json:"url"          jsonschema:"the address that takes the chatbot's messages"`
}

// setUpChatbot returns its failures: a chatbot that cannot be set up is no reason to
// end an agent's loop.
func (s *System) setUpChatbot(ctx context.Context, in chatbotArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/chatbots", "chatbot", in)
	if err != nil {
		return nil, err
	}
	out["ok"] = true
	return out, nil
}
