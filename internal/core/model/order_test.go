package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestManyKeysAreSorted sorts more keys than are compared one by one: alike in their first bytes, in their last, of different
// lengths, with bytes of every kind.
func TestManyKeysAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.SampledFrom([]string{"", "pod-", "a-prefix-longer-than-a-number-"}).Draw(t, "begin")
		middle := rapid.SampledFrom([]string{"", "\x00", "12345678", "\xff\xfe"}).Draw(t, "middle")
		step := rapid.IntRange(1, 70_000).Draw(t, "step")
		want := map[string]string{}
		for i := range rapid.SampledFrom([]int{0, 10, fewPositions - 1, fewPositions, 2*fewPositions + 100}).Draw(t, "keys") {
			key := begin + strings.Repeat(middle, i%3) + fmt.Sprint(i*step%100_003)
			want[key] = key
		}
		var e Editor[string]
		for key := range maps.Keys(want) {
			e.Put(key, key)
		}
		if got, want := e.Publish().Sorted(), slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
			t.Fatalf("sorted %q, want %q", got, want)
		}
	})
}
