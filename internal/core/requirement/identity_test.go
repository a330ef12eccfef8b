package requirement

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawSet is a set over a few keys, with the list it was built from.
func drawSet(t *rapid.T, name string) []Requirement {
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 4).Draw(t, name)
	out := make([]Requirement, len(keys))
	for i, key := range keys {
		e := drawEntry(t, name)
		out[i] = New(key, e.op, e.values...).WithMinValues(rapid.IntRange(0, 2).Draw(t, "minValues"))
	}
	return out
}

// TestSetsAreEquivalentToTheirRequirements compares And and NewSet with adding one requirement after the other, and checks that no
// operand changes: sets share the values of the requirements they are made of.
func TestSetsAreEquivalentToTheirRequirements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet(t, "a"), drawSet(t, "b")
		one, two := NewSet(a...), NewSet(b...)
		before := one.String() + "|" + two.String()
		var want Set
		for _, r := range slices.Concat(a, b) {
			want = want.Add(r)
		}
		if got := one.And(two); !got.Equal(want) {
			t.Errorf("%s and %s make %s, want %s", one, two, got, want)
		}
		if got := NewSet(slices.Concat(a, b)...); !got.Equal(want) {
			t.Errorf("%s and %s in one set make %s, want %s", one, two, got, want)
		}
		_ = append(one.And(two), New("zz", Exists))
		if after := one.String() + "|" + two.String(); after != before {
			t.Errorf("the operands were %s and are now %s", before, after)
		}
	})
}

func TestIdentityDistinguishesRequirements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewSet(drawSet(t, "a")...), NewSet(drawSet(t, "b")...)
		if same := bytes.Equal(a.AppendIdentity(nil), b.AppendIdentity(nil)); same != a.Equal(b) {
			t.Errorf("the identities of %s and %s are equal: %v", a, b, same)
		}
	})
	if a, b := New("k", In, "ab", "c"), New("k", In, "a", "bc"); bytes.Equal(a.AppendIdentity(nil), b.AppendIdentity(nil)) {
		t.Errorf("%s and %s have the same identity", a, b)
	}
}

func TestUnchangedValuesAreNotCopied(t *testing.T) {
	zones := New("zone", In, "a", "b", "c")
	all, some, linux := New("zone", Exists), New("zone", NotIn, "d"), New("os", In, "linux")
	set := NewSet(zones, linux)
	for name, f := range map[string]func(){
		"a requirement that accepts all values":   func() { zones.Intersect(all) },
		"a requirement that excludes other value": func() { zones.Intersect(some) },
		"itself":           func() { zones.Intersect(zones) },
		"nothing":          func() { set.And(nil) },
		"a longer list":    func() { some.Intersect(all) },
		"values in order":  func() { New("zone", In, zones.Values()...) },
		"an identity":      func() { var space [64]byte; zones.AppendIdentity(space[:0]) },
		"nothing, reverse": func() { Set(nil).And(set) },
	} {
		if n := testing.AllocsPerRun(10, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkNewSet(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewSet(New("node.kubernetes.io/instance-type", In, "m5.large"), New("kubernetes.io/arch", In, "amd64"),
			New("topology.kubernetes.io/zone", In, "zone-1", "zone-2", "zone-3"), New("kubernetes.io/os", In, "linux"))
	}
}

func BenchmarkAnd(b *testing.B) {
	pool := NewSet(New("karpenter.sh/nodepool", In, "default"), New("kubernetes.io/os", In, "linux"))
	pod := NewSet(New("topology.kubernetes.io/zone", In, "zone-1"))
	b.ReportAllocs()
	for b.Loop() {
		pool.And(pod)
	}
}

func BenchmarkIdentity(b *testing.B) {
	set := NewSet(New("topology.kubernetes.io/zone", In, "zone-1", "zone-2", "zone-3"), New("kubernetes.io/os", In, "linux"))
	var space []byte
	b.ReportAllocs()
	for b.Loop() {
		space = set.AppendIdentity(space[:0])
	}
}
