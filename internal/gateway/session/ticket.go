package session

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/seal"
)

// A ticket is a session id that describes the session in sealed form. A gateway that has been restarted, or
// another replica, restores the session from it and continues; see session_keys in the configuration. It is
// only valid for the caller and the server that it was made for.
type ticket struct {
	issued time.Time
	server string // the server's id of the session
	place  uint64 // where it is known by that; 0: in one process only
	open   []byte // the client's initialize request, or its key in Redis
}

const (
	// ticketMark is the prefix of a session id that is a ticket.
	ticketMark = "rt1."
	// maxTicket limits the length of a ticket: servers and proxies limit their headers.
	maxTicket = 4 << 10
	// ticketAge is how long a ticket counts. A client whose ticket is too old initializes a new session.
	ticketAge = 7 * 24 * time.Hour
)

// seal returns the session id; "" if it would be too long for a header.
func (t *ticket) seal(by *seal.Sealer, purpose []byte) string {
	if len(t.server)+len(t.open) > maxOpening {
		return ""
	}
	var text bytes.Buffer
	packed, _ := flate.NewWriter(&text, flate.BestSpeed) // fails for other levels only
	head := binary.BigEndian.AppendUint64(nil, uint64(t.issued.Unix()))
	head = binary.BigEndian.AppendUint64(head, t.place)
	head = binary.BigEndian.AppendUint16(head, uint16(len(t.server)))
	for _, part := range [][]byte{head, []byte(t.server), t.open} {
		_, _ = packed.Write(part) // a buffer takes everything
	}
	_ = packed.Close()
	sealed := by.Seal(text.Bytes(), purpose)
	if len(sealed) > maxTicket {
		return ""
	}
	return ticketMark + sealed
}

// openTicket returns what a session id says, if it is a ticket for that purpose and not too old.
func openTicket(id string, by *seal.Sealer, purpose []byte) (t ticket, ok bool) {
	if by == nil || len(id) > len(ticketMark)+maxTicket || len(id) < len(ticketMark) || id[:len(ticketMark)] != ticketMark {
		return t, false
	}
	packed, err := by.Open(id[len(ticketMark):], purpose)
	if err != nil {
		return t, false
	}
	// What opens was made by a gateway with the key, so that it is whole.
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 2*maxOpening))
	if err != nil || len(text) < 18 {
		return t, false
	}
	t.issued = time.Unix(int64(binary.BigEndian.Uint64(text)), 0)
	t.place = binary.BigEndian.Uint64(text[8:])
	size, rest := int(binary.BigEndian.Uint16(text[16:])), text[18:]
	if size > len(rest) {
		return t, false
	}
	t.server, t.open = string(rest[:size]), rest[size:]
	return t, time.Since(t.issued) < ticketAge
}
