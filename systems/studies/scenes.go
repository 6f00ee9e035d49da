package studies

import "github.com/recoursehq/recourse/systems"

// Scenes returns calls to try, which work in any order.
func (s *System) Scenes() []systems.Scene {
	scenes := []systems.Scene{
		{Title: "A run, not waited for: next_action polls.", Tool: runDispatch, Arguments: `{"study_id":"s-1","country":"FR"}`},
		{Title: "An alias of the wrong kind.", Tool: studyGet, Arguments: `{"study_id":"w-1"}`},
		{Title: "The plan is full.", Tool: studyCreate, Arguments: `{"workspace_id":"w-2","title":"One more"}`},
		{Title: "A write whose answer never comes.", Tool: studyCreate, Arguments: `{"workspace_id":"w-1","title":"Dinner fault-drop"}`},
		{Title: "So the model asks, as it was told to.", Tool: studyGet, Arguments: `{"workspace_id":"w-1"}`},

		{Title: "A run, waited for.", Tool: runDispatch, Arguments: `{"study_id":"s-1","country":"PT","wait":true,"timeout":30}`},
		{Title: "Two ids where one is taken.", Tool: studyGet, Arguments: `{"study_id":"s-1","workspace_id":"w-1"}`},
		{Title: "Nobody is like that.", Tool: runDispatch, Arguments: `{"study_id":"s-1","country":"JP"}`},
		{Title: "The credits are used up.", Tool: runDispatch, Arguments: `{"study_id":"s-2","count":5}`},
		{
			Title: "A video without sound.", Tool: "iteration_create",
			Arguments: `{"study_id":"s-1","stimulus":"a film","media_url":"https://media.example.com/silent.mp4"}`,
		},
		{Title: "An analysis of nothing.", Tool: studyAnalyze, Arguments: `{"study_id":"s-3","wait":true}`},
		{
			Title: "A chatbot that does not answer: no error, so that the agent goes on.", Tool: chatbotSetup,
			Arguments: `{"workspace_id":"w-1","url":"https://mute.example.com/chat"}`,
		},
		{Title: "Whether there is a tunnel to this machine.", Tool: connectStatus, Arguments: `{}`},
	}
	if s.options.Tunnel != cloudflared { // that call would make a tunnel
		scenes = append(scenes, systems.Scene{Title: "A tunnel to this machine.", Tool: connectStart, Arguments: `{"port":3000}`})
	}
	return scenes
}
