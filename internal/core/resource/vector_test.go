package resource

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func drawVector(t *rapid.T, name string) Vector {
	return rapid.SliceOfN(rapid.Int64Range(-1000, 1000), 0, 6).Draw(t, name)
}

// same compares vectors: entries beyond the end are zero.
func same(a, b Vector) bool {
	for i := range max(len(a), len(b)) {
		if a.At(i) != b.At(i) {
			return false
		}
	}
	return true
}

func TestVectorLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawVector(t, "a"), drawVector(t, "b"), drawVector(t, "c")
		before := slices.Clone(a)
		for name, ok := range map[string]bool{
			"a+b = b+a":           same(a.Add(b), b.Add(a)),
			"(a+b)+c = a+(b+c)":   same(a.Add(b).Add(c), a.Add(b.Add(c))),
			"(a+b)-b = a":         same(a.Add(b).Sub(b), a),
			"a+b, in place":       same(a.Clone().Accumulate(b), a.Add(b)),
			"a+a+a = 3a":          same(a.Add(a).Add(a), a.Times(3)),
			"0a = 0":              a.Times(0).IsZero(),
			"max and min split":   same(a.Max(b).Add(a.Min(b)), a.Add(b)),
			"floor is max with 0": same(a.Floor(0), a.Max(nil)),
			"a is unchanged":      slices.Equal(a, before),
		} {
			if !ok {
				t.Errorf("%s does not hold for a=%v b=%v c=%v", name, a, b, c)
			}
		}
		set := a.Clone().Set(7, 42)
		if set.At(7) != 42 || a.At(7) != 0 {
			t.Errorf("Set(7) of a clone: %v of %v", set, a)
		}
	})
}

// TestCountIsTheMostThatFits compares Count with Fits.
func TestCountIsTheMostThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Vector(rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 5).Draw(t, "v"))
		capacity := drawVector(t, "capacity")
		limit := rapid.IntRange(0, 50).Draw(t, "limit")
		n := v.Count(capacity, limit)
		if n > 0 && !v.Times(int64(n)).Fits(capacity) {
			t.Errorf("%d times %v does not fit %v", n, v, capacity)
		}
		if n < limit && v.Times(int64(n+1)).Fits(capacity) {
			t.Errorf("%v fits %v more than %d times", v, capacity, n)
		}
	})
}

func TestFitsChecksOnlyRequestedResources(t *testing.T) {
	if !(Vector{1, 0}).Fits(Vector{1, -5}) {
		t.Error("insufficient capacity of another resource matters")
	}
	if (Vector{0, 0, 1}).Fits(Vector{9, 9}) {
		t.Error("a missing resource fits")
	}
}

func TestArithmeticSaturates(t *testing.T) {
	huge, low := Vector{math.MaxInt64}, Vector{math.MinInt64}
	for name, c := range map[string]struct{ got, want int64 }{
		"max+max": {huge.Add(huge).At(0), math.MaxInt64},
		"min+min": {low.Add(low).At(0), math.MinInt64},
		"max-min": {huge.Sub(low).At(0), math.MaxInt64},
		"min-max": {low.Sub(huge).At(0), math.MinInt64},
		"2max":    {huge.Times(2).At(0), math.MaxInt64},
		"2min":    {low.Times(2).At(0), math.MinInt64},
		"max/2·2": {MulSaturated(math.MaxInt64/2, 2), math.MaxInt64 - 1},
		"-7·6":    {MulSaturated(-7, 6), -42},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", name, c.got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		index  int
		amount int64
		want   string
	}{
		{CPU, 1500, "1500m"},
		{CPU, 2000, "2"},
		{CPU, 0, "0"},
		{CPU, -500, "-500m"},
		{Memory, 1 << 30, "1Gi"},
		{Memory, 3 << 29, "1536Mi"},
		{Memory, 1000, "1000"},
		{Memory, 0, "0"},
		{EphemeralStorage, 20 << 40, "20Ti"},
		{Pods, 110, "110"},
		{7, 4, "4"},
	} {
		if got := Format(c.index, c.amount); got != c.want {
			t.Errorf("Format(%d, %d) = %q, want %q", c.index, c.amount, got, c.want)
		}
	}
	names := NewTable().Names()
	asked := Vector{}.Set(CPU, 500).Set(Unoffered, 2)
	if got, want := Describe(asked, names, Request{"b", 1000}, Request{"a", 2}), `{"a":"2","b":"1000","cpu":"500m"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Describe(Vector{500, 1 << 20, 1}, names), `{"cpu":"500m","memory":"1Mi","pods":"1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTableKeepsItsIndexes(t *testing.T) {
	table := NewTable()
	for i, name := range []string{"cpu", "memory", "pods", "ephemeral-storage", "nodes"} {
		if got, ok := table.Lookup(name); !ok || got != i {
			t.Errorf("%s is at %d", name, got)
		}
	}
	if _, ok := table.Lookup("gpu"); ok {
		t.Error("Lookup added a name")
	}
	early := table.Names()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 100 {
				table.Index(fmt.Sprintf("resource-%d", (i+worker)%100))
			}
		})
	}
	wg.Wait()
	if table.Len() != 106 || len(early) != 6 {
		t.Fatalf("the table has %d names, an early list %d; want 106 and 6", table.Len(), len(early))
	}
	for i, name := range table.Names() {
		if i == Unoffered {
			if _, ok := table.Lookup(name); name != "" || ok {
				t.Errorf("the number of unoffered resources is named %q", name)
			}
			continue
		}
		if got := table.Index(name); got != i {
			t.Errorf("%s moved from %d to %d", name, i, got)
		}
	}
}

func TestRequestsAreSortedAndAddedUp(t *testing.T) {
	got := SortRequests([]Request{{"b", 1}, {"c", math.MaxInt64}, {"a", 2}, {"b", 3}, {"c", 1}})
	if want := []Request{{"a", 2}, {"b", 4}, {"c", math.MaxInt64}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if i, ok := FindRequest(got, "b"); !ok || i != 1 {
		t.Errorf("b is at %d: %v", i, ok)
	}
	if _, ok := FindRequest(got, "bb"); ok {
		t.Error("found a name that is not in the list")
	}
}
