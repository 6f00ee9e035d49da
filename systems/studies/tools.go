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

// paramWorkspace is the argument, and the member, that names a workspace.
const paramWorkspace = "workspace_id"

// The tools that are named in more than one place.
const (
	studyGet     = "study_get"
	studyCreate  = "study_create"
	runDispatch  = "run_dispatch"
	studyAnalyze = "study_analyze"
	chatbotSetup = "chatbot_setup"
	connectStart = "connect_start"

	connectStatus = "connect_status"
)

// The tiers by which hosts decide whether to ask before a call.
var (
	reads   = &mcp.ToolAnnotations{ReadOnlyHint: true}
	creates = &mcp.ToolAnnotations{DestructiveHint: new(bool)} // false: nothing is lost
	deletes = &mcp.ToolAnnotations{IdempotentHint: true}
)

func (s *System) addTools() {
	s.addStudyTools()
	s.addPeopleTools()
	s.addWorkspaceTools()

	add(s, &mcp.Tool{
		Name: chatbotSetup, Description: "Finds out how a chatbot is talked to, and tries it.", OutputSchema: outcomeSchema,
	}, s.setUpChatbot)
	add(s, &mcp.Tool{Name: "chatbot_get", Annotations: reads, Description: "Returns a chatbot, or chatbots."}, s.getChatbot)
	add(s, &mcp.Tool{Name: "chatbot_delete", Annotations: deletes, Description: "Forgets a chatbot."}, s.deleteChatbot)
	add(s, &mcp.Tool{Name: connectStart, Description: "Opens a tunnel to a port of this machine."}, s.startTunnel)
	add(s, &mcp.Tool{Name: connectStatus, Annotations: reads, Description: "Tells whether a tunnel is up."}, s.tunnelStatus)
	add(s, &mcp.Tool{Name: "connect_stop", Annotations: deletes, Description: "Closes the tunnel."}, s.stopTunnel)
}

func (s *System) addStudyTools() {
	add(s, &mcp.Tool{
		Name: studyGet, Annotations: reads, Description: "Returns a study, a participant's responses, or studies.",
	}, s.getStudy)
	add(s, &mcp.Tool{Name: studyCreate, Description: "Creates a study."}, s.createStudy)
	add(s, &mcp.Tool{Name: "study_revise", Annotations: deletes, Description: "Changes the title or question of a study."}, s.reviseStudy)
	add(s, &mcp.Tool{Name: "study_benchmark", Description: "Copies a study as a draft to compare it with."}, s.benchmark)
	add(s, &mcp.Tool{Name: "study_delete", Annotations: deletes, Description: "Deletes a study."}, s.deleteStudy)
	add(s, &mcp.Tool{Name: "iteration_create", Description: "Adds an iteration to a study: what people are shown."}, s.createIteration)
	add(s, &mcp.Tool{Name: "iteration_update", Annotations: deletes, Description: "Changes what people are shown."}, s.updateIteration)
	add(s, &mcp.Tool{Name: runDispatch, Description: "Asks people the question of a study."}, s.dispatch)
	add(s, &mcp.Tool{Name: studyAnalyze, Description: "Analyzes what participants have answered."}, s.analyze)
	add(s, &mcp.Tool{Name: "simulation_extend", Description: "Asks a participant who has answered one more thing."}, s.extend)
}

func (s *System) addPeopleTools() {
	add(s, &mcp.Tool{Name: "person_get", Annotations: reads, Description: "Returns a person, or people."}, s.getPerson)
	add(s, &mcp.Tool{Name: "person_create", Description: "Creates a person."}, s.createPerson)
	add(s, &mcp.Tool{Name: "person_generate", Description: "Makes people up from a description."}, s.generatePeople)
	add(s, &mcp.Tool{Name: "person_update", Annotations: deletes, Description: "Changes a person."}, s.updatePerson)
	add(s, &mcp.Tool{Name: "person_delete", Annotations: deletes, Description: "Deletes a person."}, s.deletePerson)
	add(s, &mcp.Tool{
		Name: "person_attach", Description: "Lets a person take part in an iteration.", OutputSchema: outcomeSchema,
	}, s.attachPerson)
	add(s, &mcp.Tool{Name: "ask_get", Annotations: reads, Description: "Returns an ask, or asks."}, s.getAsk)
	add(s, &mcp.Tool{Name: "ask_create", Description: "Asks people one question, without a study."}, s.createAsk)
	add(s, &mcp.Tool{Name: "ask_run", Description: "Asks the people of an ask its question again."}, s.runAsk)
	add(s, &mcp.Tool{Name: "ask_round", Description: "Asks the people of an ask another question."}, s.askRound)
	add(s, &mcp.Tool{Name: "ask_questions", Description: "Asks the people of an ask several questions."}, s.askQuestions)
	add(s, &mcp.Tool{Name: "ask_people", Description: "Asks more people the question of an ask."}, s.askPeople)
	add(s, &mcp.Tool{Name: "ask_delete", Annotations: deletes, Description: "Deletes an ask."}, s.deleteAsk)
}

func (s *System) addWorkspaceTools() {
	add(s, &mcp.Tool{
		Name: "workspace_get", Annotations: reads, Description: "Returns a workspace with its credits, or all workspaces.",
	}, s.getWorkspace)
	add(s, &mcp.Tool{Name: "workspace_create", Description: "Creates a workspace."}, s.createWorkspace)
	add(s, &mcp.Tool{Name: "workspace_update", Annotations: deletes, Description: "Renames a workspace."}, s.updateWorkspace)
	add(s, &mcp.Tool{Name: "workspace_delete", Annotations: deletes, Description: "Deletes a workspace."}, s.deleteWorkspace)
	add(s, &mcp.Tool{Name: "brand_get", Annotations: reads, Description: "Returns how a workspace presents itself."}, s.getBrand)
	add(s, &mcp.Tool{Name: "brand_set", Annotations: deletes, Description: "Says how a workspace presents itself."}, s.setBrand)
	add(s, &mcp.Tool{Name: "site_access_get", Annotations: reads, Description: "Returns the sites that people sign in at."}, s.getLogins)
	add(s, &mcp.Tool{Name: "site_access_set", Annotations: deletes, Description: "Keeps a login for a site."}, s.setLogin)
	add(s, &mcp.Tool{Name: "site_access_delete", Annotations: deletes, Description: "Forgets the login for a site."}, s.deleteLogin)
	add(s, &mcp.Tool{Name: "upload_create", Description: "Announces a file that people are to be shown."}, s.createUpload)
	add(s, &mcp.Tool{Name: "upload_status", Annotations: reads, Description: "Tells which files have been taken in."}, s.uploadStatus)
	add(s, &mcp.Tool{Name: "me_get", Annotations: reads, Description: "Tells whose token the service sees."}, s.getMe)
	add(s, &mcp.Tool{Name: "docs_get", Annotations: reads, Description: "Returns a page of the documentation, or their names."}, s.getDocs)
}

// outcomeSchema is the schema of tools that return their failures.
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

// only checks in advance that a _get tool has at most one id; none means a list.
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

// fetch returns one thing by its id, the things of a workspace, or all of them, for the _get tools.
func (s *System) fetch(ctx context.Context, typ, path, id, workspaceID string) (object, error) {
	if err := only([]string{typ + "_id", paramWorkspace}, id, workspaceID); err != nil {
		return nil, err
	}
	if id != "" {
		return s.one(ctx, http.MethodGet, typ, path, id)
	}
	if workspaceID == "" {
		return s.api.do(ctx, http.MethodGet, path, typ, nil)
	}
	workspace, err := s.aliases.resolve(paramWorkspace, "workspace", workspaceID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodGet, path+"?"+url.Values{paramWorkspace: {workspace}}.Encode(), "workspace", nil)
}

// one makes a request about the thing that an argument names.
func (s *System) one(ctx context.Context, method, typ, path, id string) (object, error) {
	resolved, err := s.aliases.resolve(typ+"_id", typ, id)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, method, path+"/"+resolved, typ, nil)
}
