package studies

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/recoursehq/recourse"
)

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

type updateWorkspaceArgs struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
	Name        string `json:"name"`
}

func (s *System) updateWorkspace(ctx context.Context, in updateWorkspaceArgs) (object, error) {
	return s.ofWorkspace(ctx, http.MethodPatch, in.WorkspaceID, "", object{"name": in.Name})
}

// ofWorkspace makes a request about something in a workspace.
func (s *System) ofWorkspace(ctx context.Context, method, workspaceID, path string, in any) (object, error) {
	id, err := s.aliases.resolve(paramWorkspace, "workspace", workspaceID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, method, "/workspaces/"+id+path, "workspace", in)
}

func (s *System) getBrand(ctx context.Context, in workspaceID) (object, error) {
	return s.ofWorkspace(ctx, http.MethodGet, in.WorkspaceID, "/brand", nil)
}

type setBrandArgs struct {
	WorkspaceID string `json:"workspace_id"    jsonschema:"such as w-1"`
	Name        string `json:"name"`
	Voice       string `json:"voice,omitempty" jsonschema:"how it speaks, such as dry"`
}

func (s *System) setBrand(ctx context.Context, in setBrandArgs) (object, error) {
	return s.ofWorkspace(ctx, http.MethodPut, in.WorkspaceID, "/brand", object{"name": in.Name, "voice": in.Voice})
}

func (s *System) getLogins(ctx context.Context, in workspaceID) (object, error) {
	return s.ofWorkspace(ctx, http.MethodGet, in.WorkspaceID, "/logins", nil)
}

type setLoginArgs struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
	Domain      string `json:"domain"       jsonschema:"such as shop.example.com"`
	Username    string `json:"username"`
	Password    string `json:"password"     jsonschema:"which is never told again"`
}

func (s *System) setLogin(ctx context.Context, in setLoginArgs) (object, error) {
	return s.ofWorkspace(ctx, http.MethodPut, in.WorkspaceID, "/logins",
		siteLogin{Domain: in.Domain, Username: in.Username, Password: in.Password})
}

type deleteLoginArgs struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
	Domain      string `json:"domain"       jsonschema:"such as shop.example.com"`
}

func (s *System) deleteLogin(ctx context.Context, in deleteLoginArgs) (object, error) {
	return s.ofWorkspace(ctx, http.MethodDelete, in.WorkspaceID, "/logins?"+url.Values{"domain": {in.Domain}}.Encode(), nil)
}

type createUploadArgs struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
	Name        string `json:"name"         jsonschema:"of the file"`
}

func (s *System) createUpload(ctx context.Context, in createUploadArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/uploads", "upload", in)
}

func (s *System) uploadStatus(ctx context.Context, in workspaceID) (object, error) {
	return s.fetch(ctx, "upload", "/uploads", "", in.WorkspaceID)
}

func (s *System) getMe(ctx context.Context, _ struct{}) (object, error) {
	return s.api.do(ctx, http.MethodGet, "/me", "me", nil)
}

type docsArgs struct {
	Page string `json:"page,omitempty" jsonschema:"the name of a page; without it the pages are listed"`
}

// getDocs returns the documentation. The contract supplies the meaning of the errors.
func (s *System) getDocs(_ context.Context, in docsArgs) (object, error) {
	pages := map[string]string{"errors": s.contract.Doc}
	if in.Page == "" {
		return object{"items": slices.Sorted(maps.Keys(pages))}, nil
	}
	text, ok := pages[in.Page]
	if !ok {
		return nil, recourse.NotFound("page", in.Page)
	}
	return object{"page": in.Page, "text": text}, nil
}
