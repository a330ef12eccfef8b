package bitset

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSetsBehaveLikeMaps compares every operation with that of a map.
func TestSetsBehaveLikeMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 200).Draw(t, "width")
		members := rapid.SliceOfDistinct(rapid.IntRange(0, width-1), rapid.ID[int])
		draw := func(name string) (Set, map[int]bool) {
			s, m := New(width), map[int]bool{}
			for _, i := range members.Draw(t, name) {
				s.Add(i)
				m[i] = true
			}
			return s, m
		}
		a, inA := draw("a")
		b, inB := draw("b")
		both, either := map[int]bool{}, maps.Clone(inA)
		for i := range inB {
			either[i] = true
			if inA[i] {
				both[i] = true
			}
		}
		union, scratch := a.Clone(), New(width)
		union.Or(b)
		scratch.Intersect(a, b)
		for name, pair := range map[string]struct {
			got  Set
			want map[int]bool
		}{"union": {union, either}, "intersection": {a.And(b), both}, "intersection in place": {scratch, both}, "copy": {New(width).CopyFrom(a), inA}} {
			if got, want := slices.Collect(pair.got.All()), slices.Sorted(maps.Keys(pair.want)); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", name, got, want)
			}
			if pair.got.Len() != len(pair.want) || pair.got.Empty() != (len(pair.want) == 0) {
				t.Fatalf("%s: %d members, empty %t, want %d", name, pair.got.Len(), pair.got.Empty(), len(pair.want))
			}
		}
		if a.Intersects(b) != (len(both) > 0) {
			t.Fatalf("a and b intersect: %t", a.Intersects(b))
		}
		start := rapid.IntRange(0, width-1).Draw(t, "start")
		for i := range a.From(start) {
			if i < start || !inA[i] {
				t.Fatalf("from %d on there is %d", start, i)
			}
		}
		if same := string(a.AppendText(nil)) == string(b.AppendText(nil)); same != maps.Equal(inA, inB) {
			t.Fatalf("keys are equal: %t", same)
		}
		for i := range inA {
			a.Remove(i)
		}
		if !a.Empty() || Full(width).Len() != width {
			t.Fatalf("%d members are left, and a full set has %d", a.Len(), Full(width).Len())
		}
	})
}

// TestSlabsHandOutSeparateSets: sets of one slab do not share memory.
func TestSlabsHandOutSeparateSets(t *testing.T) {
	slab := NewSlab(70)
	var sets []Set
	for i := range 2 * setsPerSlab {
		sets = append(sets, slab.Next())
		sets[i].Add(i % 70)
	}
	for i, s := range sets {
		if s.Len() != 1 || !s.Has(i%70) {
			t.Fatalf("set %d has %v", i, slices.Collect(s.All()))
		}
	}
}
