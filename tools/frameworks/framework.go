package main

import (
	"cmp"
	"path/filepath"
	"strings"
)

// A framework runs agents. Its program is node/NAME.mjs or python/NAME_agent.py.
type framework struct {
	name, title string
	language    string
	packages    string // whose versions the page names
	doc         string // what to set, for the page
	adapter     string // the line with our package, if there is one
	installed   string // whose environment and program it has, if not its own; it is run with what the page says to set
}

// environment is the name of the Python environment in which the framework is installed.
func (f *framework) environment() string { return cmp.Or(f.installed, f.name) }

// start returns the command that starts the framework's program.
func (f *framework) start(env string) (name string, args []string) {
	if f.language == python {
		args := []string{absolute(filepath.Join("python", f.environment()+"_agent.py"))}
		if f.installed != "" {
			args = append(args, "set")
		}
		return filepath.Join(env, f.environment(), "bin", "python"), args
	}
	return node, []string{filepath.Join(env, "node", f.name+".mjs")} // where install.sh has put it, beside the packages
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}

// Languages.
const (
	node   = "node"
	python = "python"
)

// frameworks are in the order of the page.
var frameworks = []*framework{
	{
		name: "aisdk", title: "AI SDK", language: node, packages: "ai @ai-sdk/mcp",
		doc: "It has no time limit of its own: a server that hangs keeps the agent waiting, unless `generateText` is given an " +
			"`abortSignal`. `createMCPClient` throws while the server is down.",
		adapter: `tools: recoverTools(await mcp.tools(), "recourse")`,
	},
	{
		name: "langchain-js", title: "LangChain JS", language: node, packages: "langchain @langchain/mcp-adapters",
		doc: "Nothing to set. It checks arguments itself, and ends every failure with \"Please fix your mistakes.\", whatever the " +
			"failure says; our adapter returns failures as results, without that.",
		adapter: `loadMcpTools("shop", answeringClient(client, "recourse"))`,
	},
	{
		name: "openai-js", title: "OpenAI Agents JS", language: node, packages: "@openai/agents",
		doc: "Whatever a call throws, the model reads \"Please try again.\", also of a write; `errorFunction` of the server replaces " +
			"that. It lists the tools before every turn: `cacheToolsList: true`.",
		adapter: `mcpServers: [mcpServer("shop", client, "recourse")]`,
	},
	{
		name: "mastra", title: "Mastra", language: node, packages: "@mastra/core @mastra/mcp",
		doc: "It connects anew and repeats the call when a connection breaks, whatever the tool does, and nothing turns that off: " +
			"put Recourse in front, which answers instead. It starts without the tools of a server that does not connect within 3 " +
			"s.",
		adapter: `tools: recoverTools(await mcp.listTools(), "recourse")`,
	},
	{
		name: "genkit", title: "Genkit", language: node, packages: "genkit @genkit-ai/mcp",
		doc: "Every failure but a result with `isError` throws out of `generate`, and so do arguments that break the schema and " +
			"unknown tools: catch them, or put Recourse in front, which leaves only the last two. It starts without the tools of a " +
			"server that is down.",
	},
	{
		name: "codex", title: "Codex", language: node, packages: "@openai/codex",
		doc: "A host: `url` under `mcp_servers.shop` in `config.toml`. Where a result has `structuredContent`, the model reads " +
			"that instead of the text. It starts without the tools of a server that is down. It says that it can " +
			"show a person a link, so that `urlelicit` reaches it as the server sent it.",
	},
	{
		name: "mcp1", title: "MCP SDK 1", language: python, packages: "mcp",
		doc: "The official SDK brings no agent: this one gives its model the text of a result, or that of the exception. What " +
			"breaks the transport does not come out of `call_tool` but, as an `ExceptionGroup`, out of the `async with` around the " +
			"client, and ends all that runs in it. It has no time limit: `read_timeout_seconds`. A web page in place of an answer " +
			"hangs the call.",
		adapter: `recover(session, "recourse")`,
	},
	{
		name: "mcp2", title: "MCP SDK 2", language: python, packages: "mcp",
		doc:     "As with version 1, but an HTTP status is an exception of the call, without the status.",
		adapter: `recover(client, "recourse")`,
	},
	{
		name: "fastmcp", title: "FastMCP", language: python, packages: "fastmcp",
		doc:     "As the SDK that it stands on. `Client(url, timeout=...)` sets a time limit.",
		adapter: `recover(client, "recourse")`,
	},
	{
		name: "langgraph", title: "LangGraph", language: python,
		doc: "Every failure but a result with `isError` ends the run; `tool_interceptors` can catch it. It opens a session for each " +
			"call, so a lost one does not matter.",
		adapter: `MultiServerMCPClient(servers, tool_interceptors=[recovering("recourse")])`,
	},
	{
		name: "openai", title: "OpenAI Agents", language: python,
		doc: "Whatever a call raises, the model reads \"Please try again.\", also of a write; `failure_error_function` replaces that. " +
			"It waits 5 s for an answer (`client_session_timeout_seconds`) and lists the tools before every turn " +
			"(`cache_tools_list=True`).",
		adapter: `Agent(..., mcp_servers=[recovering(server, "recourse")])`,
	},
	{
		name: "pydantic", title: "Pydantic AI", language: python,
		doc: "A result with `isError` asks the model to try again, up to `max_retries`, after which the run ends; `MCPToolset(..., " +
			"tool_error_behavior=\"failed\")` only tells it.",
		adapter: `MCPToolset(recovering(Client(url), "recourse"), tool_error_behavior="failed")`,
	},
	{
		name: "adk", title: "ADK", language: python,
		doc: "The model reads the whole result as JSON, with `_meta`.",
	},
	{
		name: "crewai", title: "CrewAI", language: python,
		doc: "With `MCPServerAdapter` of crewai-tools, as here. `Agent(mcps=[...])` of this version fails after every call over " +
			"HTTP, because of its own way to close the connection, and makes a call that fails three times, also one that " +
			"writes. It checks arguments itself. An HTTP error or a broken connection leaves the call without an answer.",
	},
	{
		name: "llamaindex", title: "LlamaIndex", language: python,
		doc: "The model reads the whole result as Python writes it, with `_meta`.",
	},
	{
		name: "smolagents", title: "smolagents", language: python,
		doc: "Every argument counts as required, and it checks them itself. After an exception it tells the model to try again, " +
			"also of a write. An HTTP error or a broken connection leaves the call without an answer.",
	},
	{
		name: "autogen", title: "AutoGen", language: python,
		doc: "Agent Framework is its successor. An HTTP error or a broken connection leaves the call without an answer.",
	},
	{
		name: "agentframework", title: "Agent Framework", language: python,
		doc: "A result with `isError` is an exception to it, and the model reads nothing but \"Error: Function failed.\", unless the " +
			"chat client has `function_invocation_configuration={\"include_detailed_errors\": True}`. Set it.",
	},
	{
		name: "agentframework-set", title: "Agent Framework (set)", language: python, installed: "agentframework",
		doc: "The same, with that set.",
	},
	{
		name: "strands", title: "Strands", language: python,
		doc: "Nothing to set. A connection that breaks during a call ends the run after the model has read of it.",
	},
}

func frameworksNamed(names string) (chosen []*framework) {
	for _, f := range frameworks {
		if names == "" || strings.Contains(","+names+",", ","+f.name+",") {
			chosen = append(chosen, f)
		}
	}
	return chosen
}
