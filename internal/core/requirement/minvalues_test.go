package requirement

import (
	"slices"
	"testing"
)

func TestDistinctValues(t *testing.T) {
	const key = "family"
	types := []Requirement{New(key, In, "a", "b"), New(key, In, "b", "c"), New(key, NotIn, "d"), New(key, DoesNotExist)}
	for _, c := range []struct {
		name string
		r    Requirement
		want int
	}{
		{"any value", New(key, Exists), 3},
		{"values of a list", New(key, In, "b", "c", "x"), 2},
		{"values outside a list", New(key, NotIn, "a"), 2},
		{"no value", New(key, In), 0},
	} {
		if got := c.r.DistinctValues(slices.Values(types)); got != c.want {
			t.Errorf("%s: %d distinct values, want %d", c.name, got, c.want)
		}
	}
}
