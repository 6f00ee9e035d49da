package wire_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// prose is text as tools return it: words, lines, some quotes.
func prose(n int) string {
	const line = `The field \"North 40\" was planted on 2026-04-17 with corn, 34 kernels a square metre.\n`
	return strings.Repeat(line, n/len(line)+1)
}

func answer1KB() []byte {
	return []byte(`{"result":{"content":[{"type":"text","text":"` + prose(860) +
		`"}],"structuredContent":{"ok":true,"fields":[{"id":"f-1","acres":40.25}]}},"jsonrpc":"2.0","id":17}`)
}

func request1KB() []byte {
	return []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"order_create","arguments":` +
		`{"customer":"c-1","lines":[{"sku":"A-1","count":2},{"sku":"A-2","count":1}],"note":"` + prose(700) +
		`"},"_meta":{"progressToken":17,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

func BenchmarkScan1KB(b *testing.B) {
	text := answer1KB()
	var s wire.Scanner
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		if _, err := s.Write(text); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse1KB(b *testing.B) {
	text := request1KB()
	var m wire.Message
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := wire.Parse(text, &m); err != nil {
			b.Fatal(err)
		}
	}
}
