package contract

import (
	"slices"

	"github.com/recoursehq/recourse/internal/contractform"
)

// members reads what is said of the wire object's members.
func (k *compiler) members() {
	for _, m := range k.file.Members {
		doc := contractform.Member{Name: m.Key, Present: m.Value.Present, Doc: m.Value.Doc}
		if known := k.c.memberNames(); !slices.Contains(known, m.Key) {
			k.reportf(k.file.Node.Get("members").Key(m.Key), nearestHint(m.Key, known), "the object has no member `%s`", m.Key)
		}
		if m.Value.Absent != nil {
			k.c.silence = m.Value.Absent
			if !k.c.layout.shape.decides(m.Key) {
				k.reportf(k.file.Node.Get("members").Get(m.Key).Key("absent"), "remove it", "`absent` is for the member of `retryable`")
			}
		}
		i := slices.IndexFunc(k.c.members, func(inherited contractform.Member) bool { return inherited.Name == m.Key })
		if i < 0 {
			k.c.members = append(k.c.members, doc)
		} else {
			k.c.members[i] = doc
		}
	}
}

// decides reports whether the member of that name is the boolean that says whether to
// repeat the call.
func (sh *shape) decides(name string) bool {
	return sh != nil && slices.ContainsFunc(sh.members, func(m shapeMember) bool {
		return m.name == name && m.path != nil && m.path.isRetryable()
	})
}
