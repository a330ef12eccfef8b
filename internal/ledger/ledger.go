package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"
)

// Recorder takes records. Append may be called by any number of goroutines, and does not wait for a disk. A controller without a ledger
// has a nil Recorder, and should not prepare records then.
type Recorder interface {
	// Append adds a record. The caller sets the contents and the kind, and does not change them afterwards; Seq, Time and Version are set
	// here.
	Append(Record)
}

// Sink takes encoded records, in their order, to a place that is slow. No method waits.
type Sink interface {
	// Offer takes a record, or drops it and returns false.
	Offer(seq uint64, line []byte) bool
	// TakeLost returns how many records that Offer took could not be kept, and forgets them.
	TakeLost() uint64
}

// Ledger keeps records in memory, and passes them on to a Sink. It is safe for concurrent use.
type Ledger struct {
	now    func() time.Time
	report Reporter

	mu   sync.Mutex
	seq  uint64
	ring ring
	sink Sink
	// begun is set by Begin; held are the records that were appended before.
	begun bool
	held  []Record
	// lost are the records that the sink did not take, since the last one that it took.
	lost uint64
}

// Reporter hears about records, for metrics. All methods are called with a lock held and must not call the Ledger.
type Reporter interface {
	// Appended is called for each record, with its size in bytes.
	Appended(kind Kind, bytes int)
	// Kept is the size of the records in memory, and the number of those that were dropped from it since the last call.
	Kept(bytes int64, dropped int)
	// Failed is called for a record that cannot be encoded.
	Failed(kind Kind, err error)
}

// New returns an empty Ledger that keeps at most so many bytes of records in memory; 0 keeps none there. now is the clock of the
// controller; report may be nil.
func New(now func() time.Time, memory int64, report Reporter) *Ledger {
	if report == nil {
		report = silent{}
	}
	return &Ledger{now: now, report: report, ring: ring{limit: memory}}
}

// Begin begins a term as leader: it appends start, and then the records that were appended before, which wait until then. All records
// go to sink as well, unless it is nil; next is the first free number there.
func (l *Ledger) Begin(start Start, sink Sink, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.sink, l.lost, l.seq = true, sink, 0, max(l.seq, next-1)
	l.append(Record{Time: l.now(), Kind: KindStart, Start: &start})
	for _, r := range l.held {
		l.append(r)
	}
	l.held = nil
}

// Append implements Recorder.
func (l *Ledger) Append(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Time = l.now()
	if !l.begun {
		l.held = append(l.held, r)
		return
	}
	l.append(r)
}

func (l *Ledger) append(r Record) {
	l.seq++
	r.Version, r.Seq, r.Time = Version, l.seq, r.Time.UTC()
	if l.sink != nil {
		l.lost += l.sink.TakeLost()
		r.Lost = l.lost
	}
	line, err := encode(&r)
	if err != nil {
		l.report.Failed(r.Kind, err)
		return
	}
	l.report.Appended(r.Kind, len(line))
	if l.sink != nil {
		if l.sink.Offer(r.Seq, line) {
			l.lost = 0
		} else {
			l.lost++
		}
	}
	dropped := l.ring.add(entry{seq: r.Seq, time: r.Time, kind: r.Kind, line: line})
	l.report.Kept(l.ring.bytes, dropped)
}

// maxRecord is the most bytes of an encoded record.
const maxRecord = 1 << 20

// encode returns a record as one line of JSON without a line break, cut to maxRecord.
func encode(r *Record) ([]byte, error) {
	for {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encoding a record of kind %q: %w", r.Kind, err)
		}
		if len(line) <= maxRecord || !cut(r) {
			return line, nil
		}
	}
}

// Known returns a price for a record: nil unless it is known and a number.
func Known(price float64, known bool) *float64 {
	if !known || math.IsNaN(price) || math.IsInf(price, 0) {
		return nil
	}
	return &price
}

// silent is a Reporter that ignores everything.
type silent struct{}

// Appended implements Reporter.
func (silent) Appended(Kind, int) {}

// Kept implements Reporter.
func (silent) Kept(int64, int) {}

// Failed implements Reporter.
func (silent) Failed(Kind, error) {}
