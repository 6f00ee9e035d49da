package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/store"
)

const contractsPath = "/contracts"

// A contractView is a contract, and how it is used.
type contractView struct {
	*contract.Contract

	form    *contractform.Form
	servers []string // servers whose failures it describes
	seen    int64    // failures in the journal
	codes   []*codeView
}

// A codeView is a code of a contract.
type codeView struct {
	*contractform.Code

	seen int64
}

// A contractList is the page about all contracts.
type contractList struct {
	all  []*contractView
	kept bool // there is a journal to count in

	since time.Time // only failures since then are counted; zero: all are
}

// contracts lists all contracts, with how often each of their codes occurred.
func (c *Console) contracts(r *http.Request) (*contractList, error) {
	list := &contractList{kept: c.Journal != nil}
	if c.Gateway == nil {
		return list, nil
	}
	var seen []*store.CodeCount
	if c.Journal != nil {
		done, err := c.reading(r.Context())
		if err != nil {
			return nil, err
		}
		defer done()
		if seen, list.since, err = c.Journal.Codes(r.Context()); err != nil {
			return nil, err
		}
	}
	servers := c.Gateway.Figures().Servers
	for _, each := range c.Gateway.Contracts().All() {
		v := &contractView{Contract: each, form: contractform.Of(each)}
		for _, s := range servers {
			if s.Contract == each.Name {
				v.servers = append(v.servers, s.Server)
			}
		}
		by := map[string]int64{}
		for _, n := range seen {
			if slices.Contains(v.servers, n.Server) {
				by[n.Code] += n.Failures
				v.seen += n.Failures
			}
		}
		for _, code := range v.form.Codes {
			if !code.Open {
				v.codes = append(v.codes, &codeView{code, by[code.Code]})
			}
		}
		list.all = append(list.all, v)
	}
	return list, nil
}

func (c *Console) contractList(r *http.Request) (*view, error) {
	list, err := c.contracts(r)
	if err != nil {
		return nil, err
	}
	return &view{title: "Contracts", body: contractsPage(list)}, nil
}

// find returns the contract named in a request.
func (c *Console) find(r *http.Request) (of *contractView, all *contractList, err error) {
	all, err = c.contracts(r)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all.all, func(v *contractView) bool { return v.Name == r.PathValue("name") })
	if i < 0 {
		return nil, nil, &problem{http.StatusNotFound, "There is no such contract.", "recourse contract ls lists the built-in ones."}
	}
	return all.all[i], all, nil
}

// contract shows a contract with its codes.
func (c *Console) contract(r *http.Request) (*view, error) {
	of, all, err := c.find(r)
	if err != nil {
		return nil, err
	}
	return &view{title: of.Name, body: contractPage(of, all, contractdoc.Page(of.Contract))}, nil
}

// A translation is a failure as a contract writes it.
type translation struct {
	contract  string
	code      string
	retryable bool
	wire      string
}

// A codePage is the page about a code.
type codePage struct {
	of    *contractView
	code  *codeView
	kept  bool
	since time.Time
	own   translation
	other []translation
}

// code shows a code of a contract, and what other contracts say instead.
func (c *Console) code(r *http.Request) (*view, error) {
	of, all, err := c.find(r)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(of.codes, func(v *codeView) bool { return v.Code.Code == r.PathValue("code") })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "The contract has no such code.", "recourse contract show " + of.Name + " lists them."}
	}
	page := &codePage{of: of, code: of.codes[i], kept: all.kept, since: all.since}
	example := contractdoc.Example(of.Contract, page.code.Code)
	page.own = translate(of.Contract, example)
	told := of.Write(example, exampleCall()).Record
	for _, v := range all.all {
		if v != of {
			page.other = append(page.other, translate(v.Contract, told))
		}
	}
	return &view{title: page.code.Code.Code + " of " + of.Name, body: codeDetail(page)}, nil
}

func exampleCall() *contract.Call {
	return &contract.Call{Method: wire.MethodToolsCall, At: contract.AtTool, HTTP: true, Now: contractform.ExampleTime}
}

// translate returns a failure as a contract writes it.
func translate(by *contract.Contract, e *recourse.Error) translation {
	call := exampleCall()
	answer := by.Write(e, call)
	return translation{contract: by.Name, code: answer.Record.Code, retryable: by.Retryable(e, call), wire: explain.FormOf(answer).String()}
}

// retryText says when a code's call may be repeated.
func retryText(c *contractform.Code) string {
	switch c.Retry.Mode {
	case contractform.Always:
		return "yes"
	case contractform.Never:
		return "no"
	case contractform.ByStatus:
		return "with status " + strings.Join(c.Retry.Status, ", ")
	default:
		return "as the failure itself says"
	}
}

// contractURL returns the page about a contract.
func contractURL(name string) templ.SafeURL {
	return templ.SafeURL(contractsPath + "/" + url.PathEscape(name))
}

// codeURL returns the page about a code.
func codeURL(contractName, code string) templ.SafeURL {
	return contractURL(contractName) + templ.SafeURL("/codes/"+url.PathEscape(code))
}

// quantile formats a quantile of the durations of a server's calls.
func quantile(s *serverView, q float64) string {
	if s.tally.took.total == 0 {
		return "-"
	}
	return lasted(s.tally.took.quantile(q).Round(time.Microsecond))
}

// seenSince names how often something was seen.
func seenSince(since time.Time) string {
	if since.IsZero() {
		return "Seen"
	}
	return "Seen since " + since.UTC().Format("2 Jan 15:04") + " UTC"
}
