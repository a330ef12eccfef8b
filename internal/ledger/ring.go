package ledger

import "time"

// entry is an encoded record with what filters ask for most.
type entry struct {
	seq  uint64
	time time.Time
	kind Kind
	line []byte
}

// entryOverhead is about what an entry takes in memory besides its line, in bytes.
const entryOverhead = 96

func (e entry) size() int64 { return int64(len(e.line)) + entryOverhead }

// ring has the newest entries, within a limit in bytes. The newest one is kept even if it alone exceeds the limit, unless that is 0.
type ring struct {
	limit   int64
	entries []entry
	bytes   int64
	dropped uint64
}

// add adds an entry and returns how many old ones were dropped.
func (r *ring) add(e entry) (dropped int) {
	if r.limit <= 0 {
		return 0
	}
	r.entries = append(r.entries, e)
	r.bytes += e.size()
	for dropped < len(r.entries)-1 && r.bytes > r.limit {
		r.bytes -= r.entries[dropped].size()
		r.entries[dropped] = entry{} // free the line now, the array later
		dropped++
	}
	r.entries = r.entries[dropped:]
	r.dropped += uint64(dropped)
	return dropped
}

// list returns the entries, oldest first. The lines are shared and must not be changed.
func (r *ring) list() []entry {
	return append([]entry(nil), r.entries...)
}
