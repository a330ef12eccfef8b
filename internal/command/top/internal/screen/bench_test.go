package screen

import "testing"

// BenchmarkFrame moves the cursor in a fleet of 5 000 nodes and draws the screen. 16 ms would be 60 frames in a second.
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
