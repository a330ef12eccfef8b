package policy

import (
	"hash/fnv"
	"time"
)

// SoftExpiry is how long before their end nodes expire softly.
type SoftExpiry struct {
	Before time.Duration
	// Jitter is the longest delay, which differs between nodes.
	Jitter time.Duration
}

// At is when a node expires softly: one that was created at a moment, lives for life at most, and whose NodeClaim has a name. The jitter
// depends on the name alone, so that every evaluation has the same result. It is false for nodes that live without limit.
//
// A node is never replaced in the first half of its life: its replacement would expire softly at once, and so on.
func (s SoftExpiry) At(created time.Time, life time.Duration, claim string) (time.Time, bool) {
	if life <= 0 {
		return time.Time{}, false
	}
	before := min(s.Before, life/2)
	jitter := min(s.Jitter, before)
	h := fnv.New64a()
	_, _ = h.Write([]byte(claim)) // never fails
	share := float64(h.Sum64()>>11) / (1 << 53)
	return created.Add(life - before + time.Duration(share*float64(jitter))), true
}

// SoftExpiryOf is the soft expiry of pools with these labels: of several policies, that which begins last. It is nil if there is none.
func (s Set) SoftExpiryOf(labels map[string]string) *SoftExpiry {
	var out *SoftExpiry
	for _, p := range s {
		if p.Invalid == "" && p.SoftExpiry != nil && p.Selects(labels) && (out == nil || p.SoftExpiry.Before < out.Before) {
			out = p.SoftExpiry
		}
	}
	return out
}
