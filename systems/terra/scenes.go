package terra

import (
	"net/http"

	"github.com/recoursehq/recourse/systems"
)

const sleep = "get_sleep_data"

// Scenes returns a call for each failure of the contract that HTTP can have, behind
// two that work.
func (s *System) Scenes() []systems.Scene { return append(queries(), s.sessions()...) }

// queries are calls whose queries can be carried out, or cannot.
func queries() []systems.Scene {
	where := func(condition string) string {
		return `{"fields":["start_time","awakenings"],"where":` + condition + `}`
	}
	return []systems.Scene{
		{
			Title: "A query that works.", Tool: sleep,
			Arguments: where(`{"and":[{"field":"start_time","operator":"GTE","value":"2025-11-12"},` +
				`{"not":{"field":"awakenings","operator":"GT","value":3}}]}`),
		},
		{
			Title: "A query that aggregates.", Tool: "get_daily_data",
			Arguments: `{"select":[{"function":"avg","field":"steps"},{"function":"count","field":"timestamp"}]}`,
		},
		{Title: "Neither fields nor select.", Tool: sleep, Arguments: `{}`},
		{Title: "Both of them.", Tool: sleep, Arguments: `{"fields":["awakenings"],"select":[{"function":"max","field":"awakenings"}]}`},
		{Title: "A list without IN.", Tool: sleep, Arguments: where(`{"field":"start_time","operator":"GT","value":["2025-11-12"]}`)},
		{Title: "An IN of nothing.", Tool: sleep, Arguments: where(`{"field":"start_time","operator":"IN","value":[]}`)},
		{Title: "A timestamp that is none.", Tool: sleep, Arguments: where(`{"field":"start_time","operator":"LT","value":"yesterday"}`)},
		{
			Title: "A list for a field that is no timestamp.", Tool: sleep,
			Arguments: where(`{"field":"awakenings","operator":"IN","value":[1,2]}`),
		},
		{Title: "An and of nothing.", Tool: sleep, Arguments: where(`{"and":[]}`)},
		{Title: "An or of nothing.", Tool: sleep, Arguments: where(`{"or":[{}]}`)},
		{Title: "A not of nothing.", Tool: sleep, Arguments: where(`{"not":{}}`)},
		{Title: "A field that the tool does not have, of which the contract says nothing.", Tool: sleep, Arguments: `{"fields":["steps"]}`},
	}
}

// sessions are calls that fail before they come to a tool, and on the way to it.
func (s *System) sessions() []systems.Scene {
	scene := func(title, user string, header http.Header) systems.Scene {
		entrance := s.entrance(user, header)
		return systems.Scene{Title: title, Tool: sleep, Arguments: `{"fields":["awakenings"]}`, Entrance: &entrance}
	}
	good := s.Entrance().Header
	return []systems.Scene{
		scene("Half of the credentials.", Ada, http.Header{devIDHeader: {DevID}}),
		scene("A wrong API key.", Ada, http.Header{devIDHeader: {DevID}, keyHeader: {"another"}}),
		scene("No user in the path.", "", good),
		scene("A user id that is no UUID.", "alice", good),
		scene("A user of another developer.", foreignUser, good),
		scene("The directory of users cannot be read.", brokenUser, good),
		scene("No MCP server is configured for the user's region.", lostUser, good),
		scene("The MCP server of the user's region is down.", downUser, good),
		scene("The MCP server of the user's region never answers.", silentUser, good),
		scene("A proxy on the way loses the user.", legacyUser, good),
	}
}
