package demo

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The picture in the README is up to date with the demonstration.
func TestPictureIsFresh(t *testing.T) {
	t.Parallel()
	drawn, err := picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contracttest.Golden(t, filepath.Join("..", "..", "..", "docs", "demo.svg"), string(drawn))
}

// inPicture are the scenes that the picture shows.
var inPicture = []string{
	"The server answers one 503; a moment later it would be well.",
	"The server limits requests and says for how long.",
	sceneInsists,
	sceneAsks,
}

// picture makes the calls of the demonstration and draws some of them, as SVG.
func picture(ctx context.Context) ([]byte, error) {
	var all []shown
	s := &Show{
		Out: io.Discard, Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar), Listen: "127.0.0.1:0", Once: true,
		saw: func(this shown) { all = append(all, this) },
	}
	if err := s.Gateway(ctx); err != nil {
		return nil, err
	}
	var shown []shown
	for _, title := range inPicture {
		for _, this := range all {
			if this.title == title {
				shown = append(shown, this)
			}
		}
	}
	if len(shown) != len(inPicture) {
		return nil, fmt.Errorf("the demonstration has %d of the %d scenes of the picture", len(shown), len(inPicture))
	}
	return draw(shown), nil
}

// Measures of the picture, in its own units.
const (
	pictureWidth = 1000
	columns      = 54 // of a text on either side
	lineHeight   = 20
	margin       = 24
	middle       = pictureWidth/2 + margin/2
)

// A sheet is a picture that is being drawn, from top to bottom.
type sheet struct {
	b bytes.Buffer
	y int // the base line of the last text
}

// draw draws the scenes one below the other; each shows what an agent sees without and with Recourse, side by side.
func draw(scenes []shown) []byte {
	s := &sheet{y: 36}
	s.text(margin, "head bad", "without Recourse")
	s.text(middle, "head good", "with Recourse")
	for _, this := range scenes {
		s.y += 2 * lineHeight
		s.line(s.y - lineHeight - 4)
		s.text(margin, "title", this.title)
		s.y += lineHeight
		s.text(margin, "call", this.call)
		s.y += 4
		top := s.y
		s.block(margin, "bad", this.without)
		left := s.y
		s.y = top
		s.block(middle, "good", this.with)
		s.y = max(left, s.y)
	}
	height := s.y + margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-size="14" `+
		`font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">`+"\n", pictureWidth, height)
	b.WriteString("<title>What an agent sees of four calls, without and with Recourse</title>\n" +
		"<style>.title{fill:#e6edf3;font-weight:bold}.call{fill:#8b949e}.head{font-size:16px;font-weight:bold}" +
		".bad{fill:#ff9b8e}.good{fill:#7ee787}</style>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="10" fill="#0d1117"/>`+"\n", pictureWidth, height)
	b.Write(s.b.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (s *sheet) line(y int) {
	fmt.Fprintf(&s.b, `<path d="M%d %dH%d" stroke="#30363d"/>`+"\n", margin, y, pictureWidth-margin)
}

func (s *sheet) text(x int, class, text string) {
	fmt.Fprintf(&s.b, `<text x="%d" y="%d" class="%s" xml:space="preserve">`, x, s.y, class)
	_ = xml.EscapeText(&s.b, []byte(text)) // writing to a buffer never fails
	s.b.WriteString("</text>\n")
}

func (s *sheet) block(x int, class, text string) {
	for line := range strings.Lines(text) {
		for _, part := range wrap(strings.TrimRight(line, "\n"), columns) {
			s.y += lineHeight
			s.text(x, class, part)
		}
	}
}
