package terra

import (
	"net/http"

	"github.com/recoursehq/recourse/systems"
)

const sleep = "get_sleep_data"

// Scenes returns a call that works, and then one for each failure of the contract that is possible over HTTP.
func (s *System) Scenes() []systems.Scene {
	where := func(condition string) string {
		return `{"fields":["start_time","awakenings"],"where":` + condition + `}`
	}
	query := func(title, arguments string) systems.Scene {
		return systems.Scene{Title: title, Tool: sleep, Arguments: arguments}
	}
	at := func(title, user string, header http.Header) systems.Scene {
		entrance := s.entrance(user, header)
		return systems.Scene{Title: title, Tool: sleep, Arguments: `{"fields":["awakenings"]}`, Entrance: &entrance}
	}
	good := s.Entrance().Header
	return []systems.Scene{
		query("A query that works.", where(`{"and":[{"field":"start_time","operator":"GTE","value":"2025-11-12"},`+
			`{"not":{"field":"awakenings","operator":"GT","value":3}}]}`)),
		query("An invalid timestamp.", where(`{"field":"start_time","operator":"LT","value":"yesterday"}`)),
		at("A wrong API key.", Ada, http.Header{devIDHeader: {DevID}, keyHeader: {"another"}}),
		at("The MCP server of the user's region is down.", downUser, good),
		at("A proxy on the way loses the user.", legacyUser, good),

		query("Neither fields nor select.", `{}`),
		query("Both of them.", `{"fields":["awakenings"],"select":[{"function":"max","field":"awakenings"}]}`),
		query("A list without IN.", where(`{"field":"start_time","operator":"GT","value":["2025-11-12"]}`)),
		query("An IN of nothing.", where(`{"field":"start_time","operator":"IN","value":[]}`)),
		query("A list for a field that is not a timestamp.", where(`{"field":"awakenings","operator":"IN","value":[1,2]}`)),
		query("An and of nothing.", where(`{"and":[]}`)),
		query("An or of nothing.", where(`{"or":[{}]}`)),
		query("A not of nothing.", where(`{"not":{}}`)),
		query("A field that the tool does not have, of which the contract says nothing.", `{"fields":["steps"]}`),

		at("Half of the credentials.", Ada, http.Header{devIDHeader: {DevID}}),
		at("No user in the path.", "", good),
		at("A user id that is not a UUID.", "alice", good),
		at("A user of another developer.", foreignUser, good),
		at("The directory of users cannot be read.", brokenUser, good),
		at("No MCP server is configured for the user's region.", lostUser, good),
		at("The MCP server of the user's region never answers.", silentUser, good),
		at("A proxy in front of the MCP server of the user's region answers 502.", brokerUser, good),
		at("The MCP server of the user's region answers 503.", busyUser, good),
	}
}
