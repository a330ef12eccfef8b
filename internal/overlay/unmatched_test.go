package overlay_test

import (
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// TestOverlaysThatMatchNothingAreNamed: a mistyped value is valid, and changes nothing.
func TestOverlaysThatMatchNothingAreNamed(t *testing.T) {
	for _, c := range []struct {
		name      string
		parts     []part
		unmatched bool
	}{
		{"a type that exists", []part{price("1"), typed("small")}, false},
		{"a type that does not exist", []part{price("1"), typed("huge")}, true},
		{"a NodePool that does not exist", []part{price("1"), inPool("wbe")}, true},
		{"a type that exists, without a change", []part{typed("small")}, false},
		{"a zone that does not exist", []part{price("1"), typed("small"), zone("z")}, true},
	} {
		pools := []overlay.Pool{pool("web", nil, instanceType("small"), instanceType("large"))}
		_, results := overlay.Evaluate(overlays(named("o", c.parts...)), pools, v1.CoreLabelRules())
		if got := results[0]; got.Reason != "" || got.Unmatched != c.unmatched {
			t.Errorf("%s: %+v, want unmatched to be %v", c.name, got, c.unmatched)
		}
	}
}
