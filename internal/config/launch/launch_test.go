package launch_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/config/launch"
)

func TestNameOf(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npx -y @playwright/mcp@latest --headless":                 "npm @playwright/mcp",
		"npx @playwright/mcp":                                      "npm @playwright/mcp",
		"/usr/local/bin/npx --yes firecrawl-mcp@3.26.0":            "npm firecrawl-mcp",
		`C:\nodejs\npx.cmd -y firecrawl-mcp`:                       "npm firecrawl-mcp",
		"cmd /c npx -y firecrawl-mcp":                              "npm firecrawl-mcp",
		"npx -y -p @modelcontextprotocol/server-memory mcp-server": "npm @modelcontextprotocol/server-memory",
		"npx --package=tavily-mcp@1 -- tavily":                     "npm tavily-mcp",
		"npm exec --yes tavily-mcp -- --port 1":                    "npm tavily-mcp",
		"npm start tavily-mcp":                                     "",
		"pnpm dlx tavily-mcp":                                      "npm tavily-mcp",
		"bunx tavily-mcp":                                          "npm tavily-mcp",
		"npx -y github:somebody/tavily-mcp":                        "",
		"npx -y ./tavily-mcp":                                      "",
		"node tavily-mcp/index.js":                                 "",
		"npx -y":                                                   "",

		"node --import x.js /opt/node_modules/@upstash/context7-mcp/dist/index.js": "npm @upstash/context7-mcp",
		"node /opt/node_modules/a/node_modules/tavily-mcp/index.js":                "npm tavily-mcp",

		"uvx mcp-server-git --repository .":                                             "pypi mcp-server-git",
		"uvx --python 3.12 mcp-server-git@latest":                                       "pypi mcp-server-git",
		"uvx --from awslabs.aws-api_mcp_server[x]==1.5 server":                          "pypi awslabs-aws-api-mcp-server",
		"uvx --from git+https://example.com/mcp-server-git mcp-server-git":              "",
		"uv tool run mcp-server-git":                                                    "pypi mcp-server-git",
		"uv --directory /src run mcp-server-git":                                        "command mcp-server-git",
		"uv pip install mcp-server-git":                                                 "",
		"pipx run mcp-server-git":                                                       "pypi mcp-server-git",
		"python -m mcp_server_git --repository .":                                       "pypi mcp-server-git",
		"/venv/bin/python3.12 -u -m mcp_server_git":                                     "pypi mcp-server-git",
		"python server.py -m mcp_server_git":                                            "",
		"docker run -i --rm -e TOKEN --mount type=bind,src=/a,dst=/b mcp/filesystem /b": "image mcp/filesystem",
		"docker run -i --env=TOKEN docker.io/mcp/git:1.0":                               "image mcp/git",
		"docker run -i ghcr.io/github/github-mcp-server":                                "image ghcr.io/github/github-mcp-server",
		"docker exec -i box mcp-server-git":                                             "",
		"podman run -it mcp/time@sha256:00ff":                                           "image mcp/time",
		"mcp-server-git":                                                                "command mcp-server-git",
		`C:\bin\Mcp-Server-Git.exe`:                                                     "command mcp-server-git",
		"sh -c mcp-server-git":                                                          "command sh",
		"":                                                                              "",
	} {
		name, ok := launch.NameOf(strings.Fields(command))
		got := string(name.From) + " " + name.Text
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}
