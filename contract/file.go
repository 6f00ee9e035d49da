package contract

import (
	"time"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// The form of a contract file, version 1.

type file struct {
	Node        *strictyaml.Node            `yaml:",pos"`
	Form        int                         `yaml:"form,required"`
	Name        string                      `yaml:"name,required"`
	Title       string                      `yaml:"title"`
	Doc         string                      `yaml:"doc"`
	Extends     *strictyaml.Node            `yaml:"extends"`
	ReadOnly    *bool                       `yaml:"read_only"`
	UnknownTool *strictyaml.Node            `yaml:"unknown_tool"`
	HintTools   []string                    `yaml:"hint_tools"`
	Retry       *retryFile                  `yaml:"retry"`
	Default     *strictyaml.Node            `yaml:"default"`
	Write       *writeFile                  `yaml:"write"`
	Shape       *strictyaml.Node            `yaml:"shape"`
	Members     strictyaml.Map[memberFile]  `yaml:"members"`
	Verify      strictyaml.Map[verifyFile]  `yaml:"verify"`
	Hints       *strictyaml.Node            `yaml:"hints"`
	Templates   map[string]*strictyaml.Node `yaml:"templates"` // a place for anchors
	Codes       []codeFile                  `yaml:"codes,required"`
}

type retryFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Retries int              `yaml:"retries,required"`
	Start   time.Duration    `yaml:"start,required"`
	Factor  float64          `yaml:"factor" default:"2"`
	Jitter  struct {
		Max  time.Duration `yaml:"max"`
		From int           `yaml:"from" default:"1"`
	} `yaml:"jitter"`
}

type writeFile struct {
	Node       *strictyaml.Node `yaml:",pos"`
	Text       *strictyaml.Node `yaml:"text,required"`
	Indent     int              `yaml:"indent"`
	Hints      *hintListFile    `yaml:"hints"`
	Envelope   *envelopeFile    `yaml:"envelope"`
	Human      *strictyaml.Node `yaml:"human"`
	Format     *formatFile      `yaml:"format"`
	Structured bool             `yaml:"structured"`
	Result     string           `yaml:"result"`
	IsError    bool             `yaml:"is_error" default:"true"`
	MimeTypes  bool             `yaml:"mime_types"`
}

type hintListFile struct {
	Before  string `yaml:"before,required"`
	Between string `yaml:"between,required"`
}

type envelopeFile struct {
	Mark  string           `yaml:"mark,required"`
	Shape *strictyaml.Node `yaml:"shape,required"`
}

type formatFile struct {
	Node     *strictyaml.Node `yaml:",pos"`
	Argument string           `yaml:"argument,required"`
	Default  string           `yaml:"default" default:"markdown"`
}

type memberFile struct {
	Present string `yaml:"present"`
	Doc     string `yaml:"doc"`
}

type verifyFile struct {
	Call string                           `yaml:"call,required"`
	Args strictyaml.Map[string]           `yaml:"args"`
	With strictyaml.Map[*strictyaml.Node] `yaml:"with"`
	Look string                           `yaml:"look"`
	Node *strictyaml.Node                 `yaml:",pos"`
}

type codeFile struct {
	Node      *strictyaml.Node `yaml:",pos"`
	Code      string           `yaml:"code,required"`
	Kind      *strictyaml.Node `yaml:"kind,required"`
	Group     string           `yaml:"group"`
	When      string           `yaml:"when"`
	For       *strictyaml.Node `yaml:"for"`
	Reads     []string         `yaml:"reads"`
	Set       *strictyaml.Node `yaml:"set"`
	Retryable *strictyaml.Node `yaml:"retryable"`
	Wait      time.Duration    `yaml:"wait"`
	Message   *strictyaml.Node `yaml:"message"`
	Hint      *strictyaml.Node `yaml:"hint"`
	HTTP      *httpFile        `yaml:"http"`
	RPC       *rpcFile         `yaml:"rpc"`
	Otherwise *strictyaml.Node `yaml:"otherwise"`
}

type httpFile struct {
	Node    *strictyaml.Node                 `yaml:",pos"`
	Status  int                              `yaml:"status,required"`
	Headers strictyaml.Map[*strictyaml.Node] `yaml:"headers"`
	Type    string                           `yaml:"type"`
	Body    *strictyaml.Node                 `yaml:"body"`
}

type rpcFile struct {
	Node    *strictyaml.Node `yaml:",pos"`
	Code    int              `yaml:"code,required"`
	Message *strictyaml.Node `yaml:"message,required"`
	Data    *strictyaml.Node `yaml:"data"`
}
