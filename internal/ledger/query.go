package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Filter selects records. The zero value selects all.
type Filter struct {
	// Since and Until bound the time of records: not before Since, and before Until. A zero time is no bound.
	Since, Until time.Time
	// After selects records with greater numbers only.
	After uint64
	// Kinds are the kinds to select; empty for all.
	Kinds []Kind
	// Node, NodePool and NodeClaim are names of objects that records must mention; empty for any. A record mentions a node also by its
	// NodeClaim, and the reverse.
	Node, NodePool, NodeClaim string
}

// cheap reports whether the filter may select a record with this number, time and kind.
func (f Filter) cheap(seq uint64, at time.Time, kind Kind) bool {
	return seq > f.After && !at.Before(f.Since) && (f.Until.IsZero() || at.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind))
}

// named reports whether the filter asks for names, so that records have to be decoded.
func (f Filter) named() bool { return f.Node != "" || f.NodePool != "" || f.NodeClaim != "" }

// Decode reads a record.
func Decode(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("reading a record: %w", err)
	}
	if r.Version > Version {
		return Record{}, fmt.Errorf("reading record %d: its version is %d, and this program knows up to %d", r.Seq, r.Version, Version)
	}
	return r, nil
}

// Coverage says which records there are, and what is missing among them.
type Coverage struct {
	// First and Last are the numbers of the oldest and the newest record; 0 if there is none. Oldest is the time of the first.
	First  uint64    `json:"first"`
	Last   uint64    `json:"last"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Dropped is the number of records that were appended in this run and are not in memory any more.
	Dropped uint64 `json:"dropped,omitempty"`
	// Lost is the number of records that could not be written to disk and are missing, and Unreadable what cannot be read there, as sentences. Both
	// are of records in a directory.
	Lost       uint64   `json:"lost,omitempty"`
	Unreadable []string `json:"unreadable,omitempty"`
}

// Read returns the encoded records that the filter selects, oldest first, and what there is. The lines are shared and must not be changed.
func (l *Ledger) Read(f Filter) ([]json.RawMessage, Coverage, error) {
	l.mu.Lock()
	entries, cover := l.ring.list(), Coverage{Dropped: l.ring.dropped}
	l.mu.Unlock()
	if len(entries) > 0 {
		cover.First, cover.Last, cover.Oldest = entries[0].seq, entries[len(entries)-1].seq, entries[0].time
	}
	names := namesOf(f)
	if f.named() {
		for _, e := range entries {
			if e.kind == KindNodeClaim || e.kind == KindFleet {
				r, err := Decode(e.line)
				if err != nil {
					return nil, cover, err
				}
				names.learn(&r)
			}
		}
	}
	out := []json.RawMessage{}
	for _, e := range entries {
		if !f.cheap(e.seq, e.time, e.kind) {
			continue
		}
		if f.named() {
			r, err := Decode(e.line)
			if err != nil {
				return nil, cover, err
			}
			if !names.in(&r) {
				continue
			}
		}
		out = append(out, e.line)
	}
	return out, cover, nil
}

// Select returns the records that the filter selects, in their order.
func Select(records []Record, f Filter) []Record {
	names := namesOf(f)
	for i := range records {
		names.learn(&records[i])
	}
	var out []Record
	for i := range records {
		r := &records[i]
		if f.cheap(r.Seq, r.Time, r.Kind) && (!f.named() || names.in(r)) {
			out = append(out, *r)
		}
	}
	return out
}
