package contract_test

import (
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// A text that tells what was done, before or after it tells of the failure, leaves the effect open, whatever the failure is.
func TestWhatWasDoneLeavesTheEffectOpen(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Inserted 40 rows before the connection was refused: ECONNREFUSED", "The page was updated, but the comment failed: 403 Forbidden",
		"Saved. Then connection refused",
		"created order 17, notification failed: ECONNREFUSED",
		"2 of 3 uploaded; getaddrinfo ENOTFOUND files.example",
		"Order 17 was created, but the mail server could not be reached",
		"deployment.apps/web configured\nError from server (Conflict): x",
		"Successfully uploaded 2 files. Error: connect ECONNREFUSED",
		"Failed after creating the order: ECONNREFUSED",
		"3 succeeded, 1 failed: ECONNREFUSED",
		"ECONNREFUSED 10.0.0.1:25 (order A-17 was created)",
		"Uploaded 2/3 files\nError: EACCES",
		"Payment captured. Failed to update the order's status: the order is locked",
		"The repo was cloned but checkout of branch dev failed: branch not found",
		"Step 1/3 done. Step 2/3 failed: missing parameter 'region'",
		"Appended 10 lines, but the file is too large to format",
		"We have saved the draft; publishing failed: 403",
		"Error: connect ECONNREFUSED. 5 rows were inserted.",
		"Invoice created - sending failed: getaddrinfo ENOTFOUND",
		"File saved but permission denied for chmod",
		"Payment charged; receipt not found",
		"Deleted 3 of 5 files: EACCES: permission denied, unlink '/x'",
		"Order placed. Rate limit exceeded",
		"Ticket PROJ-1 created successfully, however: 401 Unauthorized",
		"Message sent to 2 of 3 channels; channel_not_found",
		"Wrote 100 bytes, then ENOSPC",
		"1 row inserted, then connection refused",
		"Step 1 completed; step 2: connection refused",
	} {
		if e := readText(t, text); e.Effect != recourse.EffectUnknown && e.Kind != recourse.KindUnknown {
			t.Errorf("%q is read as %s with effect %q", text, e.Kind, e.Effect)
		}
	}
}

// Words for work that was not done, has to be, was done by others, or that are names, say nothing of the kind.
func TestWhatWasNotDoneLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"nothing was saved: connection refused",
		"The order could not be created: ECONNREFUSED",
		"Order was not created. connect ECONNREFUSED",
		"0 of 3 uploaded; getaddrinfo ENOTFOUND",
		"No files were uploaded: connection refused",
		"Created date is invalid: x",
		"created_at: must be a date",
		"Label was already created: conflict",
		"updated field is required, x",
		"The resource was created by another user: conflict",
		"Error: connect ECONNREFUSED 10.0.0.1:5432",
		"Issue was deleted: not found",
		"The object has been modified; please apply your changes to the latest version and try again",
		"Email must be sent: x",
		"Session must be created first. ECONNREFUSED",
		"Failed to create order: ECONNREFUSED",
		"Order not saved; connection refused",
		"The file was saved by somebody else, conflict",
		"No results found for \"saved. created\"",
		"Message was deleted. Not found",
		"Your request could not be completed: 503",
		"The operation was cancelled: x",
		"Connection closed: x",
		"Access denied, x",
		"stopped",
		"expected created, got x",
		"Unable to connect. No changes were applied.",
		"Please check that the project is created: not found",
		"User is not registered: x",
		"Rate limit exceeded, retry after 30 s",
		"Too many requests sent; slow down",
		"Requests were sent too quickly: rate limit",
		"Request failed with status code 409: x",
		"unknown field created, expected id",
		"Charge ch_1 has already been refunded.",
		"Your message wasn't sent: connection refused",
		"Failed: nothing sent, connection refused",
		"Missing scope: repo, created",
		"Repository moved: not found",
		"Host key changed: x",
		"Command finished with exit code 1: x",
		"Process completed with exit code 1.",
		"The transaction was rolled back, no rows inserted: x",
		"Data too long for column, row 1: x",
		"Connection refused. Is the server started?",
		"getaddrinfo ENOTFOUND created.example",
		"Error processing order; connection refused",
		"Token expired, created 5 days ago",
		"The index was created with another version; x",
		"user is not allowed to view added items: 403",
		"ENOENT: no such file or directory, open '/x/saved.json'",
		"Too many emails sent today: quota",
		"Daily limit of 100 emails sent: x",
		"Access restricted, added to blocklist",
		"0 rows inserted, connection refused",
		"0 succeeded, 3 failed: ECONNREFUSED",
		"Task finished, exit code 1",
		"Error: The following fields have been changed: a",
		"not found: queue created-items",
		"All files must be uploaded, x",
		"Dataset acme:a was not found in location US",
	} {
		if e := readText(t, text); e.Effect == recourse.EffectUnknown {
			t.Errorf("%q is read as %s, in doubt", text, e.Kind)
		}
	}
}

func readText(t *testing.T, text string) *recourse.Error {
	t.Helper()
	reading, _ := (&contract.Reader{}).Result(textResult(t, text, true))
	return reading.Error()
}

// Where a sentence says what failed and then why, the reason counts: waiting does not renew a certificate or find a model.
func TestTheReasonCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		kind  recourse.Kind
		retry recourse.Retry
	}{
		"Cannot connect to the press: certificate verify failed":                     {recourse.KindUnreachable, recourse.RetryAfterSetup},
		"Cannot connect to host api.example:443 ssl:True [SSLCertVerificationError]": {recourse.KindUnreachable, recourse.RetryAfterSetup},
		"fetch failed: self-signed certificate in certificate chain":                 {recourse.KindUnreachable, recourse.RetryAfterSetup},
		"cannot connect to model: model not found":                                   {recourse.KindNotFound, recourse.RetryAfterFix},
		"unable to reach: 401":                                                    {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Failed to connect to the mill: 403":                                      {recourse.KindPermissionDenied, recourse.RetryNever},
		"Could not connect to server: PRESS_API_KEY is not set":                   {recourse.KindUnauthenticated, recourse.RetryAfterSetup},
		"Unable to connect to the database: PRESS_TOKEN is not set":               {recourse.KindUnauthenticated, recourse.RetryAfterSetup},
		"SSH connection error: All configured authentication methods failed":      {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"connection to server at \"db\" failed: database \"mill\" does not exist": {recourse.KindNotFound, recourse.RetryAfterFix},
		"Could not connect to the database: timed out":                            {recourse.KindTimeout, recourse.RetrySameCall},
		"Could not connect to the press. Make sure that it must not sleep":        {recourse.KindUnreachable, recourse.RetrySameCall},
		"Could not connect to the press. Please check: the plug is required":      {recourse.KindUnreachable, recourse.RetrySameCall},
		"Error executing code: Could not connect to Blender":                      {recourse.KindUnreachable, recourse.RetrySameCall},
	} {
		if e := readText(t, text); e.Kind != want.kind || e.WithEffect("").RetryAdvice() != want.retry {
			t.Errorf("%q is read as %s, %s", text, e.Kind, e.RetryAdvice())
		}
	}
}

// Codes of services in the sentences of servers that put their own words before them.
func TestCodesBehindSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recourse.Kind{
		"Failed to post message: channel_not_found":      recourse.KindNotFound,
		"Failed to get users: missing_scope":             recourse.KindMissingScope,
		"Error: not_in_channel":                          recourse.KindPermissionDenied,
		"Directions request failed: NOT_FOUND":           recourse.KindNotFound,
		"Elevation request failed: INVALID_REQUEST":      recourse.KindInvalidValue,
		"Geocoding failed: ZERO_RESULTS":                 recourse.KindNoMatch,
		"Distance matrix failed: OVER_QUERY_LIMIT":       recourse.KindRateLimited,
		"Place search failed: REQUEST_DENIED":            recourse.KindUnauthenticated,
		"Kubeconfig not found at ~/.kube/config":         recourse.KindInvalidState,
		"Kubernetes configuration not found":             recourse.KindInvalidState,
		"You must specify a region.":                     recourse.KindInvalidState,
		"net::ERR_ABORTED at https://mill.example/a.zip": recourse.KindInvalidState,
		"Request failed: The press is odd":               recourse.KindUnknown,
		"Failed to press: Stuck":                         recourse.KindUnknown,
	} {
		e := readText(t, text)
		if e.Kind != want || e.Kind == recourse.KindUnknown && e.Upstream.Code != "" {
			t.Errorf("%q is read as %s, code %q", text, e.Kind, e.Upstream.Code)
		}
	}
}
