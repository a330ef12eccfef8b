package model

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPublishedVersionsNeverChange drives an Editor at random and compares everything it ever published with plain maps.
func TestPublishedVersionsNeverChange(t *testing.T) {
	keys := crowd()
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			index Index[int]
			want  map[string]int
		}
		var e Editor[int]
		now := map[string]int{}
		var published []version
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "put"), rapid.Int().Draw(t, "value")
				e.Put(k, v)
				now[k] = v
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "delete")
				e.Delete(k)
				delete(now, k)
			},
			"publish": func(*rapid.T) {
				published = append(published, version{e.Publish(), maps.Clone(now)})
			},
			"": func(t *rapid.T) {
				if e.Len() != len(now) || !maps.Equal(maps.Collect(e.All()), now) {
					t.Fatalf("the editor holds %v, want %v", maps.Collect(e.All()), now)
				}
				for i, v := range published {
					check(t, fmt.Sprint("version ", i), v.index, v.want)
				}
			},
		})
	})
}

// crowd is keys of which some have a separate shard and many share one, so that both forms of a shard are used.
func crowd() []string {
	keys := []string{}
	for i := range 20000 {
		if key := fmt.Sprint("key-", i); i < 10 || shardOf(key) == 7 {
			keys = append(keys, key)
		}
	}
	return keys
}

func check(t *rapid.T, name string, got Index[int], want map[string]int) {
	if got.Len() != len(want) || !maps.Equal(maps.Collect(got.All()), want) {
		t.Fatalf("%s holds %v, want %v", name, maps.Collect(got.All()), want)
	}
	var sorted []int
	for _, k := range slices.Sorted(maps.Keys(want)) {
		sorted = append(sorted, want[k])
		if v, ok := got.Get(k); !ok || v != want[k] {
			t.Fatalf("%s: %s is %d, %v; want %d", name, k, v, ok, want[k])
		}
	}
	if !slices.Equal(got.Sorted(), sorted) {
		t.Fatalf("%s: sorted %v, want %v", name, got.Sorted(), sorted)
	}
	if _, ok := got.Get("no such key"); ok {
		t.Fatalf("%s has a key that was never put", name)
	}
}

func TestTheZeroIndexIsEmpty(t *testing.T) {
	var x Index[string]
	if _, ok := x.Get("a"); ok || x.Len() != 0 || len(x.Sorted()) != 0 || len(maps.Collect(x.All())) != 0 {
		t.Error("the zero Index is not empty")
	}
}

func TestTolerationsFollowKubernetes(t *testing.T) {
	taint := Taint{Key: "k", Value: "v", Effect: NoSchedule}
	for _, c := range []struct {
		name string
		t    Toleration
		want bool
	}{
		{"same", Toleration{Key: "k", Value: "v", Effect: NoSchedule}, true},
		{"any effect", Toleration{Key: "k", Value: "v"}, true},
		{"any value", Toleration{Key: "k", Exists: true}, true},
		{"everything", Toleration{Exists: true}, true},
		{"other key", Toleration{Key: "x", Exists: true}, false},
		{"other value", Toleration{Key: "k", Value: "w"}, false},
		{"other effect", Toleration{Key: "k", Exists: true, Effect: NoExecute}, false},
		{"no key, equal", Toleration{Value: "v"}, false},
	} {
		if got := c.t.Tolerates(taint); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	soft := Taint{Key: "s", Effect: PreferNoSchedule}
	if _, repelled := Untolerated([]Taint{soft}, nil, true); repelled {
		t.Error("a soft taint repels although it should not count")
	}
	if got, repelled := Untolerated([]Taint{soft, taint}, []Toleration{{Key: "s", Exists: true}}, false); !repelled || got != taint {
		t.Errorf("the first taint not tolerated is %v", got)
	}
	if got, want := taint.String()+" "+soft.String(), "k=v:NoSchedule s:PreferNoSchedule"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSortedIsInKeyOrder: keys that are the beginning of others, that differ late and that contain zeros are in the order of their bytes.
func TestSortedIsInKeyOrder(t *testing.T) {
	key := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "pods/", "pods/web-"}).Draw(t, "start") + rapid.StringMatching(`[ab\x00]{0,12}`).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfDistinct(key, func(k string) string { return k }).Draw(t, "keys")
		var e Editor[string]
		for _, k := range want {
			e.Put(k, k)
		}
		slices.Sort(want)
		if got := e.Publish().Sorted(); !slices.Equal(got, want) {
			t.Fatalf("the order is %q, want %q", got, want)
		}
	})
}
