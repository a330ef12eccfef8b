package screen

import (
	"testing"
	"time"
)

// maxFrame is how long a frame may take: 60 of them fit in a second.
const maxFrame = 16 * time.Millisecond

// BenchmarkFrame moves the cursor in a fleet of 5 000 nodes and draws the screen.
func BenchmarkFrame(b *testing.B) {
	s := start(&testing.T{}, &fakeSource{nodes: 5000}, 200, 50)
	for b.Loop() {
		s.press("j")
		_ = s.View()
	}
}

// BenchmarkDocument takes in a new document of 5 000 nodes, with an order and a filter.
func BenchmarkDocument(b *testing.B) {
	s := start(&testing.T{}, &fakeSource{nodes: 5000}, 200, 50)
	s.press("s", "s", "s", "/")
	s.typed("team=shop")
	fleet := *s.docs.fleet
	for b.Loop() {
		s.send(documentMsg{tab: nodesTab, document: fleet, at: noon()})
		_ = s.View()
	}
}

func TestAFrameOf5000NodesIsFast(t *testing.T) {
	s := start(t, &fakeSource{nodes: 5000}, 200, 50)
	best := time.Hour
	for range 20 {
		begin := time.Now()
		s.press("pgdown")
		_ = s.View()
		best = min(best, time.Since(begin))
	}
	limit := maxFrame
	if raceDetector {
		limit *= 10
	}
	if best > limit {
		t.Errorf("a frame takes %v, longer than %v", best, limit)
	}
}
