package openapi_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// large returns a description as large as the largest public one, GitHub's: 1,223 operations, 900 schemas with cyclic
// references, and 10 MB of JSON, mostly examples and responses.
func large(yaml bool) []byte {
	var b bytes.Buffer
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Large","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{`)
	for i := range 1223 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n"+`"/repos/{owner}/{repo}/thing%d":{"%s":{"operationId":"things/do-%d","summary":"Does thing %d","tags":["things"],"parameters":[`,
			i, []string{"get", "post", "patch", "delete"}[i%4], i, i)
		b.WriteString(`{"$ref":"#/components/parameters/owner"},{"$ref":"#/components/parameters/repo"},` +
			`{"name":"per_page","in":"query","description":"The number of results per page","schema":{"type":"integer","default":30}}]`)
		if i%4 == 1 || i%4 == 2 {
			fmt.Fprintf(&b, `,"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s%d"}}}}`, i%900)
		}
		fmt.Fprintf(&b, `,"responses":{"200":{"description":"fine","content":{"application/json":{"schema":{"$ref":"#/components/schemas/s%d"},"examples":{"default":{"value":{`, i%900)
		for j := range 120 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n"+`"key%d":"https://api.example.com/repos/owner/repo/%d"`, j, j)
		}
		b.WriteString(`}}}}}}}}}`)
	}
	b.WriteString(`},"components":{"parameters":{"owner":{"name":"owner","in":"path","required":true,"schema":{"type":"string"}},` +
		`"repo":{"name":"repo","in":"path","required":true,"schema":{"type":"string"}}},"schemas":{`)
	for i := range 900 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n"+`"s%d":{"type":"object","properties":{`, i)
		for j := range 40 {
			fmt.Fprintf(&b, "\n"+`"p%d":{"type":"string","nullable":true,"description":"A property of the thing"},`, j)
		}
		fmt.Fprintf(&b, `"next":{"$ref":"#/components/schemas/s%d"},"other":{"$ref":"#/components/schemas/s%d"}}}`, (i+1)%900, (i*7)%900)
	}
	b.WriteString(`}}}`)
	if yaml { // JSON is YAML, but this first line is not JSON
		return append([]byte("# the same\n"), b.Bytes()...)
	}
	return b.Bytes()
}

// largeVariable makes the test binary compile the large description and print the costs.
const largeVariable = "OPENAPI_LARGE"

func TestMain(m *testing.M) {
	if form := os.Getenv(largeVariable); form != "" {
		os.Exit(compileLarge(form == "yaml"))
	}
	m.Run()
}

func compileLarge(yaml bool) int {
	text := large(yaml)
	api, problems := openapi.Compile(text, openapi.Options{Routes: everything})
	if problems != nil || len(api.Tools) != 1223 {
		fmt.Println(problems)
		return 1
	}
	size := len(text)
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	fmt.Println(after.HeapAlloc>>20, size>>20)
	runtime.KeepAlive(api)
	return 0
}

// 1,223 operations are compiled within 5 s of CPU time and 250 MB, and the memory is freed afterwards.
func TestLongLarge(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	for _, form := range []string{"json", "yaml"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), largeVariable+"="+form, "GOMEMLIMIT=200MiB")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var kept, size int
		if _, err := fmt.Sscan(string(out), &kept, &size); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		peak, took := peakOf(cmd.ProcessState), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		t.Logf("%s of %d MB: %s of a processor, %d MB at most, %d MB kept", form, size, took, peak, kept)
		if took > 5*time.Second || peak > 250 || kept > 20 {
			t.Errorf("%s: %s", form, strings.TrimSpace(string(out)))
		}
	}
}
