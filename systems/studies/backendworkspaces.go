package studies

import (
	"cmp"
	"net/http"
	"slices"
)

func (b *backend) listWorkspaces(*http.Request) (any, error) {
	found := listing[*workspace]{Items: []*workspace{}}
	for _, w := range b.workspaces {
		if w.owner == b.caller {
			found.Items = append(found.Items, w)
		}
	}
	return found, nil
}

func (b *backend) createWorkspace(r *http.Request) (any, error) {
	in, err := read[workspace](r)
	if err != nil {
		return nil, err
	}
	owned := slices.DeleteFunc(slices.Clone(b.workspaces), func(w *workspace) bool { return w.owner != b.caller })
	if len(owned) >= maxWorkspaces {
		return nil, full("workspaces", maxWorkspaces)
	}
	return b.addWorkspace(b.caller, in.Name, planFree, 10, 0), nil
}

func (b *backend) getWorkspace(r *http.Request) (any, error) { return b.workspace(r.PathValue("id")) }

func (b *backend) deleteWorkspace(r *http.Request) (any, error) {
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.workspaces = slices.DeleteFunc(b.workspaces, func(other *workspace) bool { return other == w })
	return deleted{true}, nil
}

func (b *backend) updateWorkspace(r *http.Request) (any, error) {
	in, err := read[workspace](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	w.Name = cmp.Or(in.Name, w.Name)
	return w, nil
}

func (b *backend) getBrand(r *http.Request) (any, error) {
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return brand{WorkspaceID: w.ID, Name: cmp.Or(w.brand.Name, w.Name), Voice: w.brand.Voice}, nil
}

func (b *backend) setBrand(r *http.Request) (any, error) {
	in, err := read[brand](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	in.WorkspaceID, w.brand = w.ID, in
	return in, nil
}

// A siteLogin is a login at a site that people are to see. Its password is never shown again.
type siteLogin struct {
	Domain   string `json:"domain"`
	Username string `json:"username"`
	Password string `json:"password,omitempty"`
}

func (b *backend) listLogins(r *http.Request) (any, error) {
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return listing[siteLogin]{Items: append([]siteLogin{}, w.logins...)}, nil
}

func (b *backend) setLogin(r *http.Request) (any, error) {
	in, err := read[siteLogin](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	in.Password = ""
	w.logins = append(slices.DeleteFunc(w.logins, func(l siteLogin) bool { return l.Domain == in.Domain }), in)
	return in, nil
}

func (b *backend) deleteLogin(r *http.Request) (any, error) {
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	before := len(w.logins)
	w.logins = slices.DeleteFunc(w.logins, func(l siteLogin) bool { return l.Domain == r.URL.Query().Get("domain") })
	if len(w.logins) == before {
		return nil, notFound("login")
	}
	return deleted{true}, nil
}

// An upload is a file to be shown to people. Each read advances its processing.
type upload struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Status      string `json:"status"`
}

func (b *backend) createUpload(r *http.Request) (any, error) {
	in, err := read[upload](r)
	if err != nil {
		return nil, err
	}
	if _, err := b.workspace(in.WorkspaceID); err != nil {
		return nil, err
	}
	if err := checkMedia(in.Name); err != nil {
		return nil, err
	}
	in.Type, in.ID, in.Status = "upload", b.newID(), statusQueued
	b.uploads = append(b.uploads, &in)
	return in, nil
}

func (b *backend) listUploads(r *http.Request) (any, error) {
	for _, u := range b.uploads {
		if u.WorkspaceID == r.URL.Query().Get(paramWorkspace) {
			u.Status = statusCompleted
		}
	}
	return ofWorkspace(b, r, b.uploads, func(u *upload) string { return u.WorkspaceID })
}

// getMe returns the caller.
func (b *backend) getMe(*http.Request) (any, error) {
	return map[string]string{"email": b.caller}, nil
}
