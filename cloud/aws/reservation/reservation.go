// Package reservation counts the remaining instances of capacity reservations. EC2 reports them periodically; the package counts
// launches and terminations in between.
//
// Source: AWS provider specification, offerings: reserved capacity.
package reservation

import (
	"maps"
	"sync"
	"time"
)

// forgetAfter is after how long without a description a reservation is forgotten: those of node classes are described every few minutes.
const forgetAfter = 24 * time.Hour

// Ledger counts the remaining instances of each reservation. It is bounded by the reservations that were described within two days. The zero value is empty and ready to use; it is safe for concurrent
// use.
type Ledger struct {
	mu    sync.Mutex
	pages map[string]entry
	// swept is when reservations were forgotten the last time.
	swept time.Time
}

type entry struct {
	left  int
	heard time.Time
}

// Observed stores the capacity left of a reservation as EC2 describes it, and when.
func (l *Ledger) Observed(id string, left int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[string]entry{}
	}
	if now.Sub(l.swept) >= forgetAfter {
		maps.DeleteFunc(l.pages, func(_ string, e entry) bool { return now.Sub(e.heard) >= forgetAfter })
		l.swept = now
	}
	l.pages[id] = entry{left, now}
}

// Launched counts an instance that was launched into a reservation, unless a later description includes it.
func (l *Ledger) Launched(id string, at time.Time) {
	l.change(id, func(p *entry) {
		if !p.heard.After(at) {
			p.left = max(p.left-1, 0)
		}
	})
}

// Ended counts an instance of a reservation that was terminated.
func (l *Ledger) Ended(id string) { l.change(id, func(p *entry) { p.left++ }) }

// Exhausted records that a reservation has no capacity left.
func (l *Ledger) Exhausted(id string) { l.change(id, func(p *entry) { p.left = 0 }) }

// Left is how many more instances a reservation holds; 0 if it is unknown.
func (l *Ledger) Left(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pages[id].left
}

func (l *Ledger) change(id string, change func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.pages[id]; ok {
		change(&p)
		l.pages[id] = p
	}
}
