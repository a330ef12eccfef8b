package machineinstance

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestDeletions checks that one of many deletions of a name begins, until it ends.
func TestDeletions(t *testing.T) {
	var d deletions
	d.end("a") // the zero value can be used
	for round := range 2 {
		var begun atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if d.begin("a") {
					begun.Add(1)
				}
			})
		}
		all.Wait()
		if got := begun.Load(); got != 1 {
			t.Errorf("round %d: %d deletions began", round, got)
		}
		if !d.begin("b") {
			t.Errorf("round %d: the deletion of another name does not begin", round)
		}
		d.end("b")
		if d.begin("a") {
			t.Errorf("round %d: the end of another deletion ends this one", round)
		}
		d.end("a")
	}
}
