package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestReplacementForOtherPods: the price of a replacement that is for pending pods as well is not that of the node's pods.
func TestReplacementForOtherPods(t *testing.T) {
	q := shop(t, full, free, small("front-1"), change("small", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	got, err := AboutNode(t.Context(), q, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	const want = `  Underutilized: blocked: can't replace with a cheaper node
    it costs $0.1086/h, what could replace it at least $0.2172/h: $0.1086 too much; the replacement would also be for shop/medium (pending), and its price includes that
    what would help: Let the NodePool use instance types that cost less than the node. Or wait until the other pods have a place: the answer depends on them.
`
	if text := got.Text(); !strings.HasSuffix(text, want) {
		t.Errorf("got:\n%s\nwant at the end:\n%s", text, want)
	}
	plan := Plan{Decision: "replace", Replacements: []string{"c-8x"}, AlsoFor: []string{"shop/medium"}, SavesPerHour: new(float64)}
	if text := plan.String(); text != "be replaced by c-8x (which would also be for other pods that need a node: shop/medium), saving $0.0000/h," {
		t.Error(text)
	}
}
