package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
)

// look starts or reaches the server, and returns what is seen, as comments for its entry; "" if it cannot be seen, which is no
// reason not to write the file.
func (c *initCommand) look(ctx context.Context, env *term.Environment, command term.ServerCommand) string {
	place := client.Location{Command: command, Env: env.Environ, URL: c.URL, Headers: http.Header{}}
	if token, ok := env.LookupEnv(c.TokenEnv); ok && c.TokenEnv != "" {
		place.Headers.Set("Authorization", "Bearer "+token)
	}
	visit, err := place.Visit(ctx)
	if err != nil {
		env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: nothing is known of the server's tools: %s\n", why(err))
		return ""
	}
	s := &config.Server{}
	s.Start(command)
	lines := aboutVisit(visit, s)
	for _, line := range lines {
		term.Printf(env.Stdout, "%s\n", line)
	}
	return seenText(visit, s, lines)
}

// maxSeen is how many tools are listed in a comment.
const maxSeen = 60

// seenText writes what a server says of itself as comments. Tools of which nobody says anything stand where `tools` has them.
func seenText(visit *client.Visit, s *config.Server, about []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    # As seen on %s:\n", time.Now().UTC().Format(time.DateOnly))
	for _, line := range about {
		fmt.Fprintf(&b, "    # - %s\n", line)
	}
	if s.Known != nil {
		b.WriteString("    # profile: none # does without that\n")
	}
	var reads []string
	var silent strings.Builder
	listed := 0
	for _, tool := range visit.Tools {
		known := s.Known.Tool(tool.Name)
		switch {
		case tool.Annotations != nil && tool.Annotations.ReadOnlyHint, known != nil && known.ReadOnly != nil && *known.ReadOnly:
			reads = append(reads, tool.Name)
		case !saysWhat(tool) && known == nil && listed < maxSeen:
			listed++
			about := oneLine(term.FirstSentence(tool.Description))
			fmt.Fprintf(&silent, "    #   %s: {read_only: true} # if so: %s\n", check.YAMLWord(oneLine(tool.Name)), about)
		}
	}
	if len(reads) > 0 {
		fmt.Fprintf(&b, "    # - these only read: %s\n", oneLine(strings.Join(reads, ", ")))
	}
	if len(s.Command) == 0 && len(reads) > 0 {
		b.WriteString("    # trust_annotations: true # believes that, of a server elsewhere\n")
	}
	if listed > 0 {
		b.WriteString("    # tools: # what nobody says\n" + silent.String())
	}
	return b.String()
}
