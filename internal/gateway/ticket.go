package gateway

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"time"

	"github.com/recoursehq/recourse/internal/seal"
	"github.com/recoursehq/recourse/internal/wire"
)

// A ticket is a session id that says, sealed, what the session is. A gateway that has been restarted, or another replica,
// makes the session of it and goes on; see session_keys in the configuration. It opens for the caller and the server that
// it was made for.
type ticket struct {
	issued time.Time
	server string // the server's id of the session
	place  uint64 // where it is known by that; 0: in one process only
	open   []byte // the client's initialize request, or its key in Redis
}

const (
	// ticketMark begins the id of a session that is a ticket.
	ticketMark = "rt1."
	// maxTicket is how long a ticket is at most: servers and proxies bound their headers.
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
	packed, _ := flate.NewWriter(&text, flate.BestSpeed)                // fails for other levels only
	head := binary.BigEndian.AppendUint64(nil, uint64(t.issued.Unix())) //nolint:gosec // it is after 1970
	head = binary.BigEndian.AppendUint64(head, t.place)
	head = binary.BigEndian.AppendUint16(head, uint16(len(t.server))) //nolint:gosec // as above
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
	t.issued = time.Unix(int64(binary.BigEndian.Uint64(text)), 0) //nolint:gosec // as above
	t.place = binary.BigEndian.Uint64(text[8:])
	size, rest := int(binary.BigEndian.Uint16(text[16:])), text[18:]
	if size > len(rest) {
		return t, false
	}
	t.server, t.open = string(rest[:size]), rest[size:]
	return t, time.Since(t.issued) < ticketAge
}

// ticketPurpose says what a ticket is for: one caller at one server.
func (c *call) ticketPurpose() []byte {
	return append([]byte("session "+c.on.Name+" "), c.who.owner[:]...)
}

// ticketPlace names the place of the target's sessions to other processes; 0: they cannot know it.
func (to *target) ticketPlace() uint64 {
	if to.URL == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(to.URL))
	return binary.BigEndian.Uint64(sum[:])
}

// ticket returns the id of the session that has been opened at the server, and the key of its initialize request if that is kept
// in Redis. The id is "" if it cannot be a ticket.
func (c *call) ticket(serverID string) (id, key string) {
	if c.table.sealer == nil {
		return "", ""
	}
	t := ticket{issued: time.Now(), server: serverID, place: c.to.ticketPlace(), open: c.req.body}
	if id = t.seal(c.table.sealer, c.ticketPurpose()); id == "" {
		return c.longTicket(t)
	}
	return id, ""
}

// adopt returns the session that a ticket of another process names, or nil. Its headers are those of the request: the
// credentials among them are the same, or the ticket would not open.
func (c *call) adopt(id string) *session {
	t, ok := openTicket(id, c.table.sealer, c.ticketPurpose())
	if !ok {
		return nil
	}
	key, ok := c.readOpening(&t)
	if !ok {
		return nil
	}
	m := wire.BorrowMessage()
	defer m.Return()
	if wire.Parse(t.open, m) != nil {
		return nil
	}
	s := &session{id: id, of: c.who.owner, upstream: t.server, open: t.open, openID: m.ID.Clone(), key: key}
	if t.place != 0 && t.place == c.to.ticketPlace() {
		s.place = c.to.place
	}
	s.header = c.keptHeader()
	s.header.Del(wire.HeaderSession)
	s.header.Del(wire.HeaderVersion) // initialize has none
	s.header["Content-Type"] = []string{wire.TypeJSON}
	return c.on.sessions.adopt(s)
}

// adopt keeps a session of a ticket, unless its client has ended it. It returns the one that is known by that id already,
// if there is one.
func (t *sessions) adopt(s *session) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.byID.Get(s.id); ok {
		return known
	}
	if _, ended := t.ended.Peek(sha256.Sum256([]byte(s.id))); ended {
		return nil
	}
	t.byID.Keep(s.id, s, len(s.id)+len(s.upstream)+len(s.open)+wire.HeaderSize(s.header))
	return s
}
